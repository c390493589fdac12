"""Says by which ranks, and in which processes that differ, a loader is made."""

from __future__ import annotations

from typing import NamedTuple

from preflight.ranks.hash_seeds import is_fixed

MOST_RANKS = 8
"""Ranks that are tried at most."""

CAUSES = ("hash", "random", "folder")
"""What may be otherwise in another process; the surest first."""


class Making(NamedTuple):
    """How a loader is made in one process."""

    rank: int
    compared: bool = False
    """Whether its items are held against those of others, for which some samples are drawn."""

    cause: str = ""
    """What is otherwise than in the others: `hash`, `folder`, `random`; `world`, which is of fewer
    ranks, or `beyond`, of one more, or `before` and `further`, for those before the first; empty:
    nothing."""


WHOLE = Making(0, cause="world")
"""How it is known what all ranks together are to have."""


FURTHER = Making(-2, cause="further")
"""How it is known that a rank before the first has what a job has had that goes on."""

OTHERWISE = Making(0, compared=True, cause="random")
"""How it is known that ranks draw alike, whatever random numbers begin with."""


def all_together(ranks: int) -> list[Making]:
    """Say how it is known that ranks have all there is, and leave nothing to ranks that are not."""
    return [WHOLE, Making(ranks, cause="beyond"), Making(-1, cause="before")]


def plan_of(ranks: int, *, batches: bool, order: bool) -> list[Making]:
    """Say which processes there are to be: what everybody waits for first."""
    last = ranks - 1
    causes = [one for one in CAUSES if order and not (one == "hash" and is_fixed())]
    spread = [last * one // (MOST_RANKS - 2) for one in range(1, MOST_RANKS - 2)]
    others = range(1, last) if ranks <= MOST_RANKS else sorted({1, *spread})
    return [
        *(Making(0, compared=True, cause=cause) for cause in causes),
        *(Making(rank, compared=True) for rank in dict.fromkeys((0, last))),
        *(Making(rank) for rank in others if batches),
    ]


def world_of(cause: str, ranks: int, nodes: int) -> tuple[int, int]:
    """Say how many ranks and nodes there are in such a process.

    For the whole these are so few that no rank has more than those of a machine have together, for
    which it has the memory.
    """
    if cause != WHOLE.cause:
        return ranks + (cause == "beyond"), nodes
    fewer = max(ranks // MOST_RANKS, 1)
    return fewer, max(nodes * fewer // ranks, 1)
