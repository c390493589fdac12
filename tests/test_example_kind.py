"""A new kind is its own room, a check, its case, its test, and one line: docs/examples/sounds."""

from __future__ import annotations

import difflib
import json
import os
import runpy
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from shutil import copy, copytree, ignore_patterns
from typing import Any

import pytest

from preflight.values.stamps import YOUNG

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "docs" / "examples" / "sounds"
REGISTRY = "preflight/kinds/rooms.py"

# What holds every check to the common floor, and what that stands on.
FLOOR = ("conftest.py", "warming.py", "torch_template.py", "test_every_check.py")


def files_of(folder: Path) -> dict[str, str]:
    """Read all sources and data files of the package, by their paths."""
    paths = (path for top in ("preflight", "checks") for path in (folder / top).rglob("*"))
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in paths
        if path.is_file() and not {"__pycache__", ".preflight"} & set(path.parts)
    }


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Copy the project, lay the example over it, and register the room."""
    folder = tmp_path_factory.mktemp("project")
    unwanted = ignore_patterns("*.pyc.*", ".preflight")  # what is compiled need not be anew
    for top in ("preflight", "checks"):
        copytree(ROOT / top, folder / top, ignore=unwanted)
    copytree(EXAMPLE, folder, dirs_exist_ok=True, ignore=unwanted)
    for name in FLOOR:
        copy(ROOT / "tests" / name, folder / "tests")
    with open(folder / "tests" / "warming.py", "a", encoding="utf-8") as warming:
        warming.write("CAN_COPY = False\n")  # nobody imports torch, which would be at hand
    copy(ROOT / "pyproject.toml", folder)
    registry = folder / REGISTRY
    last = '    "built",\n'
    text = registry.read_text(encoding="utf-8")
    assert text.count(last) == 1
    registry.write_text(text.replace(last, f'{last}    "sounds",\n'), encoding="utf-8")
    yield folder


def python(folder: Path, *words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=280,
        check=False,
    )


def run(folder: Path, job: Path, word: str, code: int) -> tuple[str, dict[str, Any]]:
    """Look at a word in the copy, and give the page and the report."""
    done = python(folder, "-m", "preflight", "run", word, "-o", "report.json", cwd=job)
    assert done.returncode == code, done.stdout + done.stderr
    report: dict[str, Any] = json.loads((job / "report.json").read_text(encoding="utf-8"))
    return done.stdout, report


def make_case(job: Path, *, mended: bool) -> None:
    job.mkdir()
    runpy.run_path(str(EXAMPLE / "fixtures" / "sound_cut" / "make.py"))["make"](job, mended=mended)


def test_it_touches_one_line_of_one_file(copied: Path) -> None:
    before, after = files_of(ROOT), files_of(copied)

    new = {path for path in after if path not in before}
    assert {path.rpartition("/")[0] for path in new} == {"preflight/sounds", "checks"}
    assert {path for path, text in before.items() if after[path] != text} == {REGISTRY}
    lines = difflib.ndiff(before[REGISTRY].splitlines(), after[REGISTRY].splitlines())
    assert [line for line in lines if line[0] in "+-?"] == ['+     "sounds",']


def test_a_sound_that_was_cut_off_is_found_and_remembered(copied: Path, tmp_path: Path) -> None:
    make_case(tmp_path / "job", mended=False)
    time.sleep(YOUNG / 1e9 + 0.1)  # what was written just now is not believed

    page, report = run(copied, tmp_path / "job", "clips/", 1)
    again, _ = run(copied, tmp_path / "job", "clips/", 1)

    (finding,) = report["findings"]
    assert finding["check"] == "sound-cut"
    assert finding["at"]["file"] == "clips/b.wav"
    assert finding["message"] == "ends after 5,000 of its 8,000 frames"
    assert "Looked at    clips/ (3 sounds)." in page
    assert "Remembered" not in page
    assert "Remembered   3 of 3 sounds" in again


def test_its_mended_twin_is_a_go(copied: Path, tmp_path: Path) -> None:
    make_case(tmp_path / "job", mended=True)

    for word, count in (("clips/", "3 sounds"), ("sound=clips", "3 sounds"), (".", "3 sounds")):
        page, report = run(copied, tmp_path / "job", word, 0)
        assert page.startswith("GO"), page
        assert report["targets"] == [{"word": word, "kind": "sound", "text": count}]
        assert report["not_judged"] == ["cache", "loader", "model", "script"]
    run(copied, tmp_path / "job", "clips/b.wav", 0)


def test_what_cannot_be_read_is_no_go_and_an_empty_folder_is_refused(
    copied: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.wav").write_bytes(b"no sound")

    page, report = run(copied, tmp_path, "a.wav", 3)
    refused = python(copied, "-m", "preflight", "run", "sound=empty", cwd=tmp_path)

    assert report["findings"] == []
    assert "it cannot be read as WAV" in " ".join(page.split())
    assert refused.returncode == 2
    assert "sound=empty holds no sound (.wav)" in refused.stderr


def test_its_check_is_held_to_what_every_check_owes(copied: Path) -> None:
    words = ("tests/test_every_check.py", "tests/checks/test_sound_cut.py", "-k", "sound")
    options = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "faulthandler_timeout=90")
    done = python(copied, "-m", "pytest", *options, *words, cwd=copied)

    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
