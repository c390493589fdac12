"""Puts a process in the place of one rank, under conditions that differ from rank to rank."""

from __future__ import annotations

import contextlib
import functools
import glob
import os
import pathlib
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from preflight.users_code.importing import join_world
from preflight.values.own_files import passes_on

# Of other launchers, where they are set: a rank, one of its node, a node.
_RANKS = ("SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK")
_LOCAL = ("SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID")
_NODES = ("SLURM_NODEID", "OMPI_COMM_WORLD_NODE_RANK")
_SIZES = ("SLURM_NTASKS", "SLURM_NPROCS", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")

_TALKING = (
    *("broadcast", "broadcast_object_list", "all_reduce", "reduce", "all_gather", "gather"),
    *("all_gather_object", "all_gather_into_tensor", "gather_object", "scatter", "send", "recv"),
    *("scatter_object_list", "reduce_scatter", "reduce_scatter_tensor", "all_to_all"),
    *("all_to_all_single", "isend", "irecv", "send_object_list", "recv_object_list"),
)
"""What asks other ranks for something: alone, nobody knows what they would say."""

_LOADERS = "torch.utils.data.dataloader"
"""What has ranks agree on the seed of a data pipe: here they have one anyway."""

WAITING = ("barrier", "monitored_barrier")
"""What waits for what other ranks do meanwhile."""


def stand_for(rank: int, ranks: int, nodes: int) -> list[str]:
    """Become a rank: its launcher's variables, and a group that talks to nobody.

    Gives a list that grows by the name of whatever asks the other ranks for something, or waits.
    """
    each = max(ranks // max(nodes, 1), 1)
    place, node = (rank % each, rank // each) if rank >= 0 else (rank, 0)
    told = {
        **dict.fromkeys(("RANK", "ROLE_RANK"), rank),
        **dict.fromkeys(("WORLD_SIZE", "ROLE_WORLD_SIZE"), ranks),
        **dict.fromkeys(("GROUP_RANK", "NODE_RANK"), node),
        "LOCAL_RANK": place,
        "LOCAL_WORLD_SIZE": each,
        **{name: rank for name in _RANKS if name in os.environ},
        **{name: place for name in _LOCAL if name in os.environ},
        **{name: node for name in _NODES if name in os.environ},
        **{name: ranks for name in _SIZES if name in os.environ},
    }
    os.environ.update({name: str(value) for name, value in told.items()})
    join_world(ranks, nodes, max(rank, 0))
    if rank < 0:
        _be_before_the_first(rank)
    return _listen()


def _be_before_the_first(rank: int) -> None:
    """Have a group tell a rank of which it knows nothing."""
    import torch.distributed as dist

    @functools.wraps(dist.get_rank)
    def get_rank(_group: object = None) -> int:
        return rank

    for module in (dist, dist.distributed_c10d) if dist.is_available() else ():
        vars(module)["get_rank"] = get_rank


def _listen() -> list[str]:
    import torch.distributed as dist

    said: list[str] = []

    def heard(name: str, ask: Callable[..., Any]) -> Callable[..., Any]:
        @passes_on
        @functools.wraps(ask)
        def asking(*given: Any, **named: Any) -> Any:
            if sys._getframe(1).f_globals.get("__name__") != _LOADERS:  # noqa: SLF001  whoever asks
                said.append(name)
            return ask(*given, **named)

        return asking

    for name in (*_TALKING, *WAITING) if dist.is_available() else ():
        ask = getattr(dist, name, None)
        if ask is not None:
            asking = heard(name, ask)
            setattr(dist, name, asking)
            setattr(dist.distributed_c10d, name, asking)
    return said


class _Entries(contextlib.AbstractContextManager[Iterator[Any]]):
    """The entries of a folder in another order, as `os.scandir` gives them."""

    def __init__(self, entries: Any) -> None:
        with entries:
            self._left = iter(_reordered([*entries], lambda one: one.name))

    def __iter__(self) -> Iterator[Any]:
        return self._left

    @passes_on
    def __next__(self) -> Any:
        return next(self._left)

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give no more."""
        self._left = iter(())


def _reordered(entries: list[Any], name: Callable[[Any], Any]) -> list[Any]:
    """Give them in an order that has nothing to do with the one they had, nor with their names."""
    other = sorted(entries, key=lambda one: zlib.crc32(os.fsencode(name(one))))
    return other if other != entries else other[::-1]


def list_otherwise() -> None:
    """Have folders list their entries in another order, as on another machine."""
    scan, names = os.scandir, os.listdir

    @passes_on
    @functools.wraps(scan)
    def scandir(*given: Any, **named: Any) -> Any:
        return _Entries(scan(*given, **named))

    @passes_on
    @functools.wraps(names)
    def listdir(*given: Any, **named: Any) -> Any:
        return _reordered(names(*given, **named), lambda one: one)

    os.scandir, os.listdir = scandir, listdir
    for module in (pathlib, glob):
        for kind in [one for one in vars(module).values() if isinstance(one, type)]:
            for name, held in list(vars(kind).items()):  # those that keep what `os` had before
                for before, after in ((scan, scandir), (names, listdir)):
                    if getattr(held, "__func__", held) is before:
                        setattr(kind, name, staticmethod(after))
