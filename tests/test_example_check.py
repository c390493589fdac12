"""Checks that ask something new of what readers see need no file but their own.

The first is the example of docs/examples; each is laid beside the checks that there are, as a
contributor would do it, and run from end to end.
"""

from __future__ import annotations

import importlib
import io
import runpy
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

import preflight
from preflight.findings import registry
from preflight.findings.finding import Finding, Severity
from preflight.findings.report import Report
from tests.archives import photo, tarred

pytestmark = pytest.mark.usefixtures("at_hand")

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"

CAPTION_LONG = '''
"""A caption that is longer than it should be."""

from preflight.check import check
from preflight.facts import ShardFacts
from preflight.finding import Location, Severity


@check(over=ShardFacts, title="captions that are too long", severity=Severity.NOTE)
def caption_long(facts, job):
    """Count captions of more than 300 characters."""
    long = [one for one in facts.captions.lengths if one.characters > 300]
    if long:
        yield caption_long.found(
            f"holds {sum(one.captions for one in long)} captions of more than 300 characters, "
            f"up to {long[0].characters} ({long[0].names[0]})",
            at=Location(file=facts.file),
        )
'''


@pytest.fixture
def checks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give a folder whose checks, of which the example is one, stand beside the package's."""
    folder = tmp_path_factory.mktemp("checks")
    package = importlib.import_module("preflight.checks")
    registry.built_in.cache_clear()
    package.__path__.append(str(folder))
    shutil.copy(EXAMPLES / "image_tiny.py", folder)
    try:
        yield folder
    finally:
        package.__path__.remove(str(folder))
        registry.built_in.cache_clear()
        for path in folder.glob("*.py"):
            sys.modules.pop(f"preflight.checks.{path.stem}", None)
            vars(package).pop(path.stem, None)


def make(folder: Path, *, mended: bool) -> list[str]:
    path = EXAMPLES / "fixtures" / "image_tiny" / "make.py"
    words: list[str] = runpy.run_path(str(path))["make"](folder, mended=mended)
    return words


def look(check_id: str, folder: Path, *words: str) -> tuple[list[Finding], Report]:
    report = preflight.run(*words, folder=str(folder), elsewhere=True, select=[check_id])
    (outcome,) = (one for one in report.checks if one.id == check_id)
    assert outcome.broken == ()
    return [one for one in report.findings if one.check == check_id], report


@pytest.mark.parametrize("depth", ["index", "bytes", "decode"])
def test_tiny_images_are_found_in_a_shard_and_in_a_folder(
    checks: Path, tmp_path: Path, depth: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by a second run, which reads nothing."""
    monkeypatch.setenv("PREFLIGHT_DEPTH", depth)
    words = make(tmp_path, mended=False)

    found, report = look("image-tiny", tmp_path, *words)

    tells = "holds 1 of 3 images with a side of fewer than 64 pixels, down to 48 x 20"
    assert {(one.at.file, one.message, one.severity) for one in found} == {
        ("images", f"{tells} (images/cat-1.jpg)", Severity.WARNING),
        ("shard-000.tar", f"{tells} (dog-1.jpg)", Severity.WARNING),
    }
    assert report.verdict == "go"
    assert look("image-tiny", tmp_path, *words)[0] == found


def test_where_they_are_larger_nothing_is_said(checks: Path, tmp_path: Path) -> None:
    found, report = look("image-tiny", tmp_path, *make(tmp_path, mended=True))

    assert (found, report.verdict) == ([], "go")


def test_odd_images_that_are_large_enough_are_left_alone(checks: Path, tmp_path: Path) -> None:
    """Turned ones, of 1 bit, with alpha, in a TIFF; and what nobody could size."""
    make(tmp_path, mended=True)
    exif = Image.Exif()
    exif[0x0112] = 6
    for name, image, options in (
        ("turned.jpg", Image.new("RGB", (64, 900)), {"exif": exif}),
        ("one-bit.png", Image.new("1", (64, 64)), {}),
        ("alpha.webp", Image.new("RGBA", (640, 64)), {}),
        ("float.tiff", Image.new("F", (64, 65)), {}),
        ("palette.gif", Image.new("P", (64, 64)), {}),
    ):
        stream = io.BytesIO()
        image.save(stream, name.rpartition(".")[2].replace("jpg", "jpeg"), **options)
        (tmp_path / "images" / name).write_bytes(stream.getvalue())
    (tmp_path / "images" / "page.jpg").write_bytes(b"<!DOCTYPE html>")

    assert look("image-tiny", tmp_path)[0] == []


def test_where_no_size_is_asked_for_the_question_is_not_asked(checks: Path, tmp_path: Path) -> None:
    make(tmp_path, mended=False)
    (tmp_path / "preflight.toml").unlink()

    found, report = look("image-tiny", tmp_path, "images")

    (outcome,) = (one for one in report.checks if one.id == "image-tiny")
    assert (found, [one.reason for one in outcome.skipped]) == (
        [],
        ["a data set says neither minimum_size nor resolution"],
    )


@pytest.mark.parametrize("characters", [300, 301])
def test_long_captions_are_a_check_of_a_few_lines(
    checks: Path, tmp_path: Path, characters: int
) -> None:
    """Umlauts are one character each."""
    (checks / "caption_long.py").write_text(CAPTION_LONG, encoding="utf-8")
    captions = ["ein Hund", "ä" * characters + "\n", "ein Vogel"]
    files: dict[str, bytes] = {}
    for number, text in enumerate(captions):
        files[f"{number}.jpg"], files[f"{number}.txt"] = photo(), text.encode()
    (tmp_path / "train-0.tar").write_bytes(tarred(files))

    found, _ = look("caption-long", tmp_path, "train-0.tar")

    told = ["holds 1 captions of more than 300 characters, up to 301 (1.txt)"]
    assert [one.message for one in found] == (told if characters > 300 else [])
