"""An object that a DataLoader can send to its workers, and that no worker can load.

What it finds
    Everything in a loader's dataset, collate function and worker function that pickle takes and
    that a fresh worker cannot make again: classes whose `__new__`, `__init__` or `__setstate__`
    asserts or needs arguments, functions and modules that a worker does not find, objects that end
    the worker. All of it is really sent to two fresh workers, a spawned one and one that comes from
    a forkserver, and the innermost object is named with the path that leads to it.

Why it matters
    The training process only learns that a `DataLoader worker exited unexpectedly`, at the first
    batch, often minutes into a job. Which object it was, the worker alone knew. Tools that only
    pickle a loader call it sound.

What to do
    Let the object be made again from what is sent: give it a `__reduce__` that passes what its
    class asks for, or let the method that needs one value of it be a function that is given this
    value. Keep what workers use in modules that can be imported.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Loaded, Unloadable
from preflight.finding import Finding, Location, Severity
from preflight.host.start_method import SPAWNING
from preflight.job import Job
from preflight.values.names import counted, shown

from ._objects import WITHOUT_WORKERS, started

_CANNOT = "cannot be loaded by a worker"
_LATE = ("late", "stuck")
_GUESSED = "; a guess, since zeros stood in for its large data"


def _does_not_apply(loaded: Loaded, _: Job) -> str | None:
    if not loaded.num_workers:
        return None  # nothing is sent, so that there is nothing to load: it is sound
    if all(trip.outcome == "unavailable" for trip in loaded.trips):
        return "no worker could be started here"
    if any(trip.outcome == "cut" for trip in loaded.trips):
        return "too many small objects to load for a look"
    return None


@check(
    over=Loaded,
    title="object that a worker cannot load",
    many="objects cannot be loaded by a worker",
    severity=Severity.ERROR,
    skip=_does_not_apply,
)
def loader_unloadable(loaded: Loaded, job: Job) -> Iterator[Finding]:
    """Tell each object once, with all its paths."""
    for one in loaded.objects:
        spawned = loaded.start_method in one.methods
        then = _why(one, loaded, job) if spawned else _why_elsewhere(one, loaded)
        at, *also = (one.defined.at(shown(path)) for path in one.paths)
        yield loader_unloadable.found(
            _message(one),
            severity=_severity(one, loaded),
            at=at,
            also=(*_raised(one), *also),
            why=f"{_reason(one)} {then}",
            fix=_fix(one, job),
            workaround=WITHOUT_WORKERS,
            evidence={
                "type": one.type,
                "error": one.error,
                "paths": len(one.paths),
                "loader": loaded.name,
                **({"missing": one.missing} if one.missing else {}),
                **{trip.method: trip.outcome for trip in loaded.trips},
            },
            about=loaded.name,
            line_text=one.defined.line_text,
        )


def _severity(one: Unloadable, loaded: Loaded) -> Severity:
    """Call it an error where this job's workers fail for sure; what is late may only be slow."""
    if loaded.start_method in SPAWNING and loaded.start_method not in one.methods:
        return Severity.NOTE
    fails = loaded.start_method in SPAWNING and one.is_sure
    return Severity.ERROR if fails else Severity.WARNING


def _message(one: Unloadable) -> str:
    in_time = "is not loaded by a worker in time" if one.how in _LATE else _CANNOT
    many = f", one of at least {one.alike:,} that are kept alike" if one.alike > 1 else ""
    return f"{in_time}: {one.text}{many}{_GUESSED if one.guess else ''}"


def _reason(one: Unloadable) -> str:
    """Say in a sentence of its own what the worker said, which may be the same for many."""
    if one.missing is not None:
        return f"A worker finds no {shown(one.missing)}."
    error = shown(one.error).removesuffix(".")
    if one.raised.file is not None:
        stands = ", and stands at" if one.how in _LATE else " in"
        error += f"{stands} {shown(one.raised.file)}:{one.raised.line}"
    return f"{error[:1].upper()}{error[1:]}."


def _raised(one: Unloadable) -> tuple[Location, ...]:
    """Give the line that raised, where it is another one."""
    place = (one.raised.file, one.raised.line)
    if one.raised.file is None or place == (one.defined.file, one.defined.line):
        return ()
    return (Location(file=one.raised.file, line=one.raised.line),)


def _why(one: Unloadable, loaded: Loaded, job: Job) -> str:
    begun = started(loaded.start_method, loaded.start_method_from, job)
    if one.how in _LATE:
        return (
            f"{begun}: each of the {counted(loaded.num_workers, 'worker')} of {shown(loaded.name)} "
            "loads it before its first batch; where that never ends, the first batch never comes, "
            "and nothing is said."
        )
    return (
        f"{begun}: none of the {counted(loaded.num_workers, 'worker')} of {shown(loaded.name)} "
        "comes through its start, and the first batch fails with `DataLoader worker exited "
        "unexpectedly`, which names nothing."
    )


def _why_elsewhere(one: Unloadable, loaded: Loaded) -> str:
    if loaded.start_method in SPAWNING:
        return (
            f"The workers of this job are started by {loaded.start_method}, which loads it; with "
            f"the other way, every worker of {shown(loaded.name)} dies while it starts."
        )
    where = "spawned (Windows, macOS, Linux from Python 3.14 on)"
    if one.how == "gone":  # only there does torch hand the memory of tensors over by a descriptor
        where = "not, on Linux (from Python 3.14 on)"
    return (
        f"Here workers are forked ({loaded.start_method_from}), which loads nothing. Where they "
        f"are {where}, every worker of {shown(loaded.name)} dies while it starts."
    )


def _fix(one: Unloadable, job: Job) -> str:
    """Say the one thing to do."""
    if one.missing is not None:
        return (
            "Keep it in a module that a worker can import: a file beside the script or an "
            "installed package, at its top level."
        )
    if one.how in _LATE:
        longer = f"--timeout {job.look.timeout * 5:g}"
        return f"Load it faster, or give it longer, if it is only slow:  {longer}"
    if one.how == "gone":
        return (
            "Keep what makes it, such as the seed of a generator or a numpy array, and make the "
            "tensor in the worker; or keep the tensor itself as an attribute."
        )
    if ".__self__" in one.paths[0]:
        return (
            "Send a function in place of the bound method, which drags all of its object along: "
            "at the top level of a module, with functools.partial for the values that it needs."
        )
    home, _, name = one.type.rpartition(".")
    if not home or home == "builtins":
        return "Send what it is made of, and make it in the worker, when an item is first read."
    return (
        f"Let it be made again from what is sent: give {shown(name)} a __reduce__ that returns "
        f"{shown(name)} and a tuple of what {shown(name)}(...) was called with; where that was "
        f"keywords, it returns functools.partial({shown(name)}, ...) with them, and an empty tuple."
    )
