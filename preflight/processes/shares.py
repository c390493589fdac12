"""Divides what has to be looked at among processes, by what each thing is likely to take."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence

from preflight.kinds.question import Question

START = 0.1
"""Seconds of a processor that the start of a process takes, about."""

# Seconds of work from which on a share of its own costs next to nothing. Shares of a long run are
# made smaller than one for each process, so that no process is left with all that is slow.
_LONG = 10 * START

# Seconds that the first reader is ahead of the others: it is started with the command itself.
_AHEAD = 0.06

# Shares for each process that runs at the same time, at most.
_EACH = 4

# Things in one share: more would be held in memory at once, and save nothing. Ten thousand are two
# shares alike, which are less at once than most of them and a rest.
_MOST = 5_120

# Files of which it is asked, for all of them, whether they are in memory; and the number of files
# from which on more processes than processors pay, where each waits for storage most of the time.
_ASKED = 16
_MANY = 256

# Processes for each processor then, and in all.
_WAITING = 4
_MOST_WAITING = 16

# Bytes of a file up to which most of its time is waiting for its first ones.
_SMALL = 1 << 20

# Seconds that the import of torch takes, about.
_TORCH = 1.5


def jobs_for(seconds: float, most: int) -> int:
    """Say how many processes should import torch: each has to save more than the import takes."""
    return min(most, 1 + int(seconds / _TORCH))


def shares(
    questions: Iterable[Question], *, total: float, jobs: int, apart: bool = False
) -> Iterator[tuple[Question, ...]]:
    """Divide questions, in their order, into shares that take about equally long.

    They are taken one by one, as far as the next share needs them; no share is larger than can well
    be held in memory. With `apart`, questions that may be left out have shares of their own.
    """
    for share in _divided(questions, total=total, jobs=jobs):
        if not apart:
            yield share
            continue
        for may_be_left in (True, False):
            part = tuple(one for one in share if one.kind.may_be_left == may_be_left)
            if part:
                yield part


def _divided(
    questions: Iterable[Question], *, total: float, jobs: int
) -> Iterator[tuple[Question, ...]]:
    number = min(jobs, 1 + int(total / START))
    number = max(number, min(jobs * _EACH, int(total / _LONG)))
    first = (total + _AHEAD * (number - 1)) / number  # of seconds, and the rest of equal shares
    share: list[Question] = []
    current, reached = 0, 0.0
    for one in questions:
        behind = reached + one.seconds / 2 - first
        mine = 0 if behind < 0 or number == 1 else 1 + int(behind / (total - first) * (number - 1))
        if share and (mine != current or len(share) >= _MOST):
            yield tuple(share)
            share = []
        share.append(one)
        current = mine
        reached += one.seconds
    if share:
        yield tuple(share)


def workers_for(paths: Sequence[str], processors: int) -> int:
    """Say how many processes should read these files at the same time."""
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
