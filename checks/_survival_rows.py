"""Lays out what a loader loses on the way as a table: how many, for what reason, at which line."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.facts import Loss, Survival
from preflight.finding import Location, Row
from preflight.pipelines.survival import whole_batches_of
from preflight.values.names import counted, first_of

_TOLD = 6

_MUCH = 0.1
"""Of all samples: where so many are in no batch, batches and workers do not go with the data."""


def rows_of(facts: Survival) -> Iterator[Row]:
    """Give a row for each reason, the commonest first, and one for each rank that gets nothing."""
    for one in facts.losses[:_TOLD]:
        example = first_of(one.keys or one.shards, 1, most=1)
        place = Location(file=one.at.file, line=one.at.line) if one.at.line else None
        yield Row(count=one.samples or None, text=_reason(one), example=example, at=place)
    left = facts.losses[_TOLD:]
    if left:
        text = f"for {counted(len(left), 'other reason')}"
        yield Row(count=sum(one.samples for one in left), text=text)
    more = facts.through - facts.known
    if more and (facts.losses or gives_none(facts) or much_left_out(facts)):
        yield Row(count=more, text=f"{_are(more)} taken out by {_choosers(facts)}")
    if much_left_out(facts):
        size, out = whole_batches_of(facts.reads), facts.left_out
        each = " of each worker" if facts.reads.num_workers > 1 else ""
        yield Row(
            count=out,
            text=f"{_are(out)} in no batch of {size:,}: the last one{each} is smaller, and left "
            "out",
        )
    for rank in facts.starved[:_TOLD]:
        yield Row(count=0, text=f"come through on rank {rank:,}: all of its shards are among these")
    batch = too_large_a_batch(facts)
    if batch:
        yield Row(count=facts.most_of_one, text=batch)


def written(row: Row) -> str:
    """Write a row as a part of a sentence."""
    at = f" ({row.at})" if row.at else ""
    return f"{'' if row.count is None else f'{row.count:,} '}{row.text}{at}"


def too_large_a_batch(facts: Survival) -> str:
    """Say so where the last batch is left out, and there is no other one, in any worker."""
    reads, size = facts.reads, whole_batches_of(facts.reads)
    if reads.endless or facts.unread or facts.uncounted or facts.most_of_one >= size:
        return ""
    each = "" if facts.most_of_one == facts.through else " in any one worker"
    return f"make no batch of {size:,}{each}, and a smaller one is left out"


def divided(facts: Survival) -> str:
    """Say how many come through on each rank, where shards are divided among them."""
    if len(facts.by_rank) < 2:
        return ""
    least, most = min(facts.by_rank), max(facts.by_rank)
    each = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    return f", {each} on each of {counted(len(facts.by_rank), 'rank')}"


def much_left_out(facts: Survival) -> int:
    """Give how many samples are in no batch, where that is more than the rest of a long epoch."""
    left = facts.left_out
    return left if facts.came_out and left >= _MUCH * facts.came_out else 0


def gives_none(facts: Survival) -> str:
    """Name the function of the job's that gives None for samples: webdataset leaves these out."""
    return next((one for one in facts.chosen if one.startswith(".map(")), "")


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _choosers(facts: Survival) -> str:
    return first_of(facts.chosen, len(facts.chosen), most=2) or "functions of its own"


def _reason(one: Loss) -> str:
    shards = first_of(one.shards, len(one.shards) + one.more_shards, most=2)
    have = "has" if one.samples == 1 else "have"
    if one.reason == "field":
        asks = " or ".join(f".{name}" for name in one.field)
        return f"{have} no {asks}, which {one.stage} asks for"
    if one.reason == "text":
        return f"{have} a .{one.field[0]} that is not UTF-8, which decode takes it for"
    if one.reason in ("image", "record"):
        return f"{have} a .{one.field[0]} that does not decode"
    if one.reason == "shard":
        return f"{shards} cannot be read, and nobody knows how many samples that is"
    if one.reason == "twice":
        return f"{shards} has one name twice in a sample, on which webdataset raises"
    stand = "stands" if one.samples == 1 else "stand"
    stand = stand if one.samples else "samples that nobody can count stand"
    return f"{stand} behind the damage of {shards}"
