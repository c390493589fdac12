"""Divides what has to be looked at among processes, by what each thing is likely to take."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

START = 0.1
"""Seconds of a processor that the start of a process takes, about."""

# Seconds of work after which a process of its own is no loss, and shares can be made smaller, so
# that none is left with all that turned out to be slow.
_LONG = 10 * START

# Shares for each process that runs at the same time, at most.
_EACH = 4

# Things in one share: more would be held in memory at once, and save nothing.
_MOST = 8_192

# Files that are asked for all, whether they are in memory; and how many there have to be for more
# processes than processors to pay: each waits for storage most of the time, and needs a start.
_ASKED = 16
_MANY = 256

# Processes for each processor then, and in all.
_WAITING = 4
_MOST_WAITING = 16

# Bytes of a file up to which most of its time is waiting for its first ones.
_SMALL = 1 << 20

# Bytes a second, by depth; of JPEGs and captions, with one processor, from the page cache.
_RATES = {"index": 4e9, "bytes": 1.2e9, "decode": 40e6}
_UNPACKED = 100e6

# Seconds for things whose size nobody has asked for, by depth or all the same.
_IMAGES = {"index": 40e-6, "bytes": 120e-6, "decode": 4e-3}
_OTHERS = {"CacheFiles": 100e-6, "CacheContent": 2e-3, "Host": 0.03, "Source": 0.1}

_PACKED = (".gz", ".tgz", ".bz2", ".xz", ".zst")


def processors() -> int:
    """Give how many processors we may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def seconds_for(plain: Mapping[str, Any], root: str, depth: str) -> float:
    """Guess how long a process will look at something.

    Args:
        plain: the target as a process is asked about it.
        root: the job's folder.
        depth: how deep the job has us look.
    """
    kind = plain["type"]
    if kind == "Image":
        return _IMAGES[depth]
    if kind != "Shard":
        return _OTHERS.get(kind, 0.0)
    size = 0
    with contextlib.suppress(OSError):
        size = os.stat(os.path.join(root, plain["path"])).st_size
    rate = _RATES[depth]
    return size / (min(rate, _UNPACKED) if plain["path"].endswith(_PACKED) else rate)


def shares(
    things: Iterable[T], seconds: Callable[[T], float], *, total: float, jobs: int
) -> Iterator[list[T]]:
    """Divide things, in their order, into shares that take about equally long.

    Args:
        things: taken one by one, as far as the next share needs them.
        seconds: how long each is likely to take.
        total: how long all of them are.
        jobs: processes that run at the same time, at most.

    Yields:
        The things in each share: at least one, and no more than can well be held in memory.
    """
    number = min(jobs, 1 + int(total / START))
    number = max(number, min(jobs * _EACH, int(total / _LONG)))
    share: list[T] = []
    current, reached = 0, 0.0
    for one in things:
        takes = seconds(one)
        mine = int((reached + takes / 2) / total * number) if total else 0
        if share and (mine != current or len(share) >= _MOST):
            yield share
            share = []
        share.append(one)
        current = mine
        reached += takes
    if share:
        yield share


def workers_for(paths: Sequence[str], processors: int) -> int:
    """Say how many processes should read files at the same time.

    Args:
        paths: of the files, as they can be opened; those that cannot be are passed over.
        processors: that we may use.
    """
    if len(paths) < _MANY:
        return processors
    from preflight.file_access.cold import is_cold

    asked = paths[:: len(paths) // _ASKED][:_ASKED]
    cold = 0
    for path in asked:
        with contextlib.suppress(OSError):
            cold += os.stat(path).st_size <= _SMALL and is_cold(path)
    if 2 * cold <= len(asked):
        return processors
    return max(processors, min(_WAITING * processors, _MOST_WAITING))
