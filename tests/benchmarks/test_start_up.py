"""Starting costs little: most of what a user waits for is the look itself."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest

from tests.archives import tarred
from tests.benchmarks.measuring import compare, preflight, python
from tests.conftest import START

pytestmark = pytest.mark.benchmark


def test_help_against_what_it_stands_on() -> None:
    compare("preflight --help / import click", python(START, "--help"), python("import click"))


def test_one_small_tar_against_an_empty_python(tmp_path: Path) -> None:
    """Its three pictures are read, and remembered, each time."""
    from PIL import Image

    dice, files = random.Random(1), {}
    for number in range(3):
        file = io.BytesIO()
        shapes = Image.frombytes("RGB", (8, 8), dice.randbytes(192))
        shapes.resize((64, 64), Image.Resampling.BICUBIC).save(file, "JPEG")
        files |= {f"{number}.jpg": file.getvalue(), f"{number}.txt": b"a dog"}
    (tmp_path / "a.tar").write_bytes(tarred(files))
    ours = preflight("a.tar", "--format", "json", "--reread", "0", folder=tmp_path)

    compare("preflight run, a small tar / python -c pass", ours, python("pass"), rounds=9)
