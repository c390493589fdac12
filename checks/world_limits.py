"""How many ranks the items of a job do for.

What it finds
    Where the settings say how a cache, a data set or a loader is divided (`split`): the smallest
    world that breaks, since an item has no owner, or is written by several, or a rank or a worker
    has nothing to read; and how much each rank has on 1, 2, 4, 8, 16 … ranks, with the workers of
    the job where they divide, too. Each number of ranks up to 16 is tried, and those between two
    powers of two where the larger one breaks: to 64 ranks, or twice as many as the job has, as far
    as it goes in three seconds. Where nothing breaks so far, nothing is said.

Why it matters
    A job that ran on 8 GPUs stops on 64, since there are too few shards, or since a library gives
    what is left over to all ranks that are too many.

What to do
    Nothing, as long as no more ranks are planned; else pack more shards, or divide otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import World, WorldFacts
from preflight.finding import Finding, Row, Severity
from preflight.job import Job
from preflight.values.names import counted

from ._owners import doubled, idle, items, left, lost, place, size, split_of, spread, writes


@check(
    over=WorldFacts,
    title="more ranks than the items do for",
    many="caches, data sets or loaders do for no more than so many ranks",
    severity=Severity.NOTE,
)
def world_limits(facts: WorldFacts, _job: Job) -> Iterator[Finding]:
    """Name the smallest world that breaks, and what each rank has in others."""
    bad = [one for one in facts.first_bad if _why(one, facts)]
    first = min(bad, default=None)
    if first is None:
        return
    if first.ranks == 1:
        text = f"breaks on {size(first)} already: {_why(first, facts)}"
    else:
        good = size(first._replace(ranks=first.ranks - 1))
        text = f"works up to {good}; on {counted(first.ranks, 'rank')} {_why(first, facts)}"
    yield world_limits.found(
        f"{text}, by its {items(facts.items, facts)} and {split_of(facts)}",
        at=place(facts),
        rows=tuple(_row(one, facts) for one in facts.worlds),
        why="A job that runs here stops, or leaves something out, where it is started on more.",
        fix=f"Plan for no more, or {'divide once' if writes(facts) else 'pack more of them'}.",
        evidence={
            "items": facts.items,
            "tried": facts.tried,
            "breaks": first.ranks if first else 0,
        },
    )


def _row(world: World, facts: WorldFacts) -> Row:
    word = "rank has" if world.ranks == 1 else "ranks have"
    why = _why(world, facts)
    return Row(
        count=world.ranks,
        text=f"{word} {spread(world, facts)}{' each' if world.ranks > 1 else ''}"
        f"{': ' if why else ''}{why}",
    )


def _why(world: World, facts: WorldFacts) -> str:
    """Say what breaks; empty: nothing does."""
    said = []
    if lost(world, facts):
        said.append(f"{items(world.nobody, facts)} {_have(world.nobody)} no rank")
    elif left(world):
        said.append(f"{left(world)} of the samples have no rank")
    if doubled(world, facts):
        verb = "written" if writes(facts) else "read"
        be = "is" if world.several == 1 else "are"
        said.append(f"{items(world.several, facts)} {be} {verb} by several")
    if idle(world, facts):
        number, noun = (world.idle, "rank") if world.idle else (world.bare_workers, "worker")
        said.append(f"{counted(number, noun)} {_have(number)} nothing")
    return ", ".join(said)


def _have(number: int) -> str:
    return "has" if number == 1 else "have"
