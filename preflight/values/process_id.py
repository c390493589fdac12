"""Which process this is, without asking the system each time: it is wanted at every step."""

from __future__ import annotations

import os

_here = os.getpid()


def this_process() -> int:
    """Give the number of this process, in a forked copy of it that of the copy."""
    return _here


def _begin() -> None:
    global _here  # noqa: PLW0603  there is one process
    _here = os.getpid()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin)
