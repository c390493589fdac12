"""loader-unpicklable names each object once, for the way in which this job starts its workers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from preflight.findings.finding import Location, Severity
from preflight.loaders.facts import Sent, Unsendable
from preflight.objects.facts import Definition
from preflight.settings.job import Job
from preflight.testing import ask
from tests.questions import outcome_of

LAMBDA = Unsendable(
    kind="lambda",
    type="builtins.function",
    text="lambda in make_loader",
    error="AttributeError: Can't pickle local object 'make_loader.<locals>.<lambda>'",
    paths=("dataset.pipeline[7].args[0]",),
    defined=Definition(file="train.py", line=31, line_text="wds.map(lambda x: x),"),
)
LOCK = Unsendable(
    kind="lock",
    type="_thread.lock",
    text="lock of type _thread.lock",
    error="TypeError: cannot pickle '_thread.lock' object",
    paths=("dataset.lock", "collate_fn.args[0]"),
    defined=Definition(file="data.py", line=5, line_text="self.lock = Lock()"),
)
SENT = Sent(
    name="train:make_loader",
    defined=Definition(file="train.py", line=20, qualname="make_loader"),
    num_workers=2,
    start_method="spawn",
    start_method_from="launch.start_method",
    objects=(LAMBDA, LOCK),
)
JOB = Job(origins={"launch.start_method": "preflight.toml:6"})


def test_a_loader_that_can_be_sent_is_left_alone() -> None:
    for method in ("fork", "spawn", "forkserver"):
        assert ask("loader-unpicklable", replace(SENT, objects=(), start_method=method)) == []


def test_without_workers_nothing_is_sent_and_nothing_said() -> None:
    """The training process needs no pickle to hold a lambda."""
    assert ask("loader-unpicklable", replace(SENT, num_workers=0)) == []


def test_a_loader_without_workers_was_looked_at() -> None:
    """It is sound as it is, so that a job which has nothing else is a GO."""
    outcome = outcome_of("loader-unpicklable", replace(SENT, num_workers=0, objects=()), JOB)

    assert (outcome.outcome, outcome.looked_at, outcome.skipped) == ("passed", 1, ())


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_where_workers_are_spawned_it_is_an_error(method: str) -> None:
    found = ask("loader-unpicklable", replace(SENT, start_method=method), JOB)

    assert [(one.severity, one.at, one.also) for one in found] == [
        (
            Severity.ERROR,
            Location(file="train.py", line=31, name="dataset.pipeline[7].args[0]"),
            (),
        ),
        (
            Severity.ERROR,
            Location(file="data.py", line=5, name="dataset.lock"),
            (Location(file="data.py", line=5, name="collate_fn.args[0]"),),
        ),
    ]
    assert all("preflight.toml:6" in (one.why or "") for one in found)
    assert all("only the first of the 2 objects" in (one.why or "") for one in found)
    assert all("num_workers=0" in (one.workaround or "") for one in found)


def test_where_workers_are_forked_it_is_a_warning() -> None:
    forked = replace(
        SENT, start_method="fork", start_method_from="the default of Python 3.11 on Linux"
    )
    found = ask("loader-unpicklable", forked)

    assert [one.severity for one in found] == [Severity.WARNING, Severity.WARNING]
    assert all("Linux from Python 3.14" in (one.why or "") for one in found)


def test_the_only_object_is_not_called_the_first() -> None:
    (one,) = ask("loader-unpicklable", replace(SENT, objects=(LOCK,)), JOB)

    assert "only the first" not in (one.why or "")
    assert "dataset.lock" not in one.message


@pytest.mark.parametrize(
    ("captures", "words"),
    [
        ((), "a function with a name (def)"),
        (("fields",), "takes fields as an argument"),
        (("a", "b"), "takes a, b as arguments"),
    ],
    ids=["nothing", "one name", "two names"],
)
def test_what_a_lambda_holds_is_part_of_the_fix(captures: tuple[str, ...], words: str) -> None:
    held = replace(LAMBDA, captures=captures)
    (one,) = ask("loader-unpicklable", replace(SENT, objects=(held,)))

    assert words in (one.fix or "")
    assert all(f"`{name}`" in one.message for name in captures)


def test_what_would_fail_next_is_said_at_once() -> None:
    held = replace(LAMBDA, captures=("lock", "n"), inside=("lock, _thread.lock",))
    (one,) = ask("loader-unpicklable", replace(SENT, objects=(held,)))

    assert (one.fix or "").endswith("define or make it there: lock, _thread.lock.")
    assert "takes n as an argument" in (one.fix or "")  # a lock in a partial would be refused again


@pytest.mark.parametrize(
    "kind",
    ["lambda", "local-function", "local-class", "rebound", "unnamed", "module", "generator", "lock",
     "forked-lock", "file", "handle", "tensor", "other"],
)  # fmt: skip
def test_each_kind_has_a_reason_and_a_fix(kind: str) -> None:
    (one,) = ask("loader-unpicklable", replace(SENT, objects=(replace(LOCK, kind=kind),)))

    assert one.message == "cannot be sent to a worker: lock of type _thread.lock"
    reason, then, _ = (one.why or "").partition(". The workers of this job are spawned")
    assert reason and then
    assert (one.fix or "").endswith((".", "\u2026"))
    assert one.evidence["kind"] == kind


def test_behind_the_last_it_is_said_that_there_may_be_more() -> None:
    cut = ("dataset['\x1b']: goes deeper than 1,000 levels", "collate_fn: not looked at")
    first, last = ask("loader-unpicklable", replace(SENT, cut=cut))

    assert "more" not in first.message
    assert "cut" not in first.evidence
    assert last.message.endswith(
        "; the look stopped short (dataset['\\x1b']: goes deeper than 1,000 levels), "
        "so there may be more"
    )
    assert last.evidence["cut"] == "; ".join([cut[0].replace("\x1b", "\\x1b"), cut[1]])


def test_one_function_in_two_loaders_is_two_findings() -> None:
    (first,) = ask("loader-unpicklable", replace(SENT, objects=(LAMBDA,)))
    (second,) = ask("loader-unpicklable", replace(SENT, objects=(LAMBDA,), name="train:val"))

    assert first.fingerprint != second.fingerprint


def test_a_name_from_the_data_is_not_obeyed_by_a_console() -> None:
    odd = replace(LOCK, paths=("dataset['\x1b[2J']", "x['\u202e']"))
    (one,) = ask("loader-unpicklable", replace(SENT, objects=(odd,)))

    assert one.at.name == "dataset['\\x1b[2J']"
    assert one.also[0].name == "x['\\u202e']"
