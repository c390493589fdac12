"""Texts that a loader lists are captions where they caption something, and else are unread."""

from __future__ import annotations

from pathlib import Path

import pytest

import preflight
from tests.archives import photo
from tests.files import put

pytestmark = pytest.mark.usefixtures("at_hand")

SOURCE = """
from pathlib import Path
from torch.utils.data import DataLoader, Dataset


class Files(Dataset):
    def __init__(self, pattern):
        self.files = sorted(map(str, Path("data").glob(pattern)))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, at):
        return len(Path(self.files[at]).read_bytes())


def texts():
    return DataLoader(Files("*.txt"), batch_size=2)


def everything():
    return DataLoader(Files("*.*"), batch_size=2)
"""

POINTS = b"0.1,0.2,0.3\n" * 50


def looked_at(folder: Path, loader: str) -> preflight.Report:
    put(folder, "job.py", content=SOURCE.encode())
    return preflight.run(f"job:{loader}", folder=str(folder), elsewhere=True, no_ledger=True)


@pytest.mark.parametrize("loader", ["texts", "everything"])
@pytest.mark.parametrize("beside", ["jpg", "pt"])
def test_texts_beside_what_they_describe_are_captions(
    tmp_path: Path, loader: str, beside: str
) -> None:
    content = photo() if beside == "jpg" else b""
    put(tmp_path, *(f"data/{n}.{beside}" for n in range(4)), content=content)
    put(tmp_path, *(f"data/{n}.txt" for n in range(4)), content=b"a cat")

    assert "4 captions" in str(looked_at(tmp_path, loader))


def test_texts_that_are_the_samples_are_not_taken_for_captions(tmp_path: Path) -> None:
    """As point clouds: nobody has read the numbers in them, and the page says so."""
    put(tmp_path, *(f"data/{n}.txt" for n in range(4)), content=POINTS)

    report = looked_at(tmp_path, "texts")

    assert next(one.seen for one in report.coverage if one.part == "data") == ""
    assert not report.complete
    assert "lists it, and .txt of a loader is not read" in report.to_json()
