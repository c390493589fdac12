"""Counts how many samples of a loader's shards come through it, and what takes the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from preflight.pipelines.arrived import Arrived
from preflight.pipelines.facts import Loss, Reads, Stage, Survival
from preflight.pipelines.fates import Fate, chooser, fate, how, up_to, written

_FIRST = 5
"""Shards, and keys, that are named."""


class Came(NamedTuple):
    """What one shard gives to a reader."""

    file: str
    samples: int
    """Samples that can be read whole."""

    lost: int | None
    """Samples behind a damage; None where nobody knows."""

    damaged: bool
    quiet: bool
    """Whether readers stop at the damage without raising."""

    twice: int
    """Names that stand a second time in a sample."""

    arrived: tuple[Arrived, ...]


class ReadBy(NamedTuple):
    """By how many processes a loader is read."""

    ranks: int = 1
    workers: int | None = None
    """By the settings, which count before the loader's own."""


_ALONE = ReadBy()


@dataclass(slots=True)
class _Lost:
    """What is lost for one reason, as far as shards have been counted."""

    samples: int = 0
    shards: dict[str, None] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)


def survival(reads: Reads, shards: Mapping[str, Came], launch: ReadBy = _ALONE) -> Survival:
    """Put what is known of each shard through the stages of the loader."""
    lost: dict[Fate, _Lost] = {}
    samples = through = unread = looked_at = 0
    unread_names: list[str] = []
    uncounted: dict[str, None] = {}
    fates: dict[Arrived, Fate] = {}
    of_each: list[int] = []
    for path in reads.shards:
        came = shards.get(path)
        if came is None:
            unread += 1
            unread_names += [path] if len(unread_names) < _FIRST else []
            continue
        looked_at += 1
        before = through
        arrived = sum(one.samples for one in came.arrived)
        behind = 0 if came.lost is None else max(0, came.samples + came.lost - arrived)
        samples += arrived + behind
        if came.damaged and came.lost is None:
            uncounted[came.file] = None
        for end, number, keys in _ends(came, behind, reads.stages, fates):
            if not end.reason:
                through += number
                continue
            one = lost.setdefault(end, _Lost())
            one.samples += number
            one.shards[came.file] = None
            one.keys += keys[: _FIRST - len(one.keys)]
        of_each.append(through - before)
    losses = [_loss(end, one, reads.stages) for end, one in lost.items()]
    return Survival(
        reads=replace(reads, shards=reads.shards[:_FIRST]),
        name=reads.name,
        file=reads.defined.file,
        samples=samples,
        through=through,
        losses=tuple(sorted(losses, key=lambda one: -one.samples)),
        looked_at=looked_at,
        **_divided(of_each if not unread else [], reads, launch, through),
        unread=unread,
        unread_names=tuple(unread_names),
        uncounted=tuple(uncounted),
        unsure=tuple(_unsure(reads)),
    )


def whole_batches_of(reads: Reads) -> int:
    """Give how many samples a batch has where a smaller one is left out; else 0."""
    sizes = [one.size for one in reads.stages if one.kind == "batched" and not one.partial]
    return max([*sizes, reads.batch_size or 0 if reads.drop_last else 0])


def together(before: Survival | None, one: Survival) -> Survival:
    """Add up what comes through the pipelines of one loader."""
    if before is None:
        return one
    return replace(
        before,
        samples=before.samples + one.samples,
        through=before.through + one.through,
        losses=before.losses + one.losses,
        looked_at=before.looked_at + one.looked_at,
        unread=before.unread + one.unread,
        uncounted=before.uncounted + one.uncounted,
    )


def _divided(of_each: list[int], reads: Reads, launch: ReadBy, through: int) -> dict[str, Any]:
    """Say what comes through on each rank, where shards are divided among them in their order."""
    ways = [one.name for one in reads.stages if one.kind == "split"]
    last = max((n for n, one in enumerate(reads.stages) if one.kind == "split"), default=0)
    mixed = any("shuffle" in one.name or one.kind == "other" for one in reads.stages[:last])
    if mixed or reads.endless == "resampled" or not (ways and of_each):
        return {"most_of_one": through}
    workers = max(1, reads.num_workers if launch.workers is None else launch.workers)
    by_rank, starved, most = [], [], 0
    for rank in range(launch.ranks if "split_by_node" in ways else 1):
        for worker in range(workers if "split_by_worker" in ways else 1):
            mine = of_each
            for way in ways:
                node = way == "split_by_node"
                mine = mine[rank :: launch.ranks] if node else mine[worker::workers]
            most = max(most, sum(mine))
        own = of_each[rank :: launch.ranks] if "split_by_node" in ways else of_each
        by_rank.append(sum(own))
        starved += [rank] if own and not sum(own) and through else []
    return {"by_rank": tuple(by_rank), "starved": tuple(starved), "most_of_one": most}


def _ends(
    came: Came, behind: int, stages: tuple[Stage, ...], fates: dict[Arrived, Fate]
) -> Iterator[tuple[Fate, int, tuple[str, ...]]]:
    """Give where the samples of a shard end, with their number and the keys of some."""
    reader = next((one for one in stages if one.kind == "expand"), None)
    for one in came.arrived:
        alike = one._replace(samples=0, keys=())
        end = fates.get(alike)
        if end is None:
            end = fates[alike] = fate(one, stages)
        if end.reason and not one.whole:
            end = Fate(None if came.quiet else reader, "behind")
        yield end, one.samples, one.keys
    if behind or came.damaged:
        reason = "behind" if came.lost is not None or came.arrived else "shard"
        if behind or not came.quiet:
            yield Fate(None if came.quiet else reader, reason), behind, ()
    if came.twice:
        group = next((one for one in stages if one.kind == "group"), None)
        if group is not None and group.handler in ("raises", "stops"):
            yield Fate(group, "twice"), 0, ()


def _loss(end: Fate, lost: _Lost, stages: tuple[Stage, ...]) -> Loss:
    stage = end.stage or Stage(kind="")
    return Loss(
        reason=end.reason,
        field=end.field,
        how=how(stage, stages),
        stage=written(stage),
        handler_name=stage.handler_name,
        at=stage.at,
        samples=lost.samples,
        shards=tuple(list(lost.shards)[:_FIRST]),
        keys=tuple(lost.keys),
        more_shards=max(0, len(lost.shards) - _FIRST),
        chosen=chooser(up_to(stage, stages)),
    )


def _unsure(reads: Reads) -> Iterator[str]:
    for one in reads.stages:
        if one.kind in ("filter", "mixed", "other"):
            name = one.handler_name if one.kind == "other" and one.handler_name else "a function"
            at = f", {one.at.file}:{one.at.line}" if one.at.line else ""
            yield f"{name}{at}"
