"""Starts fresh workers, as a DataLoader does where it does not fork, and sends them streams.

They come from explicit contexts, so that the default of the user's process is neither asked nor
settled; each is ended, and so is what multiprocessing starts beside them.
"""

from __future__ import annotations

import contextlib
import inspect
import multiprocessing
import os
import queue
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from json import dumps, loads
from multiprocessing import connection
from typing import Any

from preflight.findings.our_failures import ElsewhereError
from preflight.loaders.workers.left_alone import as_if_nothing_was_started
from preflight.objects.sending import arrival
from preflight.objects.sending.pickle_trial import Enough
from preflight.users_code.fresh.descendants import computed
from preflight.values.exit_status import ending

METHODS = ("spawn", "forkserver")
"""The ways of starting a worker that send it what it needs."""

# What a DataLoader's worker has imported before it is given its part of the loader.
_IMPORTS = ("torch.utils.data",)

# Messages that wait for a worker; whoever sends more waits.
_MOST_WAITING = 16

_MESSAGE = 1 << 18  # bytes
PLACE = 16
"""Bytes of a place in a slow stream; behind it, a worker that is late writes its stack."""
_MOMENT = 0.2  # seconds
_GOODBYE = 2.0  # seconds
_LOOK = 2.0  # seconds for which one that is late is watched

# Which part of its time a process computes that only waits.
_AT_REST = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a worker is started with."""

    timeout: float
    """Seconds of silence after which it counts as late."""

    alive: Callable[[], None]
    """Called now and then while we wait."""

    step: Callable[[str], AbstractContextManager[None]] = lambda _: nullcontext()
    """Says what takes time."""

    path: Sequence[str]
    """`sys.path` as the user's code left it."""

    files: Mapping[str, str]
    """Modules that are imported from a file, where their name alone does not lead to it."""

    modules: Sequence[str] = ()
    """Modules that are imported before anything is loaded, as a main module is."""


@dataclass(slots=True, kw_only=True, eq=False)
class Worker:
    """A worker that was started, and what has become of it."""

    process: Any
    channel: connection.Connection
    place: str
    """A file that says where in a slow stream it is."""

    surroundings: Surroundings
    began: float = field(default_factory=time.time)
    seconds_to_start: float | None = None
    lost: str | None = None
    """Why nothing more is to be had of it: `died` or `late`."""

    said: str | None = None
    """What became of it, in words."""

    stands: bool = False
    """Whether it was late and took no processor time while it was watched for some seconds."""

    _ended: bool = False
    _outbox: queue.Queue[bytes | None] = field(init=False)
    _feeder: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        """Send in a thread, since a pipe that is full cannot be waited for with a deadline."""
        self._outbox = queue.Queue(_MOST_WAITING)
        self._feeder = threading.Thread(target=self._feed, daemon=True, name="preflight-feeder")
        self._feeder.start()

    def _feed(self) -> None:
        is_taken = True
        while (message := self._outbox.get()) is not None:
            try:
                if is_taken:
                    self.channel.send_bytes(message)
            except (OSError, TypeError):  # it is gone, or was closed by us while it took nothing
                is_taken = False

    def post(self, message: bytes) -> None:
        """Send a message, unless the worker is lost; it is late where it takes none for long."""
        until = time.monotonic() + self.surroundings.timeout
        while self.lost is None:
            try:
                self._outbox.put(message, timeout=_MOMENT)
                break
            except queue.Full:
                self._give_up(until)

    def order(self, **order: Any) -> None:
        """Say what comes next."""
        self.post(dumps(order).encode())

    def reply(self, since: float) -> dict[str, Any] | None:
        """Wait for an answer, for which it has had time since then; None where it is lost.

        Raises:
            ElsewhereError: our own code has failed there.
        """
        until = since + self.surroundings.timeout
        while self.lost is None:
            try:
                if self.channel.poll(_MOMENT):
                    answer: dict[str, Any] = loads(self.channel.recv_bytes())
                    if "crashed" in answer:
                        words = f"a bug of preflight: {answer['crashed']} (in a worker)"
                        raise ElsewhereError(words, answer["trace"])
                    return answer
            except (EOFError, OSError, ValueError):
                self._died()
                break
            self._give_up(until)
        return None

    def answer(self, since: float | None = None) -> dict[str, Any] | None:
        """Wait for what it says of a stream; of its start, too, the first time."""
        since = time.monotonic() if since is None else since
        reply = self.reply(since)
        if reply is not None and reply.get("ready"):
            self.seconds_to_start = max(0.0, reply["at"] - self.began)
            reply = self.reply(since)
        return reply

    def _died(self) -> None:
        self.process.join(_GOODBYE)
        status = self.process.exitcode
        self.lost = "died"
        self.said = "closed its end" if status is None else ending(status)

    def _give_up(self, until: float) -> None:
        """Call it lost where it has ended, or where its time is over."""
        self.surroundings.alive()
        if not self.process.is_alive() and not self.channel.poll():
            self._died()
        elif time.monotonic() > until:
            self.lost = "late"
            self.stands = self._is_at_rest()
            idle = f", took no processor time in {_LOOK:g} s more" if self.stands else ""
            self.said = f"said nothing for {self.surroundings.timeout:g} s{idle}"

    def _is_at_rest(self) -> bool:
        """Whether it takes no processor time: what reads a disk or a network slowly takes some."""
        before = computed([self.process.pid])
        time.sleep(_LOOK)
        after = computed([self.process.pid])
        return before is not None and after is not None and after - before < _AT_REST * _LOOK

    def forget_place(self) -> None:
        """Begin a stream of which it has loaded nothing yet."""
        with open(self.place, "wb"):
            pass

    def left_at(self) -> tuple[int, int] | None:
        """Say where in a slow stream it was last: the root's number, and the byte of it."""
        with open(self.place, "rb") as file:
            said = file.read(PLACE)
        return (int.from_bytes(said[:8], "big"), int.from_bytes(said[8:], "big")) if said else None

    def end(self) -> None:
        """End it: what waits for an order goes by itself, whatever else it is at is killed."""
        if self._ended:
            return
        self._ended = True
        with contextlib.suppress(queue.Full):
            self._outbox.put_nowait(None)
        self._feeder.join(_MOMENT)
        if self.lost is None and not self._feeder.is_alive():
            self.channel.close()
            self.process.join(_GOODBYE)
        self.process.kill()
        self.process.join(_GOODBYE)
        with contextlib.suppress(queue.Full):
            self._outbox.put_nowait(None)
        self.channel.close()
        with contextlib.suppress(ValueError):  # it would not be killed
            self.process.close()
        with contextlib.suppress(OSError):
            os.unlink(self.place)


def start(method: str, surroundings: Surroundings) -> Worker:
    """Start a worker, which begins to import what every worker imports."""
    chosen: Any = multiprocessing.get_context(method)
    handle, place = tempfile.mkstemp(prefix="preflight-")
    os.close(handle)
    ours, theirs = chosen.Pipe()
    text = f"{inspect.getsource(arrival)}\nmain(channel, path)\n"
    given = {"__name__": "arrival", "channel": theirs, "path": place}
    try:
        with theirs, as_if_nothing_was_started(surroundings.path):
            started = chosen.Process(target=exec, args=(text, given), daemon=True)
            started.start()
    except BaseException:
        ours.close()
        os.unlink(place)
        raise
    worker = Worker(process=started, channel=ours, place=place, surroundings=surroundings)
    names = (*_IMPORTS, *surroundings.modules)
    worker.order(imports=names, files=dict(surroundings.files))
    return worker


# --- a stream to several workers ------------------------------------------------------------------


class Outlet:
    """A file that hands each part of a stream to all workers, large ones as their size."""

    def __init__(self, workers: Sequence[Worker], *, large: int, most: int) -> None:
        self._workers = workers
        self._large = large
        self._most = most
        self._parts: list[bytes] = []
        self._waiting = 0
        self.written = 0
        """Bytes of the stream, with what was sent as its size."""

        self.skipped = False
        """Whether a part of the stream was sent as its size."""

        self._sent = 0

    def write(self, part: Any) -> int:
        """Take a part of the stream, unless that is more than anybody wants to load for a look."""
        size = len(part)
        self.written += size
        if size >= self._large:
            self._flush()
            self.skipped = True
            self._post(arrival.ZEROS + size.to_bytes(8, "big"))
            return size
        self._sent += size
        if self._sent > self._most:
            raise Enough
        self._parts.append(bytes(part))
        self._waiting += size
        if self._waiting >= _MESSAGE:
            self._flush()
        return size

    def close(self) -> None:
        """Say that this was all."""
        self._flush()
        self._post(arrival.END)

    def _flush(self) -> None:
        if self._parts:
            self._post(arrival.DATA + b"".join(self._parts))
        self._parts, self._waiting = [], 0

    def _post(self, message: bytes) -> None:
        for worker in self._workers:
            worker.post(message)
