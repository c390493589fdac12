"""Says what the end of a thread means to those who wait for it."""

from __future__ import annotations

from preflight.facts import Thread
from preflight.values.names import shown


def waiting(function: str, thread: Thread) -> str:
    """Say that a function runs in a thread, and who waits for what it does."""
    begin = f"{shown(function)} runs in a thread (line {thread.line}: {shown(thread.code)})"
    ends = f"{begin}, which ends without stopping the job"
    if not thread.waits:
        return f"{ends}."
    places = " and ".join(f"`{shown(one.code)}` (line {one.line})" for one in thread.waits[:2])
    verb = "waits" if len(thread.waits) == 1 else "wait"
    return f"{ends}; {places} then {verb} for something that nobody does any more."
