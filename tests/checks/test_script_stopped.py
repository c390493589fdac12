"""What is said of a script that stops with an exception, or says itself that it failed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from preflight.facts import Ended, Frame, Met, Raised, Rehearsal
from preflight.settings.how_to_look import Look
from preflight.settings.job import Job
from preflight.testing import ask

INNER = Frame(file="data.py", line=7, function="load", text='row["text"]')
OUTER = Frame(file="train.py", line=3, function="main", text="load()")


def rehearsal(**more: object) -> Rehearsal:
    given = {"ended": Ended(how="returned", code=0), **more}
    return Rehearsal(name="train.py", file="train.py", seconds=3.0, **given)  # type: ignore[arg-type]


def stopped(**more: object) -> Rehearsal:
    raised = Raised(error="KeyError: 'text'", frames=(OUTER, INNER), **more)  # type: ignore[arg-type]
    return rehearsal(ended=Ended(how="raised", code=1, raised=raised))


def test_it_is_told_at_the_innermost_line_of_the_script_s_own() -> None:
    (finding,) = ask("script-stopped", stopped(while_at="training"))

    assert str(finding.at) == "data.py:7"
    assert finding.message == "raises KeyError: 'text'"
    assert "train.py was run in short, and stopped in its training" in (finding.why or "")
    assert [str(one) for one in finding.also] == ["train.py:3"]


def test_an_error_that_says_nothing_is_told_with_its_line() -> None:
    line = replace(INNER, text="assert os.path.exists(path)")
    raised = Raised(error="AssertionError", frames=(OUTER, line))
    ended = Ended(how="raised", code=1, raised=raised)

    (finding,) = ask("script-stopped", rehearsal(ended=ended))

    assert finding.message == "raises AssertionError at `assert os.path.exists(path)`"


def test_what_it_raises_in_an_evaluation_is_told_by_another_check() -> None:
    assert ask("script-stopped", stopped(while_at="evaluation")) == []


def test_what_a_check_of_models_tells_is_told_once() -> None:
    assert ask("script-stopped", stopped(told_by="model-uncopyable")) == []


def test_a_script_that_does_not_know_its_own_package_is_started_as_a_module() -> None:
    error = "ImportError: attempted relative import with no known parent package"
    ended = Ended(how="raised", code=1, raised=Raised(error=error, frames=(INNER,)))
    facts = replace(rehearsal(ended=ended), file="titan/jobs/train.py")
    (finding,) = ask("script-stopped", facts)

    assert (finding.fix or "").endswith("  preflight run -m titan.jobs.train")


def test_another_module_that_is_not_there_is_still_the_line_s() -> None:
    raised = Raised(error="ModuleNotFoundError: No module named 'parts'", frames=(INNER,))
    facts = rehearsal(ended=Ended(how="raised", code=1, raised=raised))

    for file in ("train.py", "titan/train.py"):
        (finding,) = ask("script-stopped", replace(facts, file=file))
        assert finding.fix == "Mend this line."


@pytest.mark.parametrize(
    ("error", "of_image"),
    [
        ("OSError: image file is truncated (12 bytes not processed)", True),
        ("PIL.UnidentifiedImageError: cannot identify image file 'a.jpg'", True),
        ("OSError: disk quota exceeded", False),
    ],
)
def test_a_damaged_image_is_no_fault_of_the_line_that_opens_it(
    error: str, *, of_image: bool
) -> None:
    ended = Ended(how="raised", code=1, raised=Raised(error=error, frames=(INNER,)))

    (finding,) = ask("script-stopped", rehearsal(ended=ended))

    assert ("Take out the image" in (finding.fix or "")) is of_image
    assert ("Mend this line" in (finding.fix or "")) is not of_image


def test_a_file_that_is_not_there_is_no_fault_of_the_line_that_opens_it() -> None:
    error = "FileNotFoundError: [Errno 2] No such file or directory: 'traindata.pt'"
    ended = Ended(how="raised", code=1, raised=Raised(error=error, frames=(INNER,)))

    (finding,) = ask("script-stopped", rehearsal(ended=ended))

    assert finding.fix == "Put the file where this line looks for it, or name another there."


def test_what_may_only_need_more_batches_is_given_them() -> None:
    met = (Met(what="loader"),)
    raised = Raised(error="ValueError: too few", frames=(INNER,))
    ended = Ended(how="raised", code=1, raised=raised)
    (finding,) = ask("script-stopped", rehearsal(ended=ended, met=met))

    assert finding.fix == (
        "Mend this line; if it only needs more than 2 batches:  preflight run --batches 20 train.py"
    )
    cut = rehearsal(ended=ended, met=met, shortened=("epochs after the first 2 to 1 batch",))
    (finding,) = ask("script-stopped", cut)
    assert (finding.fix or "").endswith(
        "than 2 batches and 2 epochs:  preflight run --batches 20 --epochs 20 train.py"
    )
    assert (finding.why or "").endswith(
        "the job does so, too, unless it only lacks what was left out."
    )
    on_cpu = Job(look=Look(device="cpu"))
    (finding,) = ask("script-stopped", rehearsal(ended=ended, met=met), on_cpu)
    assert (finding.fix or "").endswith("  preflight run --batches 20 --device cpu train.py")


@pytest.mark.parametrize("at", ["setup", "training", "evaluation"])
def test_a_thread_in_the_background_is_told_though_the_script_went_on(at: str) -> None:
    """Whatever that was at just then."""
    raised = Raised(error="NameError: name 'x'", frames=(INNER,), thread="writer", while_at=at)
    (finding,) = ask("script-stopped", rehearsal(threads=(raised,)))
    assert ask("script-eval", rehearsal(threads=(raised,))) == []

    assert finding.message == "thread writer raises NameError: name 'x'"
    assert "goes on without what it was to do" in (finding.why or "")


def test_an_exit_code_that_says_failure_is_told_and_others_are_not() -> None:
    (finding,) = ask("script-stopped", rehearsal(ended=Ended(how="exited", code=2)))

    assert "ends with exit code 2" in finding.message
    assert ask("script-stopped", rehearsal(ended=Ended(how="exited", code=0))) == []


def test_a_script_that_was_stopped_by_us_is_left_alone() -> None:
    assert ask("script-stopped", rehearsal(ended=Ended(how="stopped"))) == []


def test_what_each_of_some_threads_raises_is_told_once() -> None:
    """One thread a checkpoint, of which each has a number."""
    threads = tuple(
        Raised(error=f"OSError: {number}.pt", frames=(INNER,), thread=f"Thread-{number}")
        for number in (1, 2)
    )
    other = replace(threads[0], frames=(OUTER,))

    first, second = ask("script-stopped", rehearsal(threads=(*threads, other)))

    assert first.message == "thread Thread-1 raises OSError: 1.pt"
    assert str(second.at) == "train.py:3"
