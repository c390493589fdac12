"""Says what lies between the slices of ranks, or is of two of them, and what each has passed over.

By names, in the order of the list that one rank alone has. A job that is resumed passes over as
many samples on each rank, which make whole batches; a slice that is written wrongly does not.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from preflight.ranks.made.facts import OtherItems
from preflight.ranks.made.rank_differences import SURE, Told, one_of
from preflight.ranks.made.skipped import each_goes_on, goes_on


class Borders(NamedTuple):
    """What was found between the parts of ranks."""

    left: OtherItems | None = None
    """None: each has passed over the first of its part, as where a job is resumed."""


def borders_of(tellings: Mapping[int, Told], whole: Told, ranks: int, fewer: int) -> Borders | None:
    """Look at the parts of ranks; None: they are no parts of that list, or nobody knows.

    Args:
        tellings: what ranks tell of the loader.
        whole: what rank 0 of fewer ranks tells of it.
        ranks: how many there are in the job.
        fewer: how many there are for the whole.
    """
    told = [one for one in tellings.values() if not one.get("reason")]
    if fewer > 1:
        is_first = bool(told) and told[0] is tellings[0]
        return Borders() if is_first and each_goes_on(told[0], whole, ranks, fewer) else None
    borders = _borders(told, whole) if len(told) == ranks else None
    return Borders() if borders is None and goes_on(told, whole, ranks) else borders


def _borders(told: Sequence[Told], whole: Told) -> Borders | None:
    if any(one.get("by") not in SURE or not one["ended"] for one in (*told, whole)):
        return None
    order = _listed(whole)
    at = {key: place for place, key in enumerate(order)}
    parts = [[at.get(key, -1) for key in _listed(one)] for one in told]
    if len(at) < len(order) or not all(parts) or any(-1 in one for one in parts):
        return None
    lacking = sorted({*range(len(order))} - {*itertools.chain.from_iterable(parts)})
    size = whole["about"]["batch_size"] or 1
    if _are_passed_over(lacking, whole, len(told), size):
        return Borders()
    parts.sort()
    if any(part != [*range(part[0], part[-1] + 1)] for part in parts):
        return None
    gaps = {one[0] - other[-1] - 1 for other, one in itertools.pairwise(parts)}
    is_whole = parts[0][0] == 0 and len(order) - parts[-1][-1] - 1 < len(parts)
    if not is_whole or len(gaps) != 1:
        return None
    return _between(gaps.pop(), parts, order, whole, size)


def _listed(told: Mapping[str, Any]) -> list[int]:
    """Give what a rank has, in the order of its list."""
    return [*told.get("listed", told["keys"])]


def _are_passed_over(lacking: Sequence[int], whole: Told, ranks: int, size: int) -> bool:
    """Whether it is the begin of the list: of samples in turn, as many for each rank.

    Workers that take turns mix what lies within a batch of each.
    """
    if not lacking or len(lacking) % max(ranks - 1, 1):
        return False
    mixed = max(int(whole["workers"]), 1) * size if whole["is_stream"] else 0
    return lacking[-1] < len(lacking) + mixed and len(lacking) >= ranks


def _between(
    gap: int, parts: Sequence[Sequence[int]], order: Sequence[int], whole: Told, size: int
) -> Borders | None:
    """Say what is of none, or of two, where that is as much between any two of them."""
    counts = {len(one) for one in parts}
    if gap > 0:
        is_cut = whole["about"]["drop_last"] or (size > 1 and not any(one % size for one in counts))
        if abs(gap - len(parts) * min(counts)) <= len(parts):
            return None  # a part is divided once more
        if gap % size == 0 and gap > 1:
            return Borders()
        left = {*order} - {order[place] for one in parts for place in one}
        found = OtherItems("between", len(left), len(order), before=one_of(whole, left))
        return None if is_cut else Borders(left=found)
    if gap == 0 or len(counts) == 1 or -gap >= min(counts):
        return None
    twice = {order[place] for one in parts[1:] for place in one[:-gap]}
    return Borders(left=OtherItems("several", len(twice), len(order), before=one_of(whole, twice)))
