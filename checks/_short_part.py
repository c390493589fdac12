"""A batch of which one part has fewer rows than the others, as no other batch has.

Not what has rows of its own: boxes and their classes, weights of classes, lists of samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from preflight.facts import FirstBatches, Structure
from preflight.finding import Finding, Severity
from preflight.values.names import shown

from ._batch_changes import is_samples

# Batches whose parts are all as long: fewer may be so by chance.
_FEWEST = 2

# Numbers of a box, at most: of boxes, and of points, there may be fewer than pictures.
_BOX = 7


class Short(NamedTuple):
    """A part that has fewer rows than all others of its batch."""

    batch: int
    part: str
    rows: int
    others: int


def of_short_part(
    found: Callable[..., Finding], facts: FirstBatches, batches: Sequence[tuple[int, Structure]]
) -> Iterator[Finding]:
    """Tell a part that lacks what the others of its batch have."""
    last = len(facts.batches) if facts.ended == "over" else facts.past_end
    one = short_part(batches, last)
    if one is None:
        return
    yield found(
        f"gives a batch {one.batch} that has {one.rows:,} at {shown(one.part)}, and {one.others:,} "
        "of each other part",
        at=facts.defined.at(facts.name),
        severity=Severity.WARNING,
        why="In other batches all parts are as long. A loss that takes both stops there, or holds "
        "samples against what belongs to others.",
        fix="Have the collate function leave out a sample with all of its parts, or none of them.",
        evidence={
            "loader": facts.name,
            "batch": one.batch,
            "part": one.part,
            "rows": one.rows,
            "others": one.others,
        },
        about=f"{facts.name} {one.part} short",
    )


def short_part(batches: Sequence[tuple[int, Structure]], last: int | None) -> Short | None:
    """Give the first one.

    Args:
        batches: each with its number.
        last: the number of the last one of an epoch; None: nobody knows.
    """
    held = [(number, _parts(one)) for number, one in batches]
    even = [parts for _, parts in held if len({*_rows(parts)}) == 1 and len(parts) > 1]
    if len(even) < _FEWEST or any(parts.keys() != even[0].keys() for parts in even):
        return None
    most = max(_rows(parts)[0] for parts in even)
    for number, parts in held:
        rows = _rows(parts)
        if max(rows, default=0) > most:
            continue  # boxes of all pictures, which were as many as these by chance
        if parts.keys() != even[0].keys() or len({*rows}) != 2 or rows.count(min(rows)) != 1:
            continue
        name = min(parts, key=lambda one: _rows_of(parts[one]) or 0)
        others = [one for key, one in parts.items() if key != name]
        is_last = number == last
        if is_last and max(rows) >= _rows(even[0])[0]:
            continue  # it may be the data that ends, and not what has a number for each class
        if _is_one_each(parts[name], is_last=is_last) and any(map(_is_data, others)):
            return Short(number, name, min(rows), max(rows))
    return None


def _parts(batch: Structure) -> dict[str, Structure]:
    if batch.kind == "dict":
        named = zip((f"[{key!r}]" for key in batch.keys), batch.parts, strict=False)
    elif batch.kind in ("tuple", "list") and not is_samples(batch):
        named = zip((f"[{at}]" for at in range(len(batch.parts))), batch.parts, strict=False)
    else:
        return {}
    return {name: one for name, one in named if _rows_of(one) is not None}


def _rows(parts: dict[str, Structure]) -> list[int]:
    return [_rows_of(one) or 0 for one in parts.values()]


def _rows_of(part: Structure) -> int | None:
    if part.kind in ("tensor", "array"):
        return part.shape[0] if part.shape else None
    return part.length if part.kind in ("tuple", "list") else None


def _is_one_each(part: Structure, *, is_last: bool) -> bool:
    """Whether it has something for each sample: a label, a text, a row that is no box."""
    if not part.shape or len(part.shape) == 1:
        return True
    return not is_last and (len(part.shape) > 2 or part.shape[1] > _BOX)


def _is_data(part: Structure) -> bool:
    """Whether it is what samples are, and not a number for each of some classes."""
    return not part.shape or len(part.shape) > 1
