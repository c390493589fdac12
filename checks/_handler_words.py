"""Says how much of an error the handlers of webdataset let be seen."""

from __future__ import annotations

from collections.abc import Iterable

HARDLY_ANY = 0.01
"""Of all samples: what a handler that goes on is meant for."""


def told_by(handlers: Iterable[str]) -> str:
    """Say with what they pass over an error: those that warn print each sort of it once a process.

    Args:
        handlers: Their names; the job's own may do anything, and are taken for silent ones.
    """
    names = list(handlers)
    warn = bool(names) and all(one.startswith("warn_and_") for one in names)
    return "with no more than a warning" if warn else "without a word"


def dropped(handler: str, number: int, samples: int) -> str:
    """Say what becomes of hardly any of the samples of a shard; empty where it is more of them.

    Args:
        handler: With its line: `warn_and_continue (train.py:6)`.
        number: Samples that it drops.
        samples: All of the shard.
    """
    if not handler or number >= samples * HARDLY_ANY:
        return ""
    return (
        f"{handler} drops its sample {told_by([handler])}; dataset-survival says how many of all."
    )
