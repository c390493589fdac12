"""loader-start-method says in one line where a loader works, if that is not everywhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from preflight.findings.finding import Finding, Severity
from preflight.loaders.facts import Loaded, Trip
from preflight.objects.facts import Definition
from preflight.settings.job import Job
from preflight.testing import ask


def loaded(spawn: str, forkserver: str, *, here: str = "fork", workers: int = 2) -> Loaded:
    """Give a loader whose round trips ended so."""
    return Loaded(
        name="train:make_loader",
        defined=Definition(file="train.py", line=9),
        num_workers=workers,
        start_method=here,
        start_method_from="the default of Python 3.11 on Linux",
        trips=(
            Trip(method="spawn", outcome=spawn),
            Trip(method="forkserver", outcome=forkserver),
        ),
    )


def said(facts: Loaded) -> Finding:
    """Give the one thing said of a loader."""
    (found,) = ask("loader-start-method", facts, Job())
    return found


@pytest.mark.parametrize(
    "facts",
    [
        loaded("loaded", "loaded"),
        loaded("loaded", "unavailable", here="spawn"),
        loaded("cut", "cut"),
        loaded("unsent", "unsent", workers=0),
    ],
    ids=["everywhere", "on Windows", "too much to try", "no workers"],
)
def test_nothing_is_said_where_nothing_fails(facts: Loaded) -> None:
    assert ask("loader-start-method", facts, Job()) == []


@pytest.mark.parametrize("outcome", ["unsent", "refused", "died", "late"])
def test_one_line_says_where_it_works(outcome: str) -> None:
    found = said(loaded(outcome, outcome))

    assert found.severity is Severity.NOTE
    assert found.message == (
        "works with fork (Linux before Python 3.14), and not with spawn (Windows, macOS); "
        "forkserver (Linux from Python 3.14 on)"
    )
    assert "with which it works" in (found.why or "")


def test_each_way_is_told_for_itself() -> None:
    """A module that only the server has loaded is found by its children."""
    found = said(loaded("refused", "loaded", here="spawn"))

    assert found.message == (
        "works with fork (Linux before Python 3.14); forkserver (Linux from Python 3.14 on), and "
        "not with spawn (Windows, macOS)"
    )
    assert "with which it does not work" in (found.why or "")
    assert "multiprocessing_context" in (found.workaround or "")


def test_what_was_not_tried_is_not_called_working() -> None:
    found = said(replace(loaded("refused", "unavailable", here="spawn")))

    assert found.message.endswith("; not tried here: forkserver (Linux from Python 3.14 on)")
