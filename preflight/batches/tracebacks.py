"""Reads tracebacks off what processes print."""

from __future__ import annotations

import contextlib
import os
import re
import traceback
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from preflight.findings.our_failures import ElsewhereError
from preflight.users_code.frames import in_one_line, text_of
from preflight.values.names import name_of
from preflight.values.own_files import HOME, is_of_ours

_BEGIN = "Traceback (most recent call last):"
_CALL = re.compile(r'\s+File "(?P<file>.+)", line (?P<line>\d{1,9}),? in (?P<name>.+)')

# What Python writes between two exceptions of which one was raised while the other was handled.
_CHAIN = ("During handling of the above", "The above exception was")

_LONGEST = 2_000


# What is written to standard error as an epoch is run, among all that is printed there.
_BEGINS, _ENDS = "\n-- preflight: epoch {} begins --\n", "\n-- preflight: epoch {} ends --\n"
_ANY_BEGINS = re.compile(_BEGINS.format(r"\d+"))


class Printed(NamedTuple):
    """An exception as it was printed."""

    title: str
    error: str
    calls: tuple[traceback.FrameSummary, ...]
    """The innermost last."""


def mark(number: int, *, is_end: bool = False) -> None:
    """Write to standard error that an epoch begins, or that it ends, by a number of its own."""
    with contextlib.suppress(OSError):
        os.write(2, (_ENDS if is_end else _BEGINS).format(number).encode())


def in_epoch(text: str, number: int) -> str:
    """Give what was printed in an epoch; of one that did not end, until another one begins."""
    _, begins, behind = text.partition(_BEGINS.format(number))
    if not begins:
        return ""  # so much was printed behind it that it was not kept
    return _ANY_BEGINS.split(behind.partition(_ENDS.format(number))[0], maxsplit=1)[0]


def our_failure(said: Printed, text: str) -> ElsewhereError | None:
    """Say that a worker has printed of a failure of our own code in it; None: it is none of ours.

    What Python itself does to import a file of ours is ours, too.
    """
    calls = [one for one in said.calls if not one.filename.startswith("<frozen ")]
    if not calls or not is_of_ours(calls[-1].filename, calls[-1].name):
        return None
    at = f"{name_of(calls[-1].filename, HOME)}:{calls[-1].lineno}"
    return ElsewhereError(f"a bug of preflight: {said.error} ({at}, in a worker)", text)


def in_worker(error: BaseException) -> Printed | None:
    """Give what a worker raised, and where: torch raises it again with its traceback as text.

    A worker of a loader, a thread of `torchdata.nodes` or one that pins memory, or a process of
    `torch.multiprocessing.spawn`. Python's own pools have it as what the exception was raised from.
    """
    text = text_of(error)
    is_worker = f"Original {_BEGIN}" in text or text.lstrip().startswith("-- Process ")
    if type(error.__cause__).__name__.lstrip("_") == "RemoteTraceback":
        is_worker, text = True, text_of(error.__cause__).strip().strip('"')
    if not is_worker or not (found := printed(text)):
        return None
    lines = text.splitlines()
    begin = max(place for place, line in enumerate(lines) if _begins(line))
    # All that follows is of it: nobody else writes there.
    whole = "\n".join(_said(lines[begin + 1 :]))
    return found[-1]._replace(error=in_one_line(whole.strip()))


def printed(text: str) -> list[Printed]:
    """Give the exceptions that a text has; of a chain, the last one that was raised."""
    found: list[Printed] = []
    lines = text.splitlines()
    for place, line in enumerate(lines):
        if not _begins(line):
            continue
        one = _one(lines, place)
        if one is None:
            continue
        before = next((each for each in reversed(lines[:place]) if each.strip()), "")
        if found and before.startswith(_CHAIN):
            one = one._replace(title=found.pop().title)
        found.append(one)
    return found


def _begins(line: str) -> bool:
    return line.rstrip().endswith(_BEGIN)  # torch writes another word before it


def _said(lines: Sequence[str]) -> Sequence[str]:
    """Give what stands behind the calls of a traceback."""
    ends = (place for place, line in enumerate(lines) if line and not line.startswith(" "))
    return lines[next(ends, 0) :]


def _one(lines: list[str], place: int) -> Printed | None:
    """Read the exception that begins at a line; None where it was cut."""
    calls: list[traceback.FrameSummary] = []
    for number, line in enumerate(lines[place + 1 :], place + 1):
        call = _CALL.fullmatch(line)
        if call is not None:
            calls.append(traceback.FrameSummary(call["file"], int(call["line"]), call["name"]))
        elif line and not line.startswith(" "):
            title = lines[place - 1].strip() if place else ""
            error = "\n".join([line, *_rest(lines[number + 1 :])])
            return Printed(title=title, error=error[:_LONGEST], calls=tuple(calls))
    return None


def _rest(lines: Iterable[str]) -> Iterator[str]:
    """Give the further lines of a text that is indented: of an exception with several."""
    for line in lines:
        if not line.startswith("  ") or _CALL.fullmatch(line):
            return
        yield line
