"""Runs in a process of ours: looks at what it is asked about, and says what it sees, line by line.

The parent may be another interpreter, so that nothing is imported at the top but the standard
library and our own lower floors; and each reader only when it is asked for, since a process that
reads one small file is mostly its own start.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from json import dumps, loads
from types import TracebackType
from typing import Any

# Most questions need these two, which the first reader imports while it waits for its question.
import preflight.file_access.opened
import preflight.targets.targets  # noqa: F401
from preflight.file_access.place import HERE
from preflight.findings import our_failures
from preflight.kinds.asked import Asked, CannotLookError, MistypedError, reason_of
from preflight.kinds.at_work import LONGEST, shown_at_work
from preflight.processes import hanging, life_line, orphans
from preflight.values.wire import to_brief

# Memory that a reader of files may take, in bytes: room for one decoded picture of the largest
# size that Pillow opens (178,956,970 px, 4 channels), and for the decoders themselves.
MEMORY_LIMIT = 6 * 2**30

# A line at least this often while something is at work, in seconds, so that work is no silence.
_HEARTBEAT = 0.5

# How long what multiprocessing keeps is given to be removed, in seconds.
_LAST_WORDS = 2.0


# Of what is said, what the user's code may have had a say in.
_OF_USERS = ("answer", "broken", "mistyped", "crashed")


class Channel:
    """Where the answers go: a line of JSON in one write, on a descriptor that nobody else knows."""

    def __init__(self, descriptor: int, token: str) -> None:
        self._descriptor = descriptor
        self._token = token
        self._short = token.encode()
        self._owner = os.getpid()
        self.hide: Callable[[str], str] | None = None
        """Takes secrets out of an answer: of variables that the user's code sets, the parent knows
        nothing."""

        self.patience: float | None = None
        """Seconds of silence before its stack is written; None: never."""

        self.signs = 0
        """How often the reader has shown that it goes on."""

        self._said = 0.0
        self._lock = threading.RLock()
        self._open = 0
        self._inner = 0.0
        """Seconds of steps within the one that is at work."""

    def say(self, **line: Any) -> None:
        """Write one line; a parent that is gone is the watcher's business.

        A copy of us that the user's code forked says nothing.
        """
        if os.getpid() != self._owner:
            os._exit(0)
        if "open" in line:
            self._open = line["open"]
            HERE.at, HERE.size = 0, 0
        said = dumps(line)
        if self.hide is not None and not line.keys().isdisjoint(_OF_USERS):
            said = self.hide(said)
        data = memoryview(f"{self._token} {said}\n".encode())
        with self._lock, contextlib.suppress(BrokenPipeError):
            while data:
                data = data[os.write(self._descriptor, data) :]
        self._said = time.monotonic()
        if self.patience is not None:
            hanging.watch(self._descriptor, self.patience)

    def watch_for_crashes(self) -> None:
        """Have the stack said where this process crashes."""
        hanging.watch_for_crashes(self._descriptor)

    def opening(self, place: int) -> None:
        """Say which of several files is opened next: in a short line, since there are many."""
        self.signs += 1
        HERE.at, HERE.size = 0, 0
        with contextlib.suppress(BrokenPipeError):
            os.write(self._descriptor, b"%s @%d %d\n" % (self._short, self._open, place))

    def some(self, facts: object, count: int) -> None:
        """Say what was seen of so many of several files, of which more are to follow."""
        self.say(some=_plain([facts]), count=count)

    def alive(self, *_: object) -> None:
        """Say that work goes on, if nothing was said for a while."""
        self.signs += 1
        self.beat()

    def beat(self) -> None:
        """Do so where the reader has not asked for it."""
        if time.monotonic() - self._said > _HEARTBEAT:
            self.say(alive=True, at=HERE.at, size=HERE.size)

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Say that a step begins, and how long it took without the steps within."""
        begun, before, self._inner = time.perf_counter(), self._inner, 0.0
        self.say(step=name)
        yield
        seconds = time.perf_counter() - begun
        self.say(took=name, seconds=seconds - self._inner)
        self._inner = before + seconds


def main() -> None:
    """Take the questions, look, answer; the last line is `done`."""
    channel, asked = _take_over()
    with contextlib.ExitStack() as stack:
        stack.push(functools.partial(_crash, channel))
        _answer(channel, asked)


def _answer(channel: Channel, asked: Mapping[str, Any]) -> None:
    options, runs_code = asked["options"], asked["runs_code"]
    if runs_code:  # imported now, since the user's code may put a package of our name in our place
        from preflight.secrets.hiding import hidden_here

        orphans.adopt()
        channel.hide = hidden_here
        channel.patience = options.get("timeout")
        channel.watch_for_crashes()
        _answer_each(channel, asked)
        channel.patience = None
        hanging.leave()
        _let_tracker_clean()
        orphans.end(lambda: orphans.descendants(os.getpid()))
        channel.say(done=True)
        os._exit(0)  # without waiting for its threads and exit handlers
    _limit_memory(asked["questions"])
    most = max(LONGEST, options.get("timeout") or 0.0)
    with shown_at_work(channel.beat, lambda: channel.signs, most):
        _answer_each(channel, asked)
    channel.say(done=True)


def _answer_each(channel: Channel, asked: Mapping[str, Any]) -> None:
    options = asked["options"]
    each = ((one["reader"], wire) for one in asked["questions"] for wire in one["wires"])
    for index, (reader, wire) in enumerate(each):
        channel.say(open=index)
        try:
            facts = list(_look(reader, wire, options, channel))
        except OSError as error:
            channel.say(broken=index, error=reason_of(error))
        except MemoryError:
            channel.say(broken=index, error=f"it takes more than {MEMORY_LIMIT:,} bytes of memory")
        except CannotLookError as error:
            channel.say(broken=index, error=str(error), fix=error.fix)
        except MistypedError as error:
            channel.say(mistyped=index, error=str(error))
        else:
            channel.say(answer=index, facts=_plain(facts))


def _crash(
    channel: Channel,
    _kind: type[BaseException] | None,
    error: BaseException | None,
    _trace: TracebackType | None,
) -> None:
    """Tell a failure of our own code, with the traceback, and end."""
    if error is not None and our_failures.is_failure(error):
        import traceback

        trace = getattr(error, "trace", None)
        trace = trace or "".join(traceback.format_exception(error))
        channel.say(crashed=our_failures.in_words(error), trace=trace)
        os._exit(1)


def _look(
    reader: str, wire: Mapping[str, Any], options: Mapping[str, Any], channel: Channel
) -> Iterable[object]:
    module, _, name = reader.partition(":")
    look = getattr(importlib.import_module(module), name)
    asked = Asked(
        wire=wire,
        options=options,
        alive=channel.alive,
        step=channel.step,
        opening=channel.opening,
        some=channel.some,
        memory=MEMORY_LIMIT,
    )
    found: Iterable[object] = look(asked)
    return found


def _plain(facts: Iterable[object]) -> list[dict[str, Any]]:
    return [{"type": type(one).__name__, **to_brief(one)} for one in facts]


def _take_over() -> tuple[Channel, dict[str, Any]]:
    """Keep the channel and the life line for ourselves before anything else can use them."""
    life, channel = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)  # the user's code sees an empty stdin
    try:
        os.dup2(2, 1)  # and its prints go to stderr, those of its workers and of C too
    except OSError:
        os.dup2(nothing, 1)
    size = int.from_bytes(_read_exactly(life, 8), "big")
    asked = loads(_read_exactly(life, size))
    life_line.watch(life, asked["token"])
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    return Channel(channel, asked["token"]), asked


def _read_exactly(descriptor: int, size: int) -> bytes:
    """Read so many bytes and not one more: the rest of the pipe is the life line."""
    parts = []
    while size:
        part = os.read(descriptor, min(size, 1 << 20))
        if not part:
            os._exit(0)  # the parent is gone before it asked
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _limit_memory(questions: list[Mapping[str, Any]]) -> None:
    """Keep a hostile file from taking the machine's memory, where the system can.

    What is mapped counts too: the libraries of torch, some GB with those for GPUs, and large files.
    """
    try:
        import resource
    except ImportError:
        return
    limit = MEMORY_LIMIT
    loaded = [wire["path"] for one in questions if one["torch"] for wire in one["wires"]]
    with contextlib.suppress(ValueError, OSError):
        if loaded:
            with contextlib.suppress(ImportError):
                import torch  # noqa: F401  before the limit holds
            import psutil

            from preflight.kinds.question import stamp_of

            largest = max(stamp_of(path)[0] for path in loaded)
            limit += psutil.Process().memory_info().vms + largest
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _let_tracker_clean() -> None:
    """Let multiprocessing remove the shared memory that the user's code has left, as at any end.

    Its process does so once nobody holds its pipe; whoever else may hold it is not waited for long.
    """
    module: Any = sys.modules.get("multiprocessing.resource_tracker")
    tracker = getattr(module, "_resource_tracker", None)
    descriptor, pid = getattr(tracker, "_fd", None), getattr(tracker, "_pid", None)
    if descriptor is None or pid is None:
        return
    with contextlib.suppress(OSError):
        os.close(descriptor)
        until = time.monotonic() + _LAST_WORDS
        while os.waitpid(pid, os.WNOHANG) == (0, 0) and time.monotonic() < until:
            time.sleep(0.01)
