"""Starting costs little: most of what a user waits for is the look itself."""

from __future__ import annotations

import io
import random
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

START = (
    "import sys; sys.path[:1] == [''] and sys.path.pop(0); sys.argv[0] = 'preflight'; "
    "from preflight.__main__ import start; start()"
)

pytestmark = pytest.mark.benchmark


def test_help_costs_little_more_than_click(
    ratio: Callable[..., float], command: Callable[..., object]
) -> None:
    """At most twice `import click`."""
    ours, theirs = command("-c", START, "--help"), command("-c", "import click")

    assert ratio("preflight --help / import click", ours, theirs, goal="at most 2") <= 2


def test_one_small_tar_costs_little_more_than_its_processes(
    ratio: Callable[..., float], command: Callable[..., object], tmp_path: Path
) -> None:
    """At most 25 times an empty Python; its three pictures are decoded."""
    from PIL import Image

    dice = random.Random(1)
    with tarfile.open(tmp_path / "a.tar", "w") as shard:
        for number in range(3):
            file = io.BytesIO()
            shapes = Image.frombytes("RGB", (8, 8), dice.randbytes(192))
            shapes.resize((64, 64), Image.Resampling.BICUBIC).save(file, "JPEG")
            for suffix, content in (("jpg", file.getvalue()), ("txt", b"a dog")):
                info = tarfile.TarInfo(f"{number}.{suffix}")
                info.size = len(content)
                shard.addfile(info, io.BytesIO(content))
    words = ("run", "a.tar", "--format", "json", "--reread", "0")  # reads and remembers each time
    ours = command("-c", START, *words, folder=tmp_path)
    theirs = command("-c", "pass")

    name = "preflight run a.tar / python -c pass"

    assert ratio(name, ours, theirs, goal="at most 25", rounds=9) <= 25


def test_files_are_looked_at_without_torch(tmp_path: Path) -> None:
    """Neither here nor in a reader: torch alone would cost more than everything else."""
    (tmp_path / "a.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
    (tmp_path / "torch.py").write_text("open('imported', 'w').close()")
    (tmp_path / "numpy.py").write_text("open('imported', 'w').close()")
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", START, "run", "a.safetensors"],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{tmp_path}:{root}", "PATH": ""},
        check=False,
        capture_output=True,
    )

    assert done.returncode == 0, done
    assert not (tmp_path / "imported").exists()
