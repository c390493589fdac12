"""Streams that are no pipelines: what they drop with errors is counted, where it is a loss."""

from __future__ import annotations

import pickle
import runpy
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import preflight
from preflight.findings.finding import Finding
from preflight.findings.report import Report
from preflight.flow.counting import StageCounts, Swallows
from preflight.flow.streams import drops_of

CASES = Path(__file__).with_name("streams.py")

# What is said of each, and at which severity.
SAID: Mapping[str, tuple[str, str]] = {
    "Goes": (
        "50 of 100 samples come out; 50 are dropped by an except clause of __iter__",
        "warning",
    ),
    "Nothing": ("0 of 100 samples come out; 100 are dropped by an except clause of __", "error"),
    "InTheTry": ("90 of 100 samples come out; 10 are dropped by an except clause of", "warning"),
    "ByAMethod": ("50 of 100 samples come out; 50 are dropped by an except clause of s", "warning"),
    "in_workers": ("50 of 100 samples come out; 50 are dropped by an except clause", "warning"),
}


@pytest.fixture(scope="module")
def cases() -> Mapping[str, Any]:
    """Give the cases as a module has them; torch is imported here and not before."""
    return runpy.run_path(str(CASES))


def look(folder: Path, name: str) -> Report:
    shutil.copy(CASES, folder / "streams.py")
    select = ["loader-starved", "loader-end", "loader-stuck", "loader-unpicklable"]
    return preflight.run(
        f"streams:{name}", folder=str(folder), select=select, timeout=60.0, budget=160.0
    )


def test_what_is_filtered_filled_or_tried_again_is_no_loss_and_is_not_traced(
    cases: Mapping[str, Any],
) -> None:
    drops = {one.__name__: drops_of(one.__iter__) for one in cases["SOUND"]}

    assert {name for name, those in drops.items() if those} == {"Rarely", "Filters"}
    assert drops["Filters"][0].but == ("NoCaption",)


def test_the_lines_of_what_is_tried_are_told(cases: Mapping[str, Any]) -> None:
    (drop,) = drops_of(cases["InTheTry"].__iter__)
    lines = CASES.read_text(encoding="utf-8").splitlines()[drop.first - 1 : drop.last]

    assert [one.strip() for one in lines] == ["sample = self.load(number)", "yield sample"]


@pytest.mark.usefixtures("at_hand")
def test_streams_that_lose_nothing_are_left_alone(tmp_path: Path) -> None:
    report = look(tmp_path, "sound")

    assert report.findings == ()
    assert not any(one.broken for one in report.checks)


@pytest.mark.usefixtures("at_hand")
def test_what_a_stream_drops_is_told_once_with_the_line_that_raised(tmp_path: Path) -> None:
    found: dict[str, list[Finding]] = {}
    for one in look(tmp_path, "dropping").findings:
        found.setdefault(str(one.at.name).partition("['")[2].strip("']"), []).append(one)

    told = {name: (those[0].message, those[0].severity.word) for name, those in found.items()}
    assert told.keys() == SAID.keys()
    assert all(len(those) == 1 and those[0].check == "loader-starved" for those in found.values())
    for name, (message, severity) in SAID.items():
        assert told[name][0].startswith(message), name
        assert told[name][1] == severity, name
    at = found["in_workers"][0].at
    line = CASES.read_text(encoding="utf-8").splitlines()[(at.line or 0) - 1]
    assert (at.file, line.strip()[:16]) == ("streams.py", "raise self.error")


def test_a_worker_that_is_spawned_begins_to_count_and_does_what_the_job_has_it_do(
    tmp_path: Path,
) -> None:
    """What it is sent names no module of ours: preflight need not be installed there."""
    swallows = Swallows(
        StageCounts(str(tmp_path), 1, ()), {("x.py", 1, "f"): 0}, (0,), ((1, 2, ()),)
    )
    swallows.then = print
    (tmp_path / "sent").write_bytes(pickle.dumps(swallows))
    there = "import sys, pickle; sys.modules['preflight'] = None; "
    there += "pickle.load(open('sent', 'rb'))(7); print(sys.gettrace() is not None)"
    done = subprocess.run(
        [sys.executable, "-c", there], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == ["7", "True"]


def test_the_numbers_are_those_of_a_plain_loop(cases: Mapping[str, Any]) -> None:
    """Of those without workers: what comes out is what a script gets."""
    for name, made in cases["dropping"]().items():
        if not made.num_workers:
            assert sum(map(len, made)) == int(SAID[name][0].split()[0]), name
