"""What is said of a script in which nothing goes on any more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from preflight.facts import Ended, Frame, Raised, Rehearsal, Waiting
from preflight.testing import ask

LINE = Frame(file="train.py", line=9, function="main", text="batches.get()")
OTHER = Frame(file="fill.py", line=4, function="fill", text="done.wait()")


def rehearsal(ended: Ended) -> Rehearsal:
    return Rehearsal(name="train.py", file="train.py", ended=ended)


def test_it_is_told_where_it_waits_and_where_all_others_do() -> None:
    waiting = (
        Waiting(process="script", thread=1, frames=(LINE,), within="queue.py:171 in get"),
        Waiting(process="script", thread=2, frames=(OTHER,)),
        Waiting(process="process 12", thread=1, frames=(OTHER,)),
        Waiting(process="script", thread=3, frames=()),
    )
    ended = Ended(how="stuck", waiting=waiting, silent=12.4)
    (finding,) = ask("script-stuck", rehearsal(ended))

    assert str(finding.at) == "train.py:9"
    assert "waits (in queue.py:171 in get)" in finding.message
    assert "for 12 s" in finding.message
    assert [one.name for one in finding.also] == [None, "process 12"]
    assert {one.file for one in finding.also} == {"fill.py"}


def test_it_is_told_of_the_script_where_no_stack_could_be_had() -> None:
    (finding,) = ask("script-stuck", rehearsal(Ended(how="stuck", silent=12)))

    assert str(finding.at) == "train.py"


def test_a_thread_that_has_ended_with_an_exception_is_told_in_its_place() -> None:
    """By one check: what the script waits for is what the thread was to do."""
    waiting = (Waiting(process="script", thread=1, frames=(LINE,)),)
    raised = Raised(error="KeyError: 'text'", frames=(OTHER,), thread="writer")
    facts = replace(rehearsal(Ended(how="stuck", silent=12, waiting=waiting)), threads=(raised,))
    (finding,) = ask("script-stopped", facts)

    assert ask("script-stuck", facts) == []
    assert str(finding.at) == "fill.py:4"
    assert "train.py waits for ever at train.py:9" in finding.why


@pytest.mark.parametrize("how", ["returned", "stopped", "late", "raised"])
def test_any_other_end_is_left_alone(how: str) -> None:
    assert ask("script-stuck", rehearsal(Ended(how=how))) == []
