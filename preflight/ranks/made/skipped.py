"""Tells whether each rank leaves out of its part what a job has had that goes on where it stopped.

One sample of each part is what a bound leaves out that is wrong by one: of a resume, it is several.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from preflight.ranks.made.rank_differences import Told


def each_goes_on(first: Told, whole: Told, ranks: int, fewer: int) -> bool:
    """Whether each rank seems to leave out as many of the first of its part, whatever that is.

    Args:
        first: what rank 0 tells of the loader.
        whole: what rank 0 of fewer ranks tells of it, which leaves out as many.
        ranks: how many there are in the job.
        fewer: how many there are for the whole.
    """
    own, there = [*first["keys"]], [*whole["keys"]]
    had, rest = divmod(fewer * len(there) - ranks * len(own), ranks - fewer)
    place = {key: number for number, key in enumerate(there)}
    places = [place.get(key, -1) for key in own]
    if first["is_stream"] or not own or rest or had < 2 or -1 in places:
        return False
    if places[0]:  # they take turns
        return places[0] == had * (ranks // fewer - 1)
    divided_again = len(there) * fewer**2 / ranks**2
    return places == [*range(len(own))] and len(own) > 2 * max(divided_again, 1)


class _Gaps(NamedTuple):
    """What all ranks leave of what one rank alone has, before the first sample of a part each."""

    lacking: set[int]
    each: float
    """How many more each rank leaves than one alone."""

    number: int
    """How many gaps there are."""


def goes_on(told: Sequence[Told], whole: Told, ranks: int) -> bool:
    """Whether each rank leaves out what it has had, of several samples."""
    if ranks < 2 or not all(one["ended"] and not one["is_stream"] for one in (*told, whole)):
        return False  # of a stream, shards that are lacking stand before others, too
    gaps = _gaps(told, whole) if len(told) == ranks else None
    if gaps is not None:
        is_twice = gaps.number > 1 and _is_twice(told, whole)
        return gaps.each == 0 or (gaps.each > 1 and not is_twice)
    ways = (_begins_behind, _says_so, _begins_late_in_blocks)
    return any(is_so(told, whole, ranks) for is_so in ways)


def _gaps(told: Sequence[Told], whole: Told) -> _Gaps | None:
    """Find them in the order in which one rank alone has all; None: there are none, or others."""
    owners: dict[int, int] = {}
    if len(told) < 2:
        return None
    for rank, one in enumerate(told):
        for key in one["keys"]:
            if owners.setdefault(key, rank) != rank:
                return None
    begun: set[int] = set()
    lacking: list[int] = []
    run: list[int] = []
    number = 0
    for key in whole["keys"]:
        owner = owners.get(key)
        if owner is None:
            run.append(key)
            continue
        if run and owner in begun:
            return None
        lacking += run
        number += bool(run)
        run = []
        begun.add(owner)
    if not lacking or len(run) >= len(told):
        return None
    gained = len(owners.keys() - {*whole["keys"]})
    return _Gaps(set(lacking), (len(lacking) - gained) / (len(told) - 1), number)


def _is_twice(told: Sequence[Told], whole: Told) -> bool:
    """Whether they have as many as there are where blocks are divided once more."""
    there = sum(len(one["keys"]) for one in told)
    return abs(there - len(whole["keys"]) / len(told)) <= len(told)


def _begins_behind(told: Sequence[Told], whole: Told, ranks: int) -> bool:
    """Whether the first samples of ranks follow on all that they leave, where some were made."""
    left = _left(told, whole, ranks)
    if left is None or left <= ranks - 1 or not all(one["keys"] for one in (*told, whole)):
        return False
    place = {key: number for number, key in enumerate(whole["keys"])}
    firsts = [place.get(one["keys"][0]) for one in (told[0], told[-1])]
    return firsts == [left, left + ranks - 1]


def _begins_late_in_blocks(told: Sequence[Told], whole: Told, ranks: int) -> bool:
    """Whether the first rank and the last have the rest of a block each, behind several samples.

    One rank alone leaves as many, so that its first sample is that of the first rank.
    """
    if len(told) == ranks:
        return False  # they were held against each other
    place = {key: number for number, key in enumerate(whole["keys"])}
    first, last = ([place.get(key, -1) for key in one["keys"]] for one in (told[0], told[-1]))
    if not all(one and one == [*range(one[0], one[0] + len(one))] for one in (first, last)):
        return False
    had = (len(place) - len(last)) / (ranks - 1) - len(first)
    return first[0] == 0 and last[-1] == len(place) - 1 and had > 1


def _says_so(told: Sequence[Told], whole: Told, ranks: int) -> bool:
    """Whether the data set has a number to skip, which is how many more each rank leaves."""
    left = _left(told, whole, ranks)
    return any(left == one * (ranks - 1) for one in whole.get("offsets") or ())


def _left(told: Sequence[Told], whole: Told, ranks: int) -> int | None:
    """Count what all ranks leave of what one alone has; None: nobody knows."""
    numbers = [one["samples"] for one in (*told, whole)]
    if None in numbers or (len(told) < ranks and len({*numbers[:-1]}) > 1):
        return None
    there = sum(numbers[:-1]) if len(told) == ranks else ranks * numbers[0]
    return int(numbers[-1] - there)
