"""Says how much of an error the handlers of webdataset let be seen."""

from __future__ import annotations

from collections.abc import Iterable


def told_by(handlers: Iterable[str]) -> str:
    """Say with what they pass over an error: those that warn print each sort of it once a process.

    Args:
        handlers: Their names; the job's own may do anything, and are taken for silent ones.
    """
    names = list(handlers)
    warn = bool(names) and all(one.startswith("warn_and_") for one in names)
    return "with no more than a warning" if warn else "without a word"
