"""`--show-batch` draws what a run draws anyway, and changes neither the run nor its verdict."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import preflight
from preflight.findings.report import Report
from preflight.session.run import UsageError

CASES = Path(__file__).with_name("sheets.py")

pytestmark = pytest.mark.usefixtures("at_hand")


def look(folder: Path, *names: str, **flags: Any) -> Report:
    shutil.copy(CASES, folder / "jobs.py")
    given = {"show_batch": "batch.png", "timeout": 60.0, **flags}
    return preflight.run(*(f"jobs:{one}" for one in names), folder=str(folder), **given)


def said(report: Report) -> list[str]:
    return [one for one in report.reasons if "batch.png" in one]


def pixels(file: Path) -> dict[Any, int]:
    with Image.open(file) as image:
        return {colour: number for number, colour in image.convert("RGB").getcolors(1 << 24)}


@pytest.mark.fresh
def test_it_takes_no_further_run_of_the_loader_and_nothing_is_loaded_without_it(
    tmp_path: Path,
) -> None:
    notes = []
    for name, flags in (("with", {}), ("without", {"show_batch": None})):
        folder = tmp_path / name
        folder.mkdir()
        report = look(folder, "pictures", **flags)
        assert report.verdict == "go"
        notes.append((folder / "notes").read_text(encoding="utf-8").splitlines())

    runs = [[one for one in lines if not one.startswith("loaded")] for lines in notes]
    assert runs[0] == runs[1]
    assert runs[0].count("iter") <= 4
    assert {one for one in notes[1] if one.startswith("loaded")} == {"loaded []"}
    assert not (tmp_path / "without" / "batch.png").exists()
    assert pixels(tmp_path / "with" / "batch.png")[255, 0, 0] == 8 * 256 * 256


def test_loaders_are_shown_below_one_another(tmp_path: Path) -> None:
    report = look(tmp_path, "two", "decodes", "exits_at_the_sheet")

    assert report.verdict == "go"
    (line,) = said(report)
    assert line == (
        "The first batches of jobs:two['train'] (4 samples), jobs:two['val'] (2 samples), "
        "jobs:decodes (2 samples), jobs:exits_at_the_sheet (2 samples) are shown in batch.png."
    )
    assert pixels(tmp_path / "batch.png")[255, 0, 0] == 6 * 256 * 256


def test_no_batch_is_no_sheet_and_the_page_says_so(tmp_path: Path) -> None:
    """A sheet of an earlier run is left alone, and told to be old."""
    report = look(tmp_path, "raises")

    assert [one.check for one in report.findings] == ["loader-stuck"]
    assert said(report) == ["The first batch of jobs:raises is not shown in batch.png: none came."]
    assert not (tmp_path / "batch.png").exists()

    (tmp_path / "batch.png").write_bytes(b"old")
    report = look(tmp_path, "workers", depth="index")

    (line,) = said(report)
    assert line == (
        "No batch is shown in batch.png: --depth index draws none, and what is there is older "
        "than this run."
    )
    assert (tmp_path / "batch.png").read_bytes() == b"old"


def test_a_batch_that_came_is_shown_though_no_more_do(tmp_path: Path) -> None:
    report = look(tmp_path, "raises_later")

    assert report.verdict == "no-go"
    assert said(report) == [
        "The first batch of jobs:raises_later (2 samples) is shown in batch.png."
    ]


def test_checks_that_draw_none_are_no_reason_to_show_none(tmp_path: Path) -> None:
    report = look(tmp_path, "workers", select=["loader-unpicklable"])

    assert report.verdict == "go"
    assert "is shown in" in said(report)[0]


@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_FSIZE and /proc")
@pytest.mark.parametrize(
    ("name", "file", "why"),
    [
        ("has_a_full_disk", "batch.png", "it cannot be written: File too large."),
        ("workers", "/proc/batch.png", "it cannot be written: No such file or directory."),
        ("has_no_pillow", "batch.png", f"Pillow is not installed for {sys.executable}."),
        ("kills_itself_at_the_sheet", "batch.png", "ended by itself with exit status 5."),
    ],
)
def test_what_keeps_a_sheet_from_being_drawn_changes_no_verdict(
    name: str, file: str, why: str, tmp_path: Path
) -> None:
    report = look(tmp_path, name, show_batch=file)

    assert report.verdict == "go"
    assert [one for one in said(report) if "is not shown in" in one and why in one]
    assert {one.name for one in tmp_path.iterdir()} <= {
        *("jobs.py", "notes", "__pycache__", ".preflight")
    }


def test_a_tokenizer_that_does_not_come_back_is_no_stuck_loader(tmp_path: Path) -> None:
    checks = ["loader-stuck", "loader-random"]
    report = look(tmp_path, "waits_at_the_sheet", select=checks, timeout=6.0)

    assert report.verdict == "go"
    assert "to draw it takes more than 6 s" in said(report)[0]
    (skip,) = next(one for one in report.checks if one.id == "loader-random").skipped
    assert skip.reason == "the process that drew from it was given up at the picture of a batch"


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("batch.jpg", "'batch.jpg' does not end in .png, which is what is written"),
        ("nowhere/batch.png", "there is no folder"),
    ],
)
def test_a_file_that_cannot_be_meant_is_typed_wrong(file: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=why):
        look(tmp_path, "workers", show_batch=file)


def test_in_the_settings_it_lies_beside_them(tmp_path: Path) -> None:
    shutil.copy(CASES, tmp_path / "jobs.py")
    below = tmp_path / "below"
    below.mkdir()
    settings = '[look]\nshow_batch = "batch.png"\n[[loader]]\ncall = "jobs:decodes"\n'
    (tmp_path / "preflight.toml").write_text(settings, encoding="utf-8")
    report = preflight.run(folder=str(below), config=str(tmp_path / "preflight.toml"))

    assert said(report)
    assert (tmp_path / "batch.png").exists()
