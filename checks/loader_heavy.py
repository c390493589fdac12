"""A loader that sends very much to each of its workers, or whose workers take too much memory.

What it finds
    What pickle writes for one worker (the data set, the collate function and all that they hold),
    with the parts that make it heavy, each by its path in the loader; and the memory that all
    workers of all ranks on one node take, beside what there is. Tensors are counted once for each
    rank: torch moves them to memory that its workers share. A `numpy.memmap` is counted whole,
    because it is pickled whole: the worker gets a copy in its memory, not the map.

Why it matters
    A worker that is spawned gets a copy of its own of all that is sent to it. The copies are made
    one after the other, before the first batch, and again in each epoch unless the loader has
    `persistent_workers=True`. Where memory runs out, the system kills processes: often a worker,
    hours into the run, when other memory has grown. Workers that are forked share it, until they
    write to it.

What to do
    Keep the path of the data, and open it in the worker when an item is first read:
    `numpy.load(path, mmap_mode="r")`, `torch.load(path, mmap=True)`, a database. Or keep the data
    in a tensor, which the workers share. Give the loader functions of a module: a bound method
    drags along all that its object holds. Or use fewer workers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from preflight.check import check
from preflight.facts import Loaded, Part, Trip, Weight
from preflight.finding import Finding, Location, Severity
from preflight.host.start_method import SPAWNING
from preflight.job import Job
from preflight.sizes import format_size
from preflight.values.names import counted, shown

from ._objects import started

NOTED = 256 << 20
"""Bytes for a worker from which on it is worth knowing."""

HEAVY = 1 << 30

_KEEP = (
    'Keep {}, and read {} in the worker, when it is asked for (numpy.load(path, mmap_mode="r"), a '
    "database)."
)

_NAMED = 3
_FILLS_A_PIPE = 1 << 20  # bytes; where there is less, workers start side by side

_LIMITS = {"cgroup": "the control group allows", "commit limit": "Windows commits at most"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Need:
    """The memory that the workers of one node take."""

    workers: int
    """Of one rank."""

    ranks: int
    worker: int
    """Bytes that one worker takes."""

    shared: int
    """Bytes that the workers of one rank share."""

    @property
    def bytes(self) -> int:
        return self.ranks * (self.workers * self.worker + self.shared)

    def fitting(self, limit: int) -> int:
        """Give the workers of one rank that there is room for."""
        return max(0, (limit // self.ranks - self.shared) // max(1, self.worker))


@check(
    over=Loaded,
    title="loader that sends much to each of its workers",
    many="loaders send much to each of their workers",
    severity=Severity.ERROR,
)
def loader_heavy(loaded: Loaded, job: Job) -> Iterator[Finding]:
    """Compare what the workers are sent, and what they take, with the memory that there is."""
    weight = loaded.weight
    if weight is None or not loaded.num_workers:
        return  # Nothing is sent.
    if loaded.start_method not in SPAWNING:
        if weight.bytes >= HEAVY:
            yield _where_spawned(loaded, weight)
        return
    trip = next((one for one in loaded.trips if one.method == loaded.start_method), None)
    need = _Need(
        workers=loaded.num_workers,
        ranks=_local_ranks(job),
        # What a worker takes was measured with all that it is sent.
        worker=max((trip.memory if trip else None) or 0, weight.bytes),
        shared=weight.shared_bytes,
    )
    severity, room = _severity(loaded, job, need)
    if severity is None:
        return
    sent = _sent(weight, f"sends {{}} to each of its {counted(need.workers, 'worker')} by pickle")
    parts = [sent] if weight.bytes >= NOTED else []
    parts += [_too_much(loaded, need, room)] if room is not None else []
    yield loader_heavy.found(
        "; ".join(parts),
        severity=severity,
        at=_place(loaded),
        why=_why(loaded, job, trip, weight, killed=room is not None),
        fix=_fix(weight),
        workaround=_fewer(need, room),
        evidence=_evidence(loaded, weight, need),
        about=loaded.name,
        line_text=loaded.defined.line_text,
    )


def _local_ranks(job: Job) -> int:
    """Give the ranks of one node, of the fullest one where they do not divide evenly."""
    launch = job.launch
    if launch.world_size:
        return math.ceil(launch.world_size / max(1, launch.nodes))
    return launch.gpus or 1


def _severity(loaded: Loaded, job: Job, need: _Need) -> tuple[Severity | None, int | None]:
    """Say how bad it is, and what memory it does not fit into."""
    limit, available = loaded.memory_limit, loaded.memory_available
    if limit is not None and need.bytes > limit:
        return (Severity.WARNING if job.launch.elsewhere else Severity.ERROR), limit
    if available is not None and need.bytes > available and not job.launch.elsewhere:
        return Severity.WARNING, available
    weight = loaded.weight.bytes if loaded.weight else 0
    if weight >= HEAVY:
        return Severity.WARNING, None
    return (Severity.NOTE if weight >= NOTED else None), None


def _where_spawned(loaded: Loaded, weight: Weight) -> Finding:
    """Note what forking hides."""
    workers = counted(loaded.num_workers, "worker")
    return loader_heavy.found(
        _sent(weight, f"would send {{}} to each of its {workers} where they are spawned"),
        severity=Severity.NOTE,
        at=_place(loaded),
        why=f"Here workers are forked ({shown(loaded.start_method_from)}), and share it with the "
        "training process. Where they are spawned (Windows, macOS, Linux from Python 3.14 on), "
        "each gets a copy of its own.",
        fix=_fix(weight),
        evidence={"bytes": weight.bytes, "workers": loaded.num_workers, "loader": loaded.name},
        about=loaded.name,
        line_text=loaded.defined.line_text,
    )


# --- in words -------------------------------------------------------------------------------------


def _place(loaded: Loaded) -> Location:
    return loaded.defined.at(shown(loaded.name))


def _sent(weight: Weight, text: str) -> str:
    """Say how much is sent, and what the most of it is."""
    parts = [_part(part, number) for number, part in enumerate(weight.parts[:_NAMED])]
    return text.format(format_size(weight.bytes)) + (": " + ", ".join(parts) if parts else "")


def _part(part: Part, number: int) -> str:
    size = format_size(part.bytes)
    text = f"`{shown(part.path)}` " + (size if number else f"is {size} of it")
    remarks = ["a numpy.memmap is pickled whole"] if part.mapped else []
    if part.dragged_by:
        remarks.append(f"the bound method {shown(part.dragged_by)} drags its self along")
    return text + (f" ({'; '.join(remarks)})" if remarks else "")


def _too_much(loaded: Loaded, need: _Need, room: int) -> str:
    """Say what the workers take, and what there is."""
    each = f" ({need.workers} for each of {need.ranks} ranks)" if need.ranks > 1 else ""
    shared = f", with {format_size(need.shared)} of tensors a rank" if need.shared else ""
    needed, there = format_size(need.bytes), format_size(room)
    if needed == there:
        needed, there = f"{need.bytes:,} bytes", f"{room:,} bytes"
    if room == loaded.memory_limit:
        rest = f"{_LIMITS.get(loaded.memory_limited_by or '', 'this machine has')} {there}"
    else:
        rest = f"{there} is free now"
    workers = counted(need.workers * need.ranks, "worker")
    return f"{workers}{each} take {needed} of memory{shared}, and {rest}"


def _why(loaded: Loaded, job: Job, trip: Trip | None, weight: Weight, *, killed: bool) -> str:
    begun = started(loaded.start_method, loaded.start_method_from, job)
    text = f"{begun}: each gets a copy of its own."
    text += _wait(loaded, trip, weight)
    if killed:
        text += " Where memory runs out, processes are killed: often a worker, hours into the run."
    return text


def _wait(loaded: Loaded, trip: Trip | None, weight: Weight) -> str:
    """Say what the start of the workers takes."""
    if trip is None or trip.seconds_to_start is None or trip.seconds_to_load is None:
        return ""
    each = trip.seconds_to_start + trip.seconds_to_load
    text = f" Here one took {each:.1f} s to start and to load it"
    if weight.bytes < _FILLS_A_PIPE or loaded.num_workers == 1:
        return text + "."
    return (
        f"{text}, and they start one after the other: {each * loaded.num_workers:.0f} s or more "
        "before the first batch, and again in each epoch unless persistent_workers=True."
    )


def _fix(weight: Weight) -> str:
    """Say the one thing to do about the heaviest part."""
    if weight.bytes < NOTED:
        return "Use fewer workers, or import less in the modules that the workers load."
    if not weight.parts:
        return _KEEP.format("the path of the data", "it")
    first = weight.parts[0]
    path = f"`{shown(first.path)}`"
    if first.dragged_by:
        return (
            f"Give the loader a function of the module in place of {shown(first.dragged_by)}, or "
            f"a method of an object that does not hold {path}."
        )
    if first.mapped and first.instead:
        return (
            f"Leave {path} out of what is sent (__getstate__), and open it in the worker, when an "
            f"item is first read:  {shown(first.instead)}"
        )
    if first.mapped:
        return (
            f"Keep the path and the shape of {path}, and open the numpy.memmap in the worker, when "
            "an item is first read."
        )
    if first.instead:
        return f"Keep {path} in a tensor, which the workers share:  {shown(first.instead)}"
    return _KEEP.format(f"{path} in a file, and its path in the data set", "an item")


def _fewer(need: _Need, room: int | None) -> str:
    if room is None:
        return f"Fewer workers: each one less saves {format_size(need.worker)} for each rank."
    fitting = min(need.fitting(room), need.workers - 1)
    if fitting < 1:
        return "num_workers=0 sends nothing; the training process then loads every batch itself."
    return f"num_workers={fitting} leaves room for {counted(fitting, 'worker')} for each rank."


def _evidence(loaded: Loaded, weight: Weight, need: _Need) -> dict[str, str | int]:
    known = {
        "memory_limit": loaded.memory_limit,
        "memory_available": loaded.memory_available,
        "heaviest_bytes": weight.parts[0].bytes if weight.parts else None,
    }
    return {
        "loader": loaded.name,
        "bytes": weight.bytes,
        "shared_bytes": weight.shared_bytes,
        "workers": need.workers,
        "ranks": need.ranks,
        "worker_bytes": need.worker,
        "needed": need.bytes,
        **({"heaviest": shown(weight.parts[0].path)} if weight.parts else {}),
        **{key: value for key, value in known.items() if value is not None},
    }
