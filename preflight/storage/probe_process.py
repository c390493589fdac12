"""What one of the processes of a probe does: it writes and reads files of ours beside the others.

Only the standard library is at hand here.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from preflight.kinds.asked import reason_of
from preflight.storage.system_files import Files, load

SIZE = 1 << 16
"""Bytes of the files that are written."""

COUNTER = "counter"
"""The file that a lock protects: who holds it adds one to the number in it."""

# Between reading the number and writing it, in seconds: room for another one, where locks do
# nothing.
_HELD = 0.001

# Between two tries to get a lock that somebody else has.
_WAIT = 0.0002


def main() -> None:
    """Take orders until there are no more."""
    told = json.loads(sys.argv[1])
    files = load(told["layer"])
    os.chdir(told["folder"])
    answer({"ready": True})
    for line in sys.stdin:
        order = json.loads(line)
        do: Callable[[Files, Mapping[str, Any]], dict[str, Any]] = _ORDERS[order["order"]]
        try:
            answer(do(files, {**told, **order}))
        except OSError as error:
            answer({"refused": reason_of(error), "is_full": is_full(error)})


def is_full(error: OSError) -> bool:
    """Whether there is no room left: no space, no inode, or no more of somebody's quota."""
    return error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))


def answer(said: Mapping[str, Any]) -> None:
    """Say one line."""
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


def create(files: Files, told: Mapping[str, Any]) -> dict[str, Any]:
    """Create files as the only one, each at the same moment as the others do."""
    if told["reads"]:
        return {}
    won = []
    for number in range(told["number_of"]):
        _until(told["at"] + number * told["apart"])
        if files.create(f"only-{number}"):
            won.append(number)
    return {"won": won}


def take_turns(files: Files, told: Mapping[str, Any]) -> dict[str, Any]:
    """Hold a lock again and again, and add one to a number meanwhile."""
    if told["reads"]:
        return {}
    turns, kind = 0, told["kind"]
    with open(f"lock-{kind}", "r+b") as file, open(COUNTER, "r+b", buffering=0) as counter:
        _until(told["at"])
        while time.monotonic() < told["until"]:
            if not files.lock(kind, file):
                time.sleep(_WAIT)
                continue
            counter.seek(0)
            number = int.from_bytes(counter.read(8), "big")
            time.sleep(_HELD)
            counter.seek(0)
            counter.write((number + 1).to_bytes(8, "big"))
            turns += 1
            files.unlock(kind, file)
            time.sleep(_WAIT)  # so that the others have their turn
    return {"turns": turns}


def rename(files: Files, told: Mapping[str, Any]) -> dict[str, Any]:
    """Write files again and again, and rename each over one; or read that one."""
    target = told["target"]
    if told["reads"]:
        return _read(files, target, told)
    writes, refused, said = 0, 0, ""
    own = f"{target}-{told['number']}"
    while time.monotonic() < told["until"]:
        data = bytes([65 + (writes + told["number"] * 7) % 26]) * SIZE
        try:
            files.write(own, data)
            files.replace(own, target)
            writes += 1
        except PermissionError as error:  # of Windows, while the reader has it open
            refused, said = refused + 1, str(error.strerror)
            time.sleep(_WAIT)
    return {"writes": writes, "refused_writes": refused, "said": said}


def _read(files: Files, target: str, told: Mapping[str, Any]) -> dict[str, Any]:
    found = {"reads": 0, "torn": 0, "absent": 0, "failed": 0}
    said = ""
    while time.monotonic() < told["until"]:
        found["reads"] += 1
        try:
            data = files.read(target)
        except FileNotFoundError:
            found["absent"] += 1
        except OSError as error:
            if isinstance(error, PermissionError) and os.name == "nt":
                continue  # while a writer renames; writers and readers there try again
            found["failed"] += 1
            said = said or reason_of(error)
        else:
            found["torn"] += len(data) != SIZE or data.count(data[:1]) != SIZE
    return {**found, "said": said}


def _until(at: float) -> None:
    """Wait for a moment: asleep first, then awake, so that all are there at once."""
    with contextlib.suppress(ValueError):
        time.sleep(at - time.monotonic() - 0.002)
    while time.monotonic() < at:
        pass


_ORDERS = {"create": create, "take_turns": take_turns, "rename": rename}
