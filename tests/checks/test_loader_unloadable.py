"""loader-unloadable names each object once, for the way in which this job starts its workers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import preflight
from preflight.findings.finding import Finding, Location, Severity
from preflight.loaders.facts import Loaded, Trip, Unloadable
from preflight.objects.facts import Definition
from preflight.settings.job import Job
from preflight.testing import ask
from tests.questions import outcome_of

CONFIG = Unloadable(
    type="data.Config",
    text="object of type data.Config",
    error="AssertionError: longest is missing",
    paths=("dataset.transform.__self__.config", "collate_fn.args[0]"),
    defined=Definition(file="train.py", line=29, line_text="self.config = Config(longest=4)"),
    raised=Definition(file="data.py", line=8, line_text='assert "longest" in fields'),
)
GONE = Unloadable(
    type="builtins.function",
    text="function plugin.crop",
    error="ModuleNotFoundError: No module named 'plugin'",
    paths=("dataset.crop",),
    missing="plugin",
)
FELL = (Trip(method="spawn", outcome="refused"), Trip(method="forkserver", outcome="refused"))
LOADED = Loaded(
    name="train:make_loader",
    defined=Definition(file="train.py", line=40, qualname="make_loader"),
    num_workers=2,
    start_method="spawn",
    start_method_from="launch.start_method",
    trips=FELL,
    objects=(CONFIG, GONE),
)
JOB = Job(origins={"launch.start_method": "preflight.toml:2"})
WELL = tuple(trip._replace(outcome="loaded") for trip in FELL)


def test_a_loader_that_can_be_loaded_is_left_alone() -> None:
    for method in ("fork", "spawn", "forkserver"):
        healthy = replace(LOADED, objects=(), trips=WELL, start_method=method)
        assert ask("loader-unloadable", healthy) == []


def test_without_workers_there_is_nothing_to_load() -> None:
    """Nothing was sent, nothing was tried, and it counts as looked at."""
    judged = outcome_of(
        "loader-unloadable", replace(LOADED, num_workers=0, objects=(), trips=()), JOB
    )

    assert (judged.outcome, judged.looked_at) == ("passed", 1)


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_where_workers_are_spawned_it_is_an_error(method: str) -> None:
    config, gone = ask("loader-unloadable", replace(LOADED, start_method=method), JOB)

    assert config.severity is gone.severity is Severity.ERROR
    assert config.at == Location(file="train.py", line=29, name=CONFIG.paths[0])
    assert config.also == (
        Location(file="data.py", line=8),
        Location(file="train.py", line=29, name="collate_fn.args[0]"),
    )
    said, then, rest = (config.why or "").partition(". The workers of this job are ")
    assert said == "AssertionError: longest is missing in data.py:8" and then
    assert "preflight.toml:2" in rest


def test_what_the_worker_looks_for_in_vain_is_named() -> None:
    _, gone = ask("loader-unloadable", LOADED, JOB)

    assert gone.message.endswith("function plugin.crop")
    assert (gone.why or "").startswith("A worker finds no plugin. ")
    assert "module that a worker can import" in (gone.fix or "")


def test_where_workers_are_forked_it_is_a_warning() -> None:
    found = ask("loader-unloadable", replace(LOADED, start_method="fork"), JOB)

    assert {one.severity for one in found} == {Severity.WARNING}
    assert all("Windows" in (one.why or "") for one in found)


ODD = {
    "a bound method has to let go of its object": ({}, Severity.ERROR, "bound method"),
    "a tensor that is gone too soon is to be made in the worker": (
        {"how": "gone", "raised": Definition()},
        Severity.ERROR,
        "make the tensor in the worker",
    ),
    "what was found over stand-ins may be their fault": (
        {"guess": True},
        Severity.WARNING,
        "zeros stood in",
    ),
    "what is late may only be slow, and is given longer": (
        {"how": "late", "error": "the worker said nothing for 120 s"},
        Severity.WARNING,
        "--timeout",
    ),
    "what does nothing at all would not come with more time": (
        {"how": "stuck", "error": "the worker said nothing for 120 s"},
        Severity.ERROR,
        "is not loaded by a worker in time",
    ),
    "what only the other way cannot load does not stop this job": (
        {"methods": ("forkserver",)},
        Severity.NOTE,
        "which loads it",
    ),
}


@pytest.mark.parametrize(("changes", "severity", "words"), ODD.values(), ids=ODD.keys())
def test_each_way_to_fail_is_told_as_what_it_is(
    changes: dict[str, Any], severity: Severity, words: str
) -> None:
    (found,) = ask("loader-unloadable", replace(LOADED, objects=(CONFIG._replace(**changes),)), JOB)

    assert found.severity is severity
    assert words in f"{found.message} {found.why} {found.fix}"


@pytest.mark.parametrize("how", ["late", "stuck"])
def test_of_what_is_late_no_exit_is_foretold(how: str) -> None:
    late = CONFIG._replace(how=how, error="the worker said nothing for 120 s")
    (found,) = ask("loader-unloadable", replace(LOADED, objects=(late,)), JOB)

    assert "where that never ends, the first batch never comes" in (found.why or "")
    assert "exited" not in (found.why or "")


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        ("unavailable", "no worker could be started here"),
        ("cut", "too many small objects to load for a look"),
    ],
)
def test_what_was_not_tried_is_no_pass(outcome: str, reason: str) -> None:
    trips = tuple(trip._replace(outcome=outcome) for trip in FELL)
    judged = outcome_of("loader-unloadable", replace(LOADED, objects=(), trips=trips), JOB)

    assert (judged.outcome, [one.reason for one in judged.skipped]) == ("skipped", [reason])


# As the advice has it: `give Unreadable a __reduce__ that returns Unreadable and a tuple of what it
# was called with`.
NEEDS_A_NAME = """
from torch.utils.data import DataLoader
class Unreadable(Exception):
    def __init__(self, name, line):
        super().__init__(f"{name} at {line}")
        self.name, self.line = name, line
#    def __reduce__(self): return Unreadable, (self.name, self.line)
class Data(list):
    def __init__(self):
        super().__init__([1, 2])
        self.last = Unreadable("a.txt", 7)
    def __reduce__(self): return make_data, (self.last,)
def make_data(last):
    return [1, 2, last]
def make():
    return DataLoader(Data(), num_workers=1, multiprocessing_context="spawn")
"""


# And `functools.partial(Config, ...) with them`, which takes what has no place in a tuple.
NEEDS_A_KEYWORD = """
import functools
from torch.utils.data import DataLoader
class Config:
    def __new__(cls, **given):
        if "root" not in given:
            raise TypeError("root is required")
        self = object.__new__(cls)
        self.__dict__.update(given)
        return self
#    def __reduce__(self): return functools.partial(Config, root=self.root), ()
class Data(list):
    def __init__(self):
        super().__init__([1, 2])
        self.config = Config(root="x")
def make():
    return DataLoader(Data(), num_workers=1, multiprocessing_context="spawn")
"""


@pytest.mark.usefixtures("at_hand")
@pytest.mark.parametrize(
    ("job", "name"), [(NEEDS_A_NAME, "Unreadable"), (NEEDS_A_KEYWORD, "Config")]
)
def test_the_advice_names_the_class_and_works(tmp_path: Path, job: str, name: str) -> None:
    def found() -> list[Finding]:
        report = preflight.run("train.py:make", folder=str(tmp_path), select=["loader-unloadable"])
        return [one for one in report.findings if one.check == "loader-unloadable"]

    (tmp_path / "train.py").write_text(job)
    (finding,) = found()
    (tmp_path / "train.py").write_text(job.replace("#    def", "    def"))

    assert finding.fix is not None
    assert f"give {name} a __reduce__ that returns {name} and a tuple of" in finding.fix
    assert f"functools.partial({name}, ...) with them, and an empty tuple" in finding.fix
    assert found() == []


def test_of_what_python_brings_along_no_class_is_to_be_changed() -> None:
    listed = CONFIG._replace(type="builtins.list", paths=("dataset.items",))
    (finding,) = ask("loader-unloadable", replace(LOADED, objects=(listed,)))

    assert finding.fix is not None
    assert "__reduce__" not in finding.fix
