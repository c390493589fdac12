"""Tries a folder with files of ours: several processes write, and one reads."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from preflight.storage.crew import Crew
from preflight.storage.facts import Locks, ReadBack, Tried
from preflight.storage.probe_process import COUNTER, SIZE
from preflight.storage.system_files import Files

WRITERS = 3

# Seconds that a trial takes, and files that all create at once, so many seconds apart.
_RENAMED, _LOCKED = 0.5, 0.25
_CREATED, _APART = 40, 0.004

# How long processes may take to start, and then to answer after a trial is over, in seconds: far
# more than they need, since a busy machine is no finding.
_START, _LATE = 20.0, 5.0

# Seconds between an order and its begin.
_AHEAD = 0.02

LOCKS = ("flock", "fcntl")


class RefusedError(Exception):
    """The system does not let us write; the reason is the text."""

    def __init__(self, reason: str, *, is_full: bool) -> None:
        super().__init__(reason)
        self.is_full = is_full


def try_out(folder: str, files: Files, layer: str, alive: Callable[[], object]) -> Tried:
    """Try what writers rely on, in a folder of our own.

    Raises:
        OSError: nothing can be written there.
        RefusedError: so a process said.
    """
    folds = _folds_case(folder, files)
    told: list[dict[str, Any]] = [
        {"folder": folder, "layer": layer, "number": number, "reads": number == WRITERS}
        for number in range(WRITERS + 1)
    ]
    with Crew("preflight.storage.probe_process", told, alive, options=("-I", "-S")) as crew:
        if None in crew.answers(_START):
            return Tried(folds_case=folds, late="processes of ours did not start")
        trial = _Trial(folder, files, crew)
        created, twice = trial.create()
        flock, fcntl = (trial.lock(kind) for kind in LOCKS)
        return Tried(
            writers=WRITERS,
            created=created,
            created_twice=twice,
            flock=flock,
            fcntl=fcntl,
            renamed=trial.rename("renamed"),
            folds_case=folds,
            late=trial.late,
        )


def _folds_case(folder: str, files: Files) -> bool:
    files.write(os.path.join(folder, "case-a"), b"")
    return files.is_there(os.path.join(folder, "CASE-A"))


class _Trial:
    """What is tried, one after the other; once somebody is late, nothing more."""

    def __init__(self, folder: str, files: Files, crew: Crew) -> None:
        self._folder = folder
        self._files = files
        self._crew = crew
        self.late = ""

    def _ask(self, order: str, seconds: float, what: str, **more: Any) -> list[dict[str, Any]]:
        """Have an order carried out by all; nothing is said where one of them is late."""
        if self.late:
            return []
        begin = time.monotonic() + _AHEAD
        self._crew.order(order, at=begin, until=begin + seconds, **more)
        answers = self._crew.answers(seconds + _LATE)
        said = [one for one in answers if one is not None]
        if len(said) < len(answers):
            self.late = what
            return []
        return said

    def _unless_refused(self, said: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for one in said:
            if "refused" in one:
                raise RefusedError(one["refused"], is_full=one["is_full"])
        return said

    def create(self) -> tuple[int, int]:
        """Count the files that were created, and those that several have created."""
        seconds = _CREATED * _APART
        what = "files created with O_EXCL"
        said = self._ask("create", seconds, what, apart=_APART, number_of=_CREATED)
        won = [number for one in self._unless_refused(said) for number in one.get("won", ())]
        return len(set(won)), len({number for number in won if won.count(number) > 1})

    def lock(self, kind: str) -> Locks | None:
        """Say whether a lock keeps others out."""
        if os.name == "nt":
            return None
        path = os.path.join(self._folder, COUNTER)
        self._files.write(path, bytes(8))
        self._files.write(os.path.join(self._folder, f"lock-{kind}"), b"")
        said = self._ask("take_turns", _LOCKED, f"locks by {kind}", kind=kind)
        if not said:
            return Locks(said="nobody got one in time") if self.late.endswith(kind) else None
        refused = [one["refused"] for one in said if "refused" in one]
        turns = sum(one.get("turns", 0) for one in said)
        counted = int.from_bytes(self._files.read(path)[:8], "big")
        said_by_system = refused[0] if refused else ""
        return Locks(turns=turns, lost=max(0, turns - counted), said=said_by_system)

    def rename(self, target: str) -> ReadBack:
        """Have a file renamed over by some and read by one."""
        self._files.write(os.path.join(self._folder, target), b"A" * SIZE)
        said = self._ask("rename", _RENAMED, "renames", target=target)
        if not self._unless_refused(said):
            return ReadBack()
        *writers, reader = said
        return ReadBack(**reader, writes=sum(one["writes"] for one in writers))
