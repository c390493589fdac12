"""Batches on their way from workers that take more than /dev/shm holds, or more open files.

What it finds
    A batch goes from a worker to the training process through shared memory, and on Linux each
    tensor of it is an open file on its way. Real batches are measured: the largest of the first
    few, and those of an epoch as far as it was run, since those of long samples may come late. As
    many as the workers make ahead (`prefetch_factor` x `num_workers`), the one that the loop is at,
    and the one that it takes next while it still holds that, for all ranks of this node, are held
    against what is free in /dev/shm; its tensors against the open files that a process may have
    (`ulimit -n`). Found as well is a loader that stopped for want of either while it was drawn
    from.

Why it matters
    Containers have 64 MB of /dev/shm by default. As soon as the workers are faster than the GPU, a
    worker is killed (`Bus error`), or stops with `Too many open files` or `received 0 items of
    ancdata`; often the job only hangs. It may take hours until they are.

What to do
    Give the container more (`docker run --shm-size`), raise `ulimit -n`, or share by files
    (`torch.multiprocessing.set_sharing_strategy("file_system")`); or take fewer workers. Nothing is
    said of machines without /dev/shm, or with `--elsewhere`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from preflight.check import check
from preflight.facts import FirstBatches, OnTheWay
from preflight.finding import Finding, Scope, Severity
from preflight.job import Job
from preflight.sizes import format_size
from preflight.values.names import counted

# What else a process of the job has open: libraries, sockets of ranks, logs.
_BESIDE = 16

_GIB = 2**30
_USUAL_FILES = 65_536


class _Room(NamedTuple):
    """What is taken and what there is."""

    way: OnTheWay
    workers: int
    ranks: int

    @property
    def batches(self) -> int:
        """Batches of one rank that lie in shared memory at a time."""
        return self._of_epoch(self.way.at_a_time(self.workers))

    @property
    def open_batches(self) -> int:
        """Batches that the training process has open: made ahead, and the one in use."""
        return self._of_epoch(self.way.prefetch * self.workers + 1)

    def _of_epoch(self, ahead: int) -> int:
        return ahead if self.way.length is None else min(ahead, self.way.length)

    def fitting(self, each: int, room: int, fixed: int) -> int:
        """Give the largest number of workers with which it fits, beside as many batches."""
        return max((room // each - fixed) // self.way.prefetch, 0) if each else self.workers


def _skip(facts: FirstBatches, job: Job) -> str | None:
    if not facts.num_workers:
        return None  # nothing is on its way, and all is well
    if facts.on_the_way is None:
        where = "the job runs on another machine" if job.launch.elsewhere else "nobody looked"
        return f"nothing is known of the room for its batches: {where}"
    return None if facts.batches or facts.told_by == loader_shm.id else "no batch came of it"


@check(
    over=FirstBatches,
    title="batches that take more room than there is for them",
    many="loaders have more on their way than there is room for",
    severity=Severity.ERROR,
    scope=Scope.MACHINE,
    skip=_skip,
)
def loader_shm(facts: FirstBatches, job: Job) -> Iterator[Finding]:
    """Hold what is on its way from workers against what there is."""
    way = facts.on_the_way
    if way is None or not facts.num_workers:
        return
    nodes = max(job.launch.nodes, 1)
    room = _Room(way, facts.num_workers, -(-job.launch.ranks // nodes))
    found = [*_of_memory(facts, room), *_of_files(facts, room)]
    yield from found
    if not found and facts.told_by == loader_shm.id:
        yield _stopped(facts, way)


# --- /dev/shm -------------------------------------------------------------------------------------


def _of_memory(facts: FirstBatches, room: _Room) -> Iterator[Finding]:
    way, free = room.way, room.way.shm_free
    each = max(way.parcel.bytes, way.heaviest // room.batches)
    need = each * room.batches * room.ranks
    if free is None or not each or need <= free:
        return
    most = room.fitting(each * room.ranks, free, fixed=way.at_a_time(0))
    ranks = f" of {counted(room.ranks, 'rank')} each" if room.ranks > 1 else ""
    size = way.shm_size or free
    wanted = -(-(need + size - free) * 5 // (4 * _GIB))
    fewer = f"or take num_workers={most}" if most else "or take smaller batches"
    is_late = each > way.parcel.bytes
    late = f" (up to batch {way.heaviest_at:,})" if is_late else ""
    yield loader_shm.found(
        f"has {counted(room.batches, 'batch', 'batches')}{ranks} of {format_size(each)}{late} on "
        f"their way at a time, {format_size(need)} in all, and {format_size(free)} of the "
        f"{format_size(size)} of /dev/shm are free",
        at=facts.defined.at(facts.name),
        why="A worker is killed with `Bus error`, or waits for ever, as soon as the workers are "
        f"ahead of the GPU: {counted(room.workers, 'worker')} with prefetch_factor={way.prefetch}.",
        fix=f"Start the container with `docker run --shm-size {wanted}g`, {fewer}.",
        workaround=_lightest(room, each, free),
        evidence={
            "loader": facts.name,
            "batch_bytes": each,
            "batches": room.batches,
            "ranks": room.ranks,
            "needed": need,
            "shm_free": free,
            "largest_num_workers": most,
        },
        about=facts.name,
    )


def _lightest(room: _Room, each: int, free: int) -> str | None:
    """Say whether it would fit with one batch ahead."""
    one_ahead = room.way._replace(prefetch=1).at_a_time(room.workers)
    if room.way.prefetch > 1 and each * one_ahead * room.ranks <= free:
        return "prefetch_factor=1 fits today, with as many workers."
    return "num_workers=0 runs today: then no batch is on its way."


# --- open files -----------------------------------------------------------------------------------


def _of_files(facts: FirstBatches, room: _Room) -> Iterator[Finding]:
    """Hold the tensors of batches against the files that a process may have open.

    A worker holds those of the batches that it has made ahead, and of the one that it sends. The
    training process holds all that have come before the one that it waits for.
    """
    way, limit = room.way, room.way.open_files
    each = way.parcel.descriptors or (way.parcel.tensors if way.pinned else 0)
    if limit is None or not each:
        return
    free = max(limit - way.open_before - _BESIDE, 0)
    in_worker = each * min(way.prefetch + 1, room.open_batches)
    in_trainer = 0 if way.pinned else each * room.open_batches
    is_sure = in_worker > free
    need = in_worker if is_sure else in_trainer
    if need <= free:
        return
    who = "each worker" if is_sure else "the training process"
    held = "needs" if is_sure else "needs, where one worker is slower than the others,"
    most = room.fitting(each, free, fixed=1) if not is_sure else 0
    fewer = f"; or take num_workers={most}" if most else ""
    up = max(_USUAL_FILES, 1 << (need * 2).bit_length())
    yield loader_shm.found(
        f"has {counted(each, 'tensor')} in a batch, each an open file on its way: {who} {held} "
        f"{need:,} of them, and may have {limit:,} open",
        at=facts.defined.at(facts.name),
        severity=Severity.ERROR if is_sure else Severity.WARNING,
        why="The job stops with `Too many open files` or `received 0 items of ancdata`, or a "
        "worker loses the batch and training waits for ever.",
        fix=f"Say `ulimit -n {up}` before the job is started{fewer}.",
        workaround='torch.multiprocessing.set_sharing_strategy("file_system") at the begin of the '
        "job needs none of them; or have the collate function stack what can be stacked.",
        evidence={
            "loader": facts.name,
            "tensors": each,
            "needed": need,
            "open_files": limit,
            **({"largest_num_workers": most} if most else {}),
        },
        about=f"{facts.name} open files",
    )


# --- what has happened ----------------------------------------------------------------------------


def _stopped(facts: FirstBatches, way: OnTheWay) -> Finding:
    texts = [facts.error, *(one.error for one in facts.printed)]
    said = next((one for one in texts if _FILES.search(one)), "")
    free = "" if way.shm_free is None else f", {format_size(way.shm_free)} of which were free"
    what = f"shared memory{free}"
    fix = "Start the container with `docker run --shm-size 8g`, or take smaller batches."
    if said:
        limit = "" if way.open_files is None else f" ({way.open_files:,})"
        what = f"open files{limit}"
        fix = f"Say `ulimit -n {_USUAL_FILES}` before the job is started."
    came = counted(len(facts.batches), "batch", "batches")
    return loader_shm.found(
        f"stopped after {came} for want of {what}",
        at=facts.defined.at(facts.name),
        why="The job stops at the same place, and its message names neither the loader nor the "
        "limit.",
        fix=fix,
        workaround="num_workers=0 runs today: then no batch is on its way.",
        evidence={"loader": facts.name, "num_workers": facts.num_workers},
        about=facts.name,
    )


_FILES = re.compile("Too many open files|ancdata")
