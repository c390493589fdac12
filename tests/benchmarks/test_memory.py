"""Memory does not grow with the number of shards, and by little with that of images."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.archives import tarred
from tests.benchmarks.conftest import ROOT, START

pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux"),
]

# Prints the peak memory of whichever process of a run takes most, in kB.
_PEAK = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=False)
sys.stdout.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(done.returncode)
"""


def peak(folder: Path, *words: str) -> int:
    """Run the command in a fresh process, and give the bytes that its largest process took."""
    run = [sys.executable, "-c", START, "run", *words, "--elsewhere", "-q", "--no-ledger"]
    done = subprocess.run(
        [sys.executable, "-c", _PEAK, *run],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        check=True,
    )
    return int(done.stdout) * 1024


def tell(capsys: pytest.CaptureFixture[str], text: str) -> None:
    with capsys.disabled():
        sys.stdout.write(f"\n  {text}\n")


def test_memory_is_flat_in_the_number_of_shards(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ten shards and two thousand, of ten samples each; the goal is a peak below 100 MB."""
    for name, number in (("few", 10), ("many", 2_000)):
        (tmp_path / name).mkdir()
        for shard in range(number):
            files = {f"{shard:05}-{sample}.txt": b"a dog" for sample in range(10)}
            (tmp_path / name / f"{shard:05}.tar").write_bytes(tarred(files))

    few, many = peak(tmp_path, "few"), peak(tmp_path, "many")

    each = (many - few) / 1_990
    tell(
        capsys,
        f"peak over 10 shards {few / 1e6:.1f} MB, over 2,000 {many / 1e6:.1f} MB: "
        f"{each:,.0f} bytes a shard (goal: below 100 MB)",
    )
    assert many < 100e6
    assert each <= 3_000


def test_an_image_of_the_largest_folder_takes_little(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The goal is 150 bytes an entry; what is in flight is the same for both."""
    from PIL import Image

    file = io.BytesIO()
    Image.new("L", (1, 1)).save(file, "PNG")
    for name, number in (("few", 20_000), ("many", 80_000)):
        (tmp_path / name).mkdir()
        for index in range(number):
            (tmp_path / name / f"{index:06}.png").write_bytes(file.getvalue())

    # How many answers wait to be heard at once is chance: the middle of three runs.
    few, many = (sorted(peak(tmp_path, one) for _ in range(3))[1] for one in ("few", "many"))

    each = (many - few) / 60_000
    tell(
        capsys,
        f"peak over 20,000 images {few / 1e6:.1f} MB, over 80,000 {many / 1e6:.1f} MB: "
        f"{each:,.0f} bytes an image (goal at most 150, held to the same)",
    )
    assert many < 100e6
    assert each <= 150
