"""Starts our processes and ends them: one kind for the user's code and for readers of files.

A process is given its questions on its standard input, which stays open as a life line; it answers
in lines of JSON on its standard output. Its end is its exit status, never the end of the pipe,
which a worker that the user's code forked may hold open.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from preflight.kinds.question import Question
from preflight.processes import orphans
from preflight.processes.spawn import MARK, reader, spawn

# Pieces of what was said that wait to be read; a process that says more waits, and does not fill
# our memory.
MOST_PIECES = 50

# Bytes of one line: room for the facts of the largest folder, and an end to a line that has none.
_LONGEST_LINE = 1 << 28

# Bytes that are taken in at a time.
_PIECE = 1 << 14

# How long a process is given to say more before it is heard again, in seconds: to be woken for each
# line takes both sides longer than the rest.
_GATHER = 0.002

# How long the last lines of a process may take to come through after its end, in seconds.
_DRAIN = 5.0

# How often a process is asked whether it has ended, in seconds, while it says nothing.
_POLL = 0.05

# How often it is asked what it has below it, in seconds, where nobody else would adopt that.
_APART = 0.5

# How long its reader is given between two hearings of its last lines, in seconds.
_MOMENT = 0.005


Lines: TypeAlias = "queue.Queue[tuple[Started, bytes]]"
"""What our processes say, from all of them: one line or several at a time, each with its end."""


@dataclass(slots=True)
class Started:
    """A process of ours that runs."""

    questions: tuple[Question, ...]
    options: Mapping[str, Any]
    """What it is told of the job."""

    python: str | None
    """The interpreter; None: ours."""

    token: str
    """Stands before each line of an answer, and marks all that the process starts."""

    popen: subprocess.Popen[bytes]
    lines: Lines
    reader: threading.Thread = field(init=False)
    survivors: tuple[str, ...] = ()
    """What it started and nobody here can end, once it was killed."""

    _below: set[Any] = field(default_factory=set)
    """Processes that were seen below it."""

    _looked: float = 0.0
    _known: float = field(default_factory=orphans.now)
    """When its last look began that saw all of that; by their clock."""

    closed: bool = False
    """Whether nobody wants to hear more of it."""

    heard: float = field(default_factory=time.monotonic)
    """When it last said something, by the monotonic clock."""

    place: tuple[int, int] = (0, 0)
    """The question that it is at, and which of its things, where it is about several."""

    _opening: re.Pattern[bytes] = field(init=False)
    """What it says before it opens one of several things."""

    def __post_init__(self) -> None:
        """Talk to it in a thread, since pipes cannot be waited for on Windows."""
        token = re.escape(self.token.encode())
        self._opening = re.compile(rb"^%s @[0-9]{1,9} [0-9]{1,9}\n" % token, re.MULTILINE)
        self.reader = threading.Thread(target=self._talk, daemon=True)
        self.reader.start()

    def _hand_over(self) -> None:
        """Write the question, and leave the pipe open: its end tells the process that we are gone.

        It is read when the process has started, for which nobody else has to wait.
        """
        questions = [
            {"reader": kind.reader, "torch": kind.loads_torch, "wires": [one.wire for one in its]}
            for kind, its in itertools.groupby(self.questions, key=lambda one: one.kind)
        ]
        asked = {
            "questions": questions,
            "options": self.options,
            "runs_code": self.runs_code,
            "token": self.token,
        }
        body = json.dumps(asked).encode()
        assert self.popen.stdin is not None  # noqa: S101  for the type checker
        # It may have died already, which its status says, or have been ended by us.
        with contextlib.suppress(OSError, ValueError):
            self.popen.stdin.write(len(body).to_bytes(8, "big"))
            self.popen.stdin.write(body)
            self.popen.stdin.flush()

    def _talk(self) -> None:
        self._hand_over()
        assert self.popen.stdout is not None  # noqa: S101  for the type checker
        begun: list[bytes] = []  # of a line whose end has not come yet
        length = 0
        with self.popen.stdout as said:
            while piece := os.read(said.fileno(), _PIECE):
                whole, end, rest = piece.rpartition(b"\n")
                length += len(piece)
                if not end and length <= _LONGEST_LINE:
                    begun.append(piece)
                    continue
                self._pass_on(b"".join((*begun, whole, end)))
                begun, length = [rest], len(rest)
                if len(piece) < _PIECE:
                    time.sleep(_GATHER)
            if length:
                self._pass_on(b"".join(begun))

    def _pass_on(self, lines: bytes) -> None:
        lines = self._without_places(lines)
        while lines and not self.closed:
            with contextlib.suppress(queue.Full):
                self.lines.put((self, lines), timeout=_POLL)
                break

    def _without_places(self, lines: bytes) -> bytes:
        """Take note of what it has open, and give the rest: nobody has to be woken for that."""
        said = self._opening.findall(lines)
        if not said:
            return lines
        item, place = said[-1].rpartition(b"@")[2].split()
        self.place, self.heard = (int(item), int(place)), time.monotonic()
        return self._opening.sub(b"", lines)

    @property
    def runs_code(self) -> bool:
        """Whether it runs the user's code, and may so start processes of its own."""
        return any(one.runs_code for one in self.questions)

    @property
    def ended(self) -> bool:
        """Whether it has an exit status."""
        return self.popen.poll() is not None

    def look_below(self) -> None:
        """Remember what the user's code has started, where nobody adopts it: it may be killed."""
        if not self.runs_code or orphans.are_adopted() or time.monotonic() - self._looked < _APART:
            return
        import psutil

        begun = orphans.now()
        with contextlib.suppress(psutil.Error):
            self._below |= {*psutil.Process(self.popen.pid).children(recursive=True)}
        if not self.ended:  # then it may have had others
            self._looked, self._known = time.monotonic(), begun

    def drain(self, hear: Callable[[], None]) -> None:
        """Hear its last lines to their end; whoever held its pipe is gone by now.

        To hear makes room in the queue of lines, in which its reader may be waiting.
        """
        until = time.monotonic() + _DRAIN
        while self.reader.is_alive() and time.monotonic() < until:
            hear()
            self.reader.join(_MOMENT)
        self.abandon()

    def abandon(self) -> None:
        """Let go of what it still has to say."""
        self.closed = True
        self.reader.join(_DRAIN)

    def kill(self) -> None:
        """End it and everything that it started."""
        leader, left = self.popen.pid, list[int]()
        has_died = self.ended and self.popen.returncode != 0
        if self.runs_code and not self.ended:  # nothing new comes, and what is adopted stays below
            with contextlib.suppress(OSError, AttributeError):
                os.kill(leader, signal.SIGSTOP)
            left += orphans.end(lambda: orphans.descendants(leader))
        if hasattr(os, "killpg"):  # its watcher, and whatever it left behind, at once
            with contextlib.suppress(OSError):
                os.killpg(leader, orphans.KILL)
        if self.runs_code or not hasattr(os, "killpg"):
            left += orphans.end(lambda: {*members(leader, self.token), *self._strays()})
            self.survivors = tuple(map(_named, sorted({*left} - {leader})))
            self.survivors += self._maybe_left() if has_died else ()
        self.popen.kill()
        self.popen.wait()
        if self.popen.stdin is not None:
            with contextlib.suppress(OSError):
                self.popen.stdin.close()

    def _maybe_left(self) -> tuple[str, ...]:
        """Name what it may have started after its last look below it: nobody can tell that."""
        if not self.runs_code or orphans.are_adopted():
            return ()
        return tuple(f"{_named(one)}, maybe" for one in orphans.orphaned_since(self._known))

    def _strays(self) -> Iterator[int]:
        yield from orphans.strays(MARK)
        yield from (one.pid for one in self._below if one.is_running() and _lives(one.pid))


def start(
    questions: tuple[Question, ...],
    lines: Lines,
    *,
    options: Mapping[str, Any],
    python: str | None = None,
) -> Started:
    """Start a process and hand it its questions.

    Raises:
        OSError: the interpreter cannot be started.
    """
    if any(one.runs_code for one in questions):
        orphans.adopt_if_ours()
        popen, token = spawn(python, folder=questions[0].folder, runs_code=True)
    else:
        python = None
        popen, token = reader()
    return Started(
        questions=questions, options=options, python=python, token=token, popen=popen, lines=lines
    )


def wait(lines: Lines, *, patiently: bool = True) -> tuple[Started, bytes] | None:
    """Give the next lines of any process; None where nothing was said for a moment, or as yet."""
    with contextlib.suppress(queue.Empty):
        return lines.get(timeout=_POLL) if patiently else lines.get_nowait()
    return None


def _lives(pid: int) -> bool:
    import psutil

    with contextlib.suppress(psutil.Error):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False


def _named(pid: int) -> str:
    """Name a process for people, while it is there."""
    import psutil

    with contextlib.suppress(psutil.Error):
        return f"{pid} ({psutil.Process(pid).name()})"
    return str(pid)


def members(leader: int, token: str) -> list[int]:
    """All living processes of a session, and all whose environment has our mark in it.

    A daemon leaves the session and keeps the environment.
    """
    import psutil

    mark = f"{MARK}={token}"
    return [
        pid
        for pid in psutil.pids()
        if (_is_in_session(pid, leader) or orphans.has_variable(pid, mark)) and _lives(pid)
    ]


def _is_in_session(pid: int, leader: int) -> bool:
    with contextlib.suppress(OSError, AttributeError):  # somebody else's, or gone; or no POSIX
        return os.getsid(pid) == leader
    return False
