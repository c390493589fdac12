"""A pipeline that swallows errors, and loses its samples with them.

What it finds
    What goes into a pipeline of webdataset against what comes out of it, counted while a loader is
    drawn from and run past its end: behind each of its stages, and in each exception handler; of
    pipelines that are made by then, too, in an `__iter__`, a generator, or a worker, and while the
    loader itself is made. In a script, where one of these may swallow an error, the first epoch is
    drawn to its end behind the batches that the script is given, for 3 s, or else a quarter of
    `--budget`; the page says where that was not enough.
    Found are samples that are dropped by a handler that goes on (`warn_and_continue`, or one of
    your own), a stream that a handler ends, shards that a reader leaves out, and errors that your
    own functions catch and go on behind: a stage, a `map` that gives None, a data set around the
    pipeline. Of a torch `IterableDataset` that is no pipeline, the samples that its `__iter__`, or
    the one generator method that does so, drops behind an `except Exception` (bare, or `OSError`)
    in a `for` loop: what is caught by another name is left out on purpose, and nothing is said of
    `while` loops, and of what is tried again or replaced.
    Of a data set that is asked for samples by index (`__getitem__`, `__getitems__`), those that it
    answers with another one: itself asked for the next index, or one by chance, a path or a record
    of another sample that is tried instead, the last sample that was sound, one thing for all of
    them, or None. What is done for the same sample (another format, a cache, a caption that may be
    missing), what mixes several on purpose, and a blank part of a sample are none of these. Other
    threads than a worker's own are not watched, and no more than 50,000 requests of each worker.
    What `select` takes out, what a buffer still holds, and the rest of a last batch are
    no losses. Nothing is said of less than a hundredth, nor where fewer than 200 samples were seen
    of an epoch that did not end. What the files show already is told by `dataset-survival`.

Why it matters
    Nobody is told: the job trains on what is left. Where nothing is left and shards are drawn
    again for ever, training stands at its first step and says nothing.

What to do
    Mend the line that is named, or the samples that it is given. A handler that goes on is meant
    for a few of many; let it count what it drops.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Flow, Lost
from preflight.finding import Finding, Location, Row, Severity
from preflight.flow.defer import untold
from preflight.job import Job
from preflight.values.names import counted, many_of, shown

_LITTLE = 0.5
"""Of all samples: where more are lost, the job trains on something else."""

_HARDLY_ANY = 0.01
"""Of all samples: what a handler that goes on is meant for."""

_ENOUGH = 200
"""Samples that say something of an epoch that was not run to its end."""

_TOLD = 6


def _unseen(facts: Flow, _: Job) -> str | None:
    if facts.losses and not untold(facts):
        return "dataset-survival tells what it loses"
    if not facts.batches and facts.ended in ("raised", "died"):
        return "its first batches did not come"
    if not _is_enough(facts):
        return f"too little was seen of it: {counted(facts.entered, 'sample')}"
    return None


@check(
    over=Flow,
    title="samples that are lost with errors that are swallowed",
    many="loaders swallow errors, and lose samples with them",
    severity=Severity.ERROR,
    skip=_unseen,
)
def loader_starved(facts: Flow, _: Job) -> Iterator[Finding]:
    """Tell what is lost as one table: how many, by what, and at which line."""
    losses = untold(facts)
    share = facts.share(losses)
    stops = any(not one.by.goes_on for one in losses)
    if not losses or not _is_enough(facts) or (share < _HARDLY_ANY and not stops):
        return
    first = losses[0]
    place = _at(first)
    yield loader_starved.found(
        _message(facts, first),
        at=Location(file=place.file, line=place.line, name=facts.name)
        if place is not None
        else facts.defined.at(facts.name),
        also=_also(first, place),
        rows=tuple(_rows(losses)) if len(losses) > 1 else (),
        severity=Severity.ERROR if stops or share > _LITTLE else Severity.WARNING,
        why=_why(facts, share, stops=stops) + _waits(losses),
        fix=_fix(first),
        evidence={
            "loader": facts.name,
            "entered": facts.entered,
            "came_out": facts.came_out,
            **{f"lost_{number}": _written(one) for number, one in enumerate(losses[:_TOLD], 1)},
        },
        about=facts.name,
    )


def _is_enough(facts: Flow) -> bool:
    """Whether an epoch ended, or as much was seen of it as tells something."""
    if not facts.batches and facts.ended != "over":
        return facts.ended == "stuck"
    return facts.ended == "over" or facts.entered >= _ENOUGH


def _message(facts: Flow, first: Lost) -> str:
    seen = "" if facts.ended == "over" else " that were seen"
    if first.unit == "shard":
        of = counted(facts.shards, "shard")
        return f"{first.number:,} of {of}{seen} {_are(first)} left out {_by(first)}"
    out, of = facts.came_out, counted(facts.entered, "sample")
    verb = "comes" if out == 1 else "come"
    come = f"{out:,} of {of}{seen} {verb} out"
    if not first.by.goes_on:
        return f"{come}, and then its stream ends: {_by(first, ends=True)}"
    return f"{come}; {_fate(first)} {_by(first)}"


def _fate(one: Lost) -> str:
    """Say what becomes of these samples."""
    number = f"{one.number:,}"
    fate = {"another": "answered with another one", "same": "all answered with the same thing"}
    return f"{number} {_are(one)} {fate.get(one.by.instead, 'dropped')}"


def _are(one: Lost) -> str:
    return "is" if one.number == 1 else "are"


def _by(one: Lost, *, ends: bool = False) -> str:
    """Say what swallows an error, where, and which."""
    if not one.by.error:
        return f"by {shown(one.by.caught)}, which asks for that without an error"
    error = shown(one.by.error)
    such = " (the first)" if one.by.varies else ""
    if one.by.by == "own":
        what = shown(one.by.caught)
        place = "" if what in one.stage.call.split(".") else f" at {shown(one.stage.call)}"
        return f"by an except clause of {what}{place}: {error}{such}"
    name = one.stage.handler_name or "a handler"
    verb = "ends it" if ends else ""
    who = f"{name} {verb}" if ends else f"by {name}"
    return f"{who.rstrip()} at {shown(one.stage.call)}: {error}{such}"


def _written(one: Lost) -> str:
    return f"{counted(one.number, one.unit)} {_by(one)}"


def _rows(losses: tuple[Lost, ...]) -> Iterator[Row]:
    for one in losses[:_TOLD]:
        yield Row(count=one.number, text=f"{_units(one)}: {_by(one)}", at=_at(one))
    left = losses[_TOLD:]
    if left:
        count = sum(one.number for one in left)
        yield Row(count=count, text=f"for {counted(len(left), 'other reason')}")


def _units(one: Lost) -> str:
    return one.unit if one.number == 1 else many_of(one.unit)


def _at(one: Lost) -> Location | None:
    """Give the user's line that raised, or else that of the stage."""
    if one.by.file:
        return Location(file=one.by.file, line=one.by.line)
    at = one.stage.at
    return Location(file=at.file, line=at.line) if at.file and at.line else None


def _also(one: Lost, place: Location | None) -> tuple[Location, ...]:
    at = one.stage.at
    made = Location(file=at.file, line=at.line) if at.file and at.line else None
    return () if made is None or place is None or made == place else (made,)


def _why(facts: Flow, share: float, *, stops: bool) -> str:
    if not facts.came_out and facts.resampled:
        return (
            "Nobody is told, and shards are drawn again for ever: training stands at step 0, and "
            "says nothing."
        )
    if not facts.came_out:
        return "Nobody is told, and the loader gives no batch: no step is made."
    if stops:
        return "The rest of what that worker reads is left out, and nobody is told."
    again = ", and on some of that more often" if _is_replaced(facts) else ""
    return f"Nobody is told, and the job trains on {1 - share:.1%} of what was meant{again}."


def _is_replaced(facts: Flow) -> bool:
    return any(one.by.instead == "another" for one in untold(facts))


def _waits(losses: tuple[Lost, ...]) -> str:
    """Say how long webdataset's own handlers wait for their warnings to be read."""
    slow = [one for one in losses if one.stage.handler_name.startswith("warn_and_")]
    number = sum(one.by.times for one in slow if one.by.by == "handler")
    if not number:
        return ""
    name = slow[0].stage.handler_name
    return f" {name} waits 0.5 s for each, {number / 2:,.0f} s for these."


def _fix(first: Lost) -> str:
    if first.unit == "shard":
        return "Put these shards where the list has them, or copy them again."
    return "Mend this line, or the samples that it is given; have what drops them count them."
