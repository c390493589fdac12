"""Reads the stacks of a process's threads, as faulthandler writes them."""

from __future__ import annotations

import re
from typing import TypeAlias

Call: TypeAlias = tuple[str, int, str]
"""File, line and function."""

_CALL = re.compile(r'  File "(?P<file>.+)", line (?P<line>\d{1,9}) in (?P<name>.+)')
_THREAD = re.compile(r"(?:(?:Current thread|Thread) 0x[0-9a-f]+|Stack) ")


def begins_stack(line: str) -> bool:
    """Whether a line stands above the stack of one more thread."""
    return _THREAD.match(line) is not None


def call_of(line: str) -> Call | None:
    """Read one call of a stack; None: the line is none."""
    call = _CALL.fullmatch(line)
    return None if call is None else (call["file"], int(call["line"]), call["name"])


def threads_of(text: str) -> list[list[Call]]:
    """Give the calls of each thread, the innermost first; the main thread comes last."""
    threads: list[list[Call]] = []
    for line in text.splitlines():
        if begins_stack(line):
            threads.append([])
        elif threads and (call := call_of(line)) is not None:
            threads[-1].append(call)
    return threads
