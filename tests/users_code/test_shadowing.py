"""A file that Python takes for a module of its own is told where it keeps torch from importing."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

import preflight
from preflight.findings.report import Report
from tests.files import put
from tests.warming import copies, start_copies

TRAIN = b"""
from torch.utils.data import DataLoader
def make():
    return DataLoader([1, 2])
"""


def report_of(folder: Path, word: str = "train.py:make") -> Report:
    """Look at it; what tries to import torch is started by our process, and is no copy."""
    checks = ["target-unbuildable", "loader-unpicklable"]
    with copies():
        return preflight.run(word, folder=str(folder), select=checks)


def python_says(folder: Path) -> str:
    """What the last line is of the job itself, started in its folder; nothing where it runs."""
    done = subprocess.run(
        [sys.executable, "train.py"], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stderr.strip().rpartition("\n")[2] if done.returncode else ""


@pytest.mark.parametrize("file", ["numbers.py", "json.py", "typing/__init__.py", "token.py"])
def test_a_file_that_keeps_torch_from_importing_is_named(tmp_path: Path, file: str) -> None:
    put(tmp_path, "train.py", content=TRAIN)
    put(tmp_path, file, content=b"speed = 1\n")
    said = python_says(tmp_path)
    if not said:  # of an older torch, which does without
        assert report_of(tmp_path).findings == ()
        return

    (finding,) = report_of(tmp_path).findings

    assert finding.at.file == file
    assert f"takes {file} for another module" in finding.message
    assert finding.message.rpartition(": ")[2].split(" (")[0] in said


def test_a_folder_of_pythonpath_may_hold_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "train.py", content=TRAIN)
    put(tmp_path, "lib/numbers.py", content=b"speed = 1\n")
    before = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'lib'}{os.pathsep}{before}")

    (finding,) = report_of(tmp_path).findings

    assert finding.at.file == "lib/numbers.py"


HARMLESS = {
    "a name that torch does not ask for": ["calendar.py", "chess.py"],
    "a folder without __init__, which is no package": ["numbers/notes.txt", "json/a.py"],
    "a file in a folder that is not the script's": ["own/numbers.py", "own/__init__.py"],
    "a module of another program": ["click.py", "rich.py", "preflight.py", "checks/__init__.py"],
}


@pytest.fixture(scope="module")
def harmless(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, Report]:
    """A job with all of these files: what is said of it by Python, and by us."""
    folder = tmp_path_factory.mktemp("harmless")
    put(folder, "train.py", content=TRAIN)
    put(folder, *itertools.chain(*HARMLESS.values()), content=b"speed = 1\n")
    return folder, python_says(folder), report_of(folder)


@pytest.mark.parametrize("files", HARMLESS.values(), ids=HARMLESS)
def test_a_job_that_runs_is_left_alone(
    harmless: tuple[Path, str, Report], files: list[str]
) -> None:
    folder, said, report = harmless

    assert all((folder / one).is_file() for one in files)
    assert said == ""
    assert report.verdict == "go"


def test_a_file_that_does_what_is_asked_of_it_is_left_alone(tmp_path: Path) -> None:
    """A copy of the standard library's own, say."""
    import numbers

    put(tmp_path, "train.py", content=TRAIN)
    put(tmp_path, "numbers.py", content=Path(numbers.__file__).read_bytes())

    assert report_of(tmp_path).verdict == "go"


def test_a_module_below_the_jobs_folder_is_left_alone(tmp_path: Path) -> None:
    """Whatever script imports it lies elsewhere, and has not its folder first on the path."""
    put(tmp_path, "data/loader.py", content=TRAIN)
    put(tmp_path, "data/numbers.py", content=b"speed = 1\n")

    assert report_of(tmp_path, "data/loader.py:make").findings == ()


@pytest.mark.slow
def test_the_jobs_own_modules_are_no_rivals_of_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last two of three loaders find their module loaded; no process is started for that.

    One that were started would be no copy, and is counted; nor is there one for what counts them,
    which was there before torch was imported.
    """
    note = (
        "import os, sys\n"
        "if 'torch_template' not in sys.modules:\n"
        "    with open(os.environ['NOTE'], 'a') as note:\n"
        "        note.write('.')\n"
    )
    put(tmp_path, "lib/sitecustomize.py", content=note.encode())
    put(tmp_path, "train.py", content=TRAIN + b"def a(): return make()\ndef b(): return make()\n")
    before = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'lib'}{os.pathsep}{before}")
    start_copies(monkeypatch)
    started = []
    for words in (["train:make"], ["train:make", "train:a", "train:b"]):
        put(tmp_path, f"{len(words)}.txt", content=b"")
        monkeypatch.setenv("NOTE", str(tmp_path / f"{len(words)}.txt"))
        preflight.run(*words, folder=str(tmp_path), select=["loader-unpicklable"])
        started.append((tmp_path / f"{len(words)}.txt").stat().st_size)

    assert started == [0, 0]
