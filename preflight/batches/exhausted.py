"""Tells by how a drawing ended that there was no room for batches on their way from workers."""

from __future__ import annotations

import re

from preflight.batches.facts import FirstBatches

# What torch and Python say where neither shared memory nor a descriptor is to be had.
_SIGNS = re.compile(
    r"Too many open files|received \d+ items of ancdata|out of shared memory"
    r"|(?:unable to|could not) .*(?:shm|</torch_).*",
)

_SIGBUS = -7


def is_exhausted(first: FirstBatches) -> bool:
    """Whether it ended for want of shared memory or open files, and not by a line of the user's."""
    if first.ended not in ("raised", "died", "stuck") or not first.num_workers:
        return False
    if first.ended == "died" and first.exit_status == _SIGBUS and first.worker is not None:
        return True
    said = [(first.error, first.frames), *((one.error, one.frames) for one in first.printed)]
    return any(_SIGNS.search(error) and not frames for error, frames in said)
