"""Counts what ranks have, and says whether it is known item by item."""

from __future__ import annotations

from collections.abc import Sequence

from preflight.ranks.made.rank_differences import SURE, Told, is_resampled
from preflight.ranks.made.stream_items import MOST_ITEMS


def count(told: Told) -> int:
    """Count samples that are read; where nobody knows them, batches."""
    number = told.get("read", told["samples"])
    return int(told["batches"] if number is None else number)


def streams(told: Told) -> int:
    """Count the workers whose batches come in turn."""
    return max(int(told["workers"]), 1) if told["is_stream"] else 1


def are_parts(told: Sequence[Told]) -> bool:
    """Whether each rank takes a part as a whole, and does not draw from all there is."""
    return all(
        one["is_stream"]
        or one.get("replicas") == len(told)
        or len({*one["keys"]}) == one.get("length")
        for one in told
    )


def is_known(told: Sequence[Told], cause: str = "") -> bool:
    """Whether each has told all its items, so that they can be held against those of others.

    By whatever else tells them apart only where ranks are the same, and random numbers no matter.
    """
    by, lengths = {one["by"] for one in told}, {one.get("length") for one in told}
    is_sure = by <= {*SURE} or (cause == "same" and len(by) == 1 and by != {"place"})
    are_places = by == {"place"} and len(lengths) == 1
    return (is_sure or are_places) and not any(_is_not_told(one) for one in told)


def union(told: Sequence[Told]) -> frozenset[int]:
    """Give what they have together."""
    return frozenset[int]().union(*(one["keys"] for one in told))


def _is_not_told(told: Told) -> bool:
    """Whether a rank has drawn some items several times, or has more than are told."""
    return is_resampled(told) or len(told["keys"]) >= MOST_ITEMS
