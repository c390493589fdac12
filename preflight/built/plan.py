"""Says by which ranks, and in which processes that differ, a loader is made."""

from __future__ import annotations

from typing import NamedTuple

from preflight.ranks.hash_seeds import is_fixed

_MOST_RANKS = 8
"""Ranks that are tried at most."""

CAUSES = ("hash", "random", "folder")
"""What may be otherwise in another process; the surest first."""


class Making(NamedTuple):
    """How a loader is made in one process."""

    rank: int
    items: bool = False
    cause: str = ""
    """What is otherwise than in the others: `hash`, `folder`, `random`; empty: nothing."""


def plan_of(ranks: int, *, batches: bool, order: bool) -> list[Making]:
    """Say which processes there are to be: what everybody waits for first."""
    last = ranks - 1
    causes = [one for one in CAUSES if order and not (one == "hash" and is_fixed())]
    spread = [last * one // (_MOST_RANKS - 2) for one in range(1, _MOST_RANKS - 2)]
    others = range(1, last) if ranks <= _MOST_RANKS else sorted({1, *spread})
    return [
        *(Making(0, items=True, cause=cause) for cause in causes),
        *(Making(rank, items=True) for rank in dict.fromkeys((0, last))),
        *(Making(rank) for rank in others if batches),
    ]
