"""A failure of our own in a child is told as a bug of ours, with what to attach to an issue."""

from __future__ import annotations

import collections
import fractions
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import preflight
from preflight.findings.report import Broken, Report
from preflight.formats.bytes.damaged import DamagedError
from preflight.formats.torch import pickle_globals, pickles
from preflight.render import terminal
from preflight.shards.kind import SHARD
from tests.archives import samples, tarred

CRASH = "an exception"
SEGFAULT, EXIT = "faulty:segfault", "faulty:leave"
FAULTY = """
import faulthandler, os
def segfault(asked): faulthandler._sigsegv()
def leave(asked): os._exit(5)
"""
UNTRACED = (
    "Open an issue with what stderr says of it, if anything, and with what this prints:  "
    "preflight report"
)
FAULTS = {
    # A reader of our own that raises, at a line of ours.
    CRASH: "preflight.findings.our_failures:in_words",
    "a name that is not there": "preflight.shards.read:no_such_reader",
    "a module that is not there": "preflight.shards.no_such_module:look",
    "a library that raises": "json:loads",
}


@pytest.fixture
def fault(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Have a faulty reader look at shards."""
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "faulty.py").write_text(FAULTY)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "path"))
    sound = SHARD.reader
    object.__setattr__(SHARD, "reader", request.param)
    yield
    object.__setattr__(SHARD, "reader", sound)


def look(folder: Path, **flags: object) -> Report:
    for number in range(2):
        (folder / f"a-{number}.tar").write_bytes(tarred(samples(2)))
    words = [str(folder / f"a-{number}.tar") for number in range(2)]
    return preflight.run(*words, folder=str(folder), elsewhere=True, **flags)


def broken(report: Report) -> list[Broken]:
    found = {one for outcome in report.checks for one in outcome.broken}
    return sorted(found, key=lambda one: str(one.at))


@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS), indirect=True)
@pytest.mark.usefixtures("fault")
def test_an_exception_of_ours_is_a_bug_of_preflight(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each file is named, with what to attach; the traceback stands on stderr once."""
    report = look(tmp_path)

    err = capfd.readouterr().err
    assert report.verdict == "cannot-judge"
    assert [one.at.file for one in broken(report)] == ["a-0.tar", "a-1.tar"]
    for one in broken(report):
        assert one.error.startswith("a bug of preflight")
        assert "Error: " in one.error
        assert one.fix == (
            "Open an issue with the traceback on stderr and with what this prints:  "
            "preflight report"
        )
    assert "ended by itself" not in str(broken(report))
    assert err.count("Traceback (most recent call last)") == 1


@pytest.mark.parametrize("fault", [FAULTS[CRASH]], indirect=True)
@pytest.mark.usefixtures("fault")
def test_the_page_and_the_report_name_the_line_of_ours(tmp_path: Path) -> None:
    from preflight.render import bug_report

    report = look(tmp_path)

    assert "preflight/findings/our_failures.py:" in terminal.render(report)
    assert "a bug of preflight: AttributeError" in bug_report.render(report)


@pytest.mark.skipif(sys.platform != "linux", reason="signals")
@pytest.mark.parametrize("fault", [SEGFAULT], indirect=True)
@pytest.mark.usefixtures("fault")
def test_a_crash_in_a_reader_is_no_process_of_the_users(tmp_path: Path) -> None:
    """Which of the two it was, a decoder or us, is a guess, and is told as one."""
    one, _ = broken(look(tmp_path))

    assert "process of preflight that looked at it was killed by SIGSEGV" in one.error
    assert "crash a decoder, or it is a bug of preflight" in one.error
    assert one.fix == UNTRACED


@pytest.mark.parametrize("fault", [EXIT], indirect=True)
@pytest.mark.usefixtures("fault")
def test_a_reader_that_ends_before_its_answer_is_ours(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It runs nothing of the job's: nobody else can have ended it."""
    one, _ = broken(look(tmp_path))

    assert one.error.startswith("a bug of preflight: ")
    assert "ended by itself with exit status 5" in one.error
    assert one.fix == UNTRACED
    assert "Traceback" not in capfd.readouterr().err


def test_a_child_that_cannot_even_start_is_ours(tmp_path: Path) -> None:
    """Also where it was to run the code of the job, which it never came to."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nsys.modules['preflight.values.wire'] = None\n"
    )
    (tmp_path / "train.py").write_text("make = 1\n")
    code = (
        "import sys; sys.path.pop(0); "  # as -P has it, which Python 3.10 does not know
        "import os, preflight; os.environ['PYTHONPATH'] = '.'; "
        "report = preflight.run('loader=train:make', elsewhere=True); "
        "print({one.error for outcome in report.checks for one in outcome.broken})"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert "a bug of preflight" in done.stdout
    assert "ended by itself with exit status 1" in done.stdout


def test_a_failure_of_ours_in_a_pickle_is_no_damage_of_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It may raise the very exception by which a pickle that makes no sense is known."""

    def planted(_name: str) -> bool:
        raise KeyError("planted")

    whole = pickle.dumps({"a": collections.OrderedDict(), "b": fractions.Fraction(1)})
    odd = b"\x80\x04h\x07."
    assert pickles.walk_bytes(whole).end == len(whole)
    monkeypatch.setattr(pickle_globals, "is_known", planted)

    with pytest.raises(KeyError, match="planted"):
        pickles.walk_bytes(whole)
    with pytest.raises(DamagedError):
        pickles.walk_bytes(odd)
