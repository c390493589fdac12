"""A page counts the images that there are, and names tables from which no caption comes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import preflight
from preflight.findings.report import Report
from tests.archives import photo
from tests.files import put

pytestmark = pytest.mark.usefixtures("at_hand")


def run(folder: Path) -> Report:
    return preflight.run("photos", folder=str(folder), no_ledger=True)


def seen(report: Report) -> list[str]:
    return [one.seen for one in report.coverage if one.part == "data"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes in folders")
def test_what_is_no_file_is_no_image(tmp_path: Path) -> None:
    put(tmp_path, "photos/a.jpg", "photos/b.jpg", content=photo())
    (tmp_path / "photos/dir.jpg").mkdir()
    (tmp_path / "photos/link.jpg").symlink_to("nowhere.jpg")
    os.mkfifo(tmp_path / "photos/pipe.jpg")

    report = run(tmp_path)

    assert report.verdict == "cannot-judge"
    assert seen(report) == ["2 images"]


@pytest.mark.parametrize(
    ("table", "is_told"),
    [(b"image,text\na.jpg,a dog\n", True), (b"file_name,text\na.jpg,a dog\n", False), (b"", False)],
)
def test_a_table_that_names_no_image_is_named(
    tmp_path: Path, table: bytes, *, is_told: bool
) -> None:
    put(tmp_path, "photos/a.jpg", content=photo())
    put(tmp_path, "photos/metadata.csv", content=table)

    report = run(tmp_path)

    said = "photos/metadata.csv has no file_name, and so names no image: nothing of it was"
    assert (said in " ".join(str(report).split())) is is_told


def test_beside_texts_it_is_none_of_the_captions(tmp_path: Path) -> None:
    put(tmp_path, "photos/a.jpg", "photos/b.jpg", content=photo())
    put(tmp_path, "photos/a.txt", "photos/b.txt", content=b"a dog")
    put(tmp_path, "photos/metadata.csv", content=b"image,text\na.jpg,a dog\n")

    assert "file_name" not in str(run(tmp_path))
