"""Hands what this rank has seen to rank 0, or gathers it, by the store of the job."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from preflight.kinds.asked import Asked, CannotLookError, MistypedError
from preflight.kinds.at_work import shown_at_work
from preflight.launched.facts import RankSeen, RanksSeen
from preflight.launched.rendezvous import Meeting
from preflight.values.small_files import read_small
from preflight.values.wire import from_wire

# How much longer than one step of a script may be silent others are waited for.
_LONGER = 2.0


def look(asked: Asked) -> Iterator[RanksSeen]:
    """Gather, on rank 0; on the others hand over, and wait until it was taken.

    Raises:
        CannotLookError: torch cannot be imported, or has no store.
    """
    wire = asked.wire
    if "recording" in wire:
        yield from _recorded(wire, asked.root)
        return
    try:
        with asked.step("import torch"), shown_at_work(asked.alive):
            import torch.distributed
    except ImportError as error:
        raise CannotLookError(f"ranks meet by a store of torch, and {error}") from error
    if not torch.distributed.is_available():
        raise CannotLookError("ranks meet by a store of torch, and this torch is built without")
    patience = asked.options["timeout"] * _LONGER
    rank, size = wire["number"], wire["size"]
    with asked.step("meet the other ranks"):
        meeting = Meeting(
            wire["host"], wire["port"], hosts=not (rank or wire["hosted"]), alive=asked.alive
        )
        told = json.dumps(wire["seen"]).encode()
        if rank:
            every, silent = {}, tuple(range(not meeting.hand_over(rank, told, patience)))
        else:
            every = meeting.gather(range(1, size), patience)
            silent = tuple(one for one in range(1, size) if one not in every)
    others = {number: json.loads(every[number]) for number in sorted(every)}
    yield _seen(wire, others, silent, round(meeting.waited, 1))


def _seen(
    wire: Mapping[str, Any], others: Mapping[int, Any], silent: tuple[int, ...], waited: float
) -> RanksSeen:
    rank, size = wire["number"], wire["size"]
    plain = () if rank else (wire["seen"], *others.values())
    return RanksSeen(
        name=f"rank {rank} of {size}",
        rank=rank,
        size=size,
        every=tuple(from_wire(RankSeen, one) for one in plain),
        silent=silent,
        waited=waited,
    )


def _recorded(wire: Mapping[str, Any], root: str) -> Iterator[RanksSeen]:
    """Give the other ranks that a recorded machine has beside its answers, if it has any.

    Raises:
        MistypedError: they are written as nothing that ranks tell.
    """
    ranks = json.loads(read_small(os.path.join(root, wire["recording"]))).get("ranks")
    try:
        others = {
            int(number): {"rank": int(number), **one} for number, one in (ranks or {}).items()
        }
        seen = _seen({**wire, "size": 1 + len(others)}, others, (), 0.0)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise MistypedError(f"`ranks` of {wire['recording']}: {error}") from error
    if others:
        yield seen
