"""Folders of images, against what lists them and looks at nothing; and again, when all is known."""

from __future__ import annotations

import io
import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from preflight.images.folder import list_folder
from preflight.targets.targets import Folder
from tests.benchmarks.measuring import (
    Took,
    best_of,
    compare,
    compared,
    peak,
    preflight,
    process,
    seen,
)

pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.skipif(sys.platform != "linux", reason="find -printf is GNU's"),
    pytest.mark.skipif(shutil.which("find") is None, reason="there is no find"),
]

LISTED = 100_000
FILES = 20_000


@pytest.mark.parametrize(("folders", "said"), [(1, "1 folder"), (100, "100 folders")])
def test_a_folder_is_listed_and_paired_against_find(
    tmp_path: Path, folders: int, said: str
) -> None:
    for place in range(folders):
        (tmp_path / f"{place}").mkdir()
        for number in range(LISTED // folders // 2):
            for suffix in ("jpg", "txt"):
                os.close(os.open(f"{tmp_path}/{place}/{number:08}.{suffix}", os.O_CREAT))

    def ours() -> None:
        pairing = list_folder(Folder(path="."), str(tmp_path)).facts.pairing
        assert (pairing.whole, pairing.unpaired) == (LISTED // 2, ())

    theirs = process("sh", "-c", "find . -type f | wc -l", folder=tmp_path)
    compare(f"{LISTED:,} files in {said}, listed and paired / find | wc", ours, theirs)


def pictures(folder: Path, *, together: int, **numbers: int) -> None:
    """Write so many images, the smallest that there are, an hour old, and so many in a folder."""
    from PIL import Image

    file = io.BytesIO()
    Image.new("L", (1, 1)).save(file, "PNG")
    then = time.time() - 3_600
    for name, number in numbers.items():
        for index in range(number):
            path = folder / name / f"{index // together:03}" / f"{index:06}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.getvalue())
            os.utime(path, (then, then))


def test_images_that_were_looked_at_before(tmp_path: Path) -> None:
    """Again, anew and without a ledger.

    What a hundred thousand take is reckoned: the start, as over ten, is paid once.
    """
    pictures(tmp_path, together=1_000, many=FILES, few=10)
    works = [
        preflight(*words, "--elsewhere", folder=tmp_path)
        for words in (("many",), ("many", "--reread", "0"), ("many", "--no-ledger"), ("few",))
    ]
    find = process("find", "many", "-printf", "%s\n", folder=tmp_path)
    again, noted, bare, few, found = best_of([*works, find], rounds=6)

    times = LISTED / FILES
    many = Took(*(start + (whole - start) * times for start, whole in zip(few, again, strict=True)))
    theirs = Took(*(one * times for one in found))
    compared("preflight run, again, 100,000 images / find -printf %s", many, theirs)
    compared("preflight run, again / --no-ledger, 20,000 images", again, bare)
    compared("preflight run --reread 0 / --no-ledger, 20,000 images", noted, bare)


def test_memory_of_many_images(tmp_path: Path) -> None:
    """What is in flight is the same for both numbers."""
    pictures(tmp_path, together=80_000, few=20_000, many=80_000)

    # How many answers wait to be heard at once is chance: the middle of three runs.
    few, many = (sorted(peak(tmp_path, one) for _ in range(3))[1] for one in ("few", "many"))

    seen("memory of 80,000 images", many / 1e6, f"{few / 1e6:.1f} MB of 20,000")
    seen("memory of each image more", (many - few) / 60_000)
