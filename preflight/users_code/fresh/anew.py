"""Starts the process that makes a loader anew and draws from it, and ends it with all of its own.

Where that is safe it is a copy of this process, which has imported the user's module already; else
a fresh one.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from preflight.findings.our_failures import ElsewhereError
from preflight.host.room import SHARED
from preflight.users_code.fresh.descendants import Descendant, descendants
from preflight.users_code.fresh.orders import Ask, Tell, begin
from preflight.values.own_files import running

# Bytes of what it prints that are kept: the last ones.
_LAST = 1 << 18

_PIECE = 1 << 14
_POLL = 0.02
_GOODBYE = 2.0
_LAST_WORDS = 0.3

# What multiprocessing and torch start beside workers; it cleans up, and ends by itself.
_CLEANS_UP = ("multiprocessing.resource_tracker", "torch_shm_manager")


class Anew:
    """The process, as the one that watches it knows it."""

    def __init__(self, pid: int, orders: int, answers: int, prints: int, folder: str) -> None:
        self.pid = pid
        self.folder = folder
        """Where multiprocessing keeps its sockets, in the process and in its workers."""

        self.workers: set[int] = set()
        """Those that it has named, which may have ended since."""

        self._before = {one.pid for one in descendants()}
        self.status: int | None = None
        self.popen: subprocess.Popen[bytes] | None = None
        self.lines: deque[bytes] = deque()
        self._orders = orders
        self._printed = bytearray()
        self._dropped = 0
        self._lock = threading.Lock()
        self._readers = [
            threading.Thread(target=self._hear, args=(answers,), daemon=True),
            threading.Thread(target=self._keep, args=(prints,), daemon=True),
        ]

    def go(self, order: Mapping[str, Any]) -> None:
        """Have it begin. Only now are there threads here, which nobody forks any more."""
        if self.popen is None:  # a copy has waited until now: what there is was started here
            self._before = {one.pid for one in descendants()}
        for one in self._readers:
            one.start()
        self.send(order)

    def send(self, order: Mapping[str, Any]) -> None:
        """Give it an order."""
        with contextlib.suppress(OSError):  # it is gone, which its status says
            os.write(self._orders, json.dumps(order).encode() + b"\n")

    def _hear(self, descriptor: int) -> None:
        rest = b""
        with open(descriptor, "rb", buffering=0) as pipe:
            while piece := pipe.read(_PIECE):
                *whole, rest = (rest + piece).split(b"\n")
                self.lines.extend(whole)

    def _keep(self, descriptor: int) -> None:
        with open(descriptor, "rb", buffering=0) as pipe:
            while piece := pipe.read(_PIECE):
                with self._lock:
                    self._printed += piece
                    over = len(self._printed) - _LAST
                    if over > 0:
                        del self._printed[:over]
                        self._dropped += over

    def hear(self) -> Mapping[str, Any] | None:
        """Give the next thing that it has said; None: nothing as yet.

        Raises:
            ElsewhereError: our own code has failed there.
        """
        if not self.lines:
            return None
        said: Mapping[str, Any] = json.loads(self.lines.popleft())
        if "crashed" in said:
            raise ElsewhereError(said["crashed"], said["trace"])
        return said

    def listen(self, alive: Callable[[], None]) -> Iterator[Mapping[str, Any] | None]:
        """Give all that it says, and None where it says nothing just now; until it has ended."""
        while True:
            said = self.hear()
            if said is not None:
                yield said
                continue
            alive()
            if self.poll() is None:
                yield None
                time.sleep(_POLL)
                continue
            self.drain()
            if not self.lines:
                return

    @property
    def printed(self) -> int:
        """How many bytes it and its workers have printed."""
        with self._lock:
            return self._dropped + len(self._printed)

    def text(self, since: int = 0) -> str:
        """Give what it and its workers have printed since, as far as it was kept."""
        with self._lock:
            return bytes(self._printed[max(since - self._dropped, 0) :]).decode(errors="replace")

    def poll(self) -> int | None:
        """Give its exit status, negative for a signal; None while it runs."""
        if self.popen is not None:
            self.status = self.popen.poll()
        elif self.status is None:
            with contextlib.suppress(ChildProcessError):
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                self.status = os.waitstatus_to_exitcode(status) if pid else None
        return self.status

    def drain(self) -> None:
        """Wait for the last of what it has said, once it has ended; workers may hold its pipe."""
        self._readers[0].join(_LAST_WORDS)

    @property
    def is_over(self) -> bool:
        """Whether it was ended."""
        return self._orders < 0

    def processes(self) -> list[Descendant]:
        """Give all that it has started and that still runs, the oldest first; also as orphans."""
        return [one for one in descendants() if one.pid not in {*self._before, self.pid}]

    @contextlib.contextmanager
    def ending(self, alive: Callable[[], None]) -> Iterator[None]:
        """End it and all that it has started; what cleans up behind them is given a moment."""
        try:
            yield
        finally:
            self.end(alive)

    def end(self, alive: Callable[[], None]) -> None:
        """End it and all that it has started, unless that was done already."""
        if self.is_over:
            return
        left = self.processes()
        cleaning = [one for one in left if _cleans_up(one)]
        if self.poll() is None:
            _kill(self.pid)
        for one in left:
            if one not in cleaning:
                one.kill()
        os.close(self._orders)
        self._orders = -1
        until = time.monotonic() + _GOODBYE
        while time.monotonic() < until:
            if self.poll() is not None and not any(one.is_running() for one in cleaning):
                break
            alive()
            time.sleep(_POLL)
        for one in cleaning:
            one.kill()
        for reader in self._readers:
            if reader.ident is None:
                reader.start()
            reader.join(_GOODBYE)
        shutil.rmtree(self.folder, ignore_errors=True)
        _sweep({self.pid, *self.workers, *(one.pid for one in left)})


def _sweep(pids: Collection[int]) -> None:
    """Remove memory that these shared by files, and that nobody was left to remove."""
    with contextlib.suppress(OSError):  # only Linux has such a folder
        for name in os.listdir(SHARED):
            word, _, rest = name.partition("_")
            if word == "torch" and rest.partition("_")[0] in set(map(str, pids)):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(SHARED, name))


def _kill(pid: int) -> None:
    import signal

    with contextlib.suppress(OSError):
        os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))


def _cleans_up(process: Descendant) -> bool:
    return any(one in process.words for one in _CLEANS_UP)


# --- starting -------------------------------------------------------------------------------------


class Crowd:
    """How many threads this process has, to know whether the user's code has started some.

    A copy of a process with threads may wait for ever for what one of them held; also where they
    are of a target that was looked at before, as those are with which torch computes.
    """

    fewest: int | None = None
    """As many as there were at any time: those of some libraries end when a process is copied."""

    def __init__(self) -> None:
        self.count()

    @classmethod
    def count(cls) -> None:
        """Count them, before code of the user's runs."""
        now = _threads()
        cls.fewest = now if cls.fewest is None else min(now, cls.fewest)

    def may_fork(self) -> bool:
        """Whether a copy of this process is as good as a fresh one."""
        cuda: Any = sys.modules.get("torch.cuda")
        started = cuda is not None and cuda.is_initialized()
        return sys.platform == "linux" and not started and _threads() <= (self.fewest or 0)


def _threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 0


def copy(serve: Callable[[Ask, Tell], None]) -> Anew:
    """Fork a copy of this process, which serves; it is told of no more than it has."""
    folder = tempfile.mkdtemp(prefix="pymp-")
    orders, answers, prints = os.pipe(), os.pipe(), os.pipe()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    pid = os.fork()
    if not pid:
        try:
            os.dup2(prints[1], 1)
            os.dup2(prints[1], 2)
            for one in (orders[1], answers[0], *prints):
                os.close(one)
            begin(serve, folder, orders[0], answers[1])
        finally:
            os._exit(1)
    for one in (orders[0], answers[1], prints[1]):
        os.close(one)
    Crowd.count()
    return Anew(pid, orders[1], answers[0], prints[0], folder)


def fresh(
    serve: Callable[[dict[str, Any], Ask, Tell], None],
    told: Mapping[str, Any],
    *,
    folder: str,
    variables: Mapping[str, str] | None = None,
) -> Anew:
    """Start a fresh process, which serves by what it is told."""
    sockets = tempfile.mkdtemp(prefix="pymp-")
    popen = subprocess.Popen(
        [sys.executable, *running("preflight.users_code.fresh.orders:main")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=None if variables is None else {**os.environ, **variables},
    )
    pipes = [one for one in (popen.stdin, popen.stdout, popen.stderr) if one is not None]
    orders, answers, prints = (os.dup(one.fileno()) for one in pipes)
    for pipe in pipes:
        pipe.close()
    anew = Anew(popen.pid, orders, answers, prints, sockets)
    anew.popen = popen
    anew.send({**told, "folder": sockets, "serve": f"{serve.__module__}:{serve.__qualname__}"})
    return anew
