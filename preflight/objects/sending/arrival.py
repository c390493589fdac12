"""Loads in a fresh worker what a DataLoader sends, and says how that went.

The worker is given the text of this file, by `exec`: it imports nothing of ours, as the job's own
workers do not, and the user's modules have the names that they would have there. Everything is
loaded as multiprocessing does it while a process starts.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib
import importlib.util
import os
import pickle
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from json import dumps, loads
from multiprocessing import process, util
from multiprocessing.connection import Connection
from typing import Any

DATA, ZEROS, END = b"d", b"z", b"e"
"""First bytes of the messages that a stream comes in: as it is, so many zeros, no more."""

_MOST_FRAMES = 20
_LONGEST = 2_000

# Kept, since an object that is let go may run code of its own, and close what others use.
_KEPT: list[object] = []


class PickleStream:
    """A stream of pickles as a file; zeros that were sent as a number are not even written."""

    def __init__(self, channel: Connection) -> None:
        self._channel = channel
        self._buffer = b""
        self._at = 0
        self._zeros = 0
        self._ended = False
        self.taken = 0
        """Bytes read so far."""

    def read(self, size: int) -> bytes:
        """Give the next bytes, fewer at the end only."""
        end = self._at + size
        if end <= len(self._buffer):
            part = self._buffer[self._at : end]
            self._at = end
            self.taken += size
            return part
        whole = bytearray(size)
        return bytes(whole[: self.readinto(whole)])

    def readinto(self, target: Any) -> int:
        """Fill a buffer, whose pages are zero to begin with."""
        view = memoryview(target).cast("B")
        done = 0
        while done < len(view) and self._more():
            if self._zeros:
                size = min(self._zeros, len(view) - done)
                self._zeros -= size
            else:
                size = min(len(self._buffer) - self._at, len(view) - done)
                view[done : done + size] = self._buffer[self._at : self._at + size]
                self._at += size
            done += size
        self.taken += done
        return done

    def readline(self) -> bytes:
        """Give the rest of a line, which old opcodes are followed by."""
        parts = []
        while (part := self.read(1)) and part != b"\n":
            parts.append(part)
        return b"".join([*parts, part])

    def drain(self) -> None:
        """Take the rest and keep nothing of it."""
        while self._more():
            self._buffer, self._at, self._zeros = b"", 0, 0

    def _more(self) -> bool:
        """Whether there is something, after the next message if need be."""
        while not self._ended and not self._zeros and self._at >= len(self._buffer):
            message = self._channel.recv_bytes()
            kind = message[:1]
            if kind == DATA:
                self._buffer, self._at = message, 1
            elif kind == ZEROS:
                self._zeros = int.from_bytes(message[1:], "big")
            else:
                self._ended = True
        return not self._ended


class ProgressFile:
    """A file that says how far loading has come, for whoever finds us dead, or at a line."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "r+b", buffering=0)  # noqa: SIM115  both are kept open
        self._behind = open(path, "ab", buffering=0)  # noqa: SIM115

    def watch(self, until: float) -> None:
        """Have the stack written behind the place, where we have not come further by then."""
        seconds = max(0.1, until - time.time())
        faulthandler.dump_traceback_later(seconds, file=self._behind)

    def mark(self, root: int, offset: int) -> None:
        """Say which root it is, and the byte of its stream."""
        self._file.seek(0)
        self._file.write(root.to_bytes(8, "big") + offset.to_bytes(8, "big"))


# The one in Python is private, and has been there under this name since Python 3.0.
_Unpickler: Any = vars(pickle)["_Unpickler"]


class _Unhurried(_Unpickler):  # type: ignore[misc]
    """The unpickler in Python, which reads no further than the step that it is at."""

    def __init__(self, stream: PickleStream, place: ProgressFile) -> None:
        super().__init__(stream)
        self.looked_for: tuple[str, str] | None = None
        self.stream = stream
        self.place = place
        self.root = self.begun = 0

    def mark(self) -> None:
        """Leave word of where we are, for whoever finds us dead."""
        self.place.mark(self.root, self.stream.taken - self.begun - 1)

    def find_class(self, module: str, name: str) -> Any:
        self.looked_for = (module, name)
        found = super().find_class(module, name)
        self.looked_for = None
        return found


def _marking(opcode: int) -> Any:
    step = _Unpickler.dispatch[opcode]

    def marked(unpickler: _Unhurried) -> None:
        unpickler.mark()
        step(unpickler)

    return marked


# The steps of a pickle that run code: an import, a call, a state that is set, a hash that is asked.
_RUNNING = (
    pickle.GLOBAL + pickle.STACK_GLOBAL + pickle.INST + pickle.OBJ + pickle.REDUCE + pickle.BUILD
    + pickle.NEWOBJ + pickle.NEWOBJ_EX + pickle.SETITEM + pickle.SETITEMS + pickle.APPEND
    + pickle.APPENDS + pickle.ADDITEMS + pickle.FROZENSET
)  # fmt: skip
_Unhurried.dispatch = {**_Unpickler.dispatch, **{code: _marking(code) for code in _RUNNING}}


def main(channel: Connection, path: str) -> None:
    """Load one stream after another, until the other side is gone; say in a file how far it is."""
    with contextlib.suppress(EOFError, OSError), _telling_failures(channel):
        place = ProgressFile(path)
        order = loads(channel.recv_bytes())
        _as_while_starting()
        start = _prepared(order)
        failed = "refused" in start  # a worker comes no further; each stream is told so
        if not failed:
            _say(channel, **start)
        while True:
            order = loads(channel.recv_bytes())
            stream = PickleStream(channel)
            reply = start if failed else _load(stream, order, place)
            stream.drain()
            _say(channel, **reply)
    with contextlib.suppress(Exception):
        exit_function: Any = vars(util)["_exit_function"]
        exit_function()  # ends what was started through multiprocessing, as a worker's end does
    os._exit(0)  # what was loaded is not ours to close


@contextlib.contextmanager
def _telling_failures(channel: Connection) -> Iterator[None]:
    """Tell of a failure of our own code, which is no refusal of what is loaded."""
    try:
        yield
    except (EOFError, OSError):  # the other side is gone
        raise
    except Exception as error:  # noqa: BLE001  whatever it is
        _say(channel, crashed=_described(error)["error"], trace=traceback.format_exc())


def _as_while_starting() -> None:
    """Let the user's code see what it sees in a process that is starting.

    Its parent is not known yet, and the process is nobody's, until everything has been loaded.
    """
    variables: Any = vars(process)
    before = process.current_process()
    me: Any = object.__new__(process.BaseProcess)
    me.__dict__.update(
        _identity=(),
        _name=before.name,
        _parent_pid=None,
        _popen=None,
        _closed=False,
        _config={"authkey": before.authkey, "semprefix": "/mp"},
        _inheriting=True,
    )
    variables["_current_process"] = me
    variables["_parent_process"] = None


def _prepared(order: Mapping[str, Any]) -> dict[str, Any]:
    """Import what every worker of a DataLoader imports before it is given anything."""
    try:
        for name, path in order["files"].items():
            _import_file(name, path)
        for name in order["imports"]:
            importlib.import_module(name)
    except BaseException as error:  # noqa: BLE001  the user's modules run
        return {"refused": _described(error)}
    return {"ready": True, "at": time.time(), "memory": memory_of_own()}


def _import_file(name: str, path: str) -> None:
    """Import a module from a file, where its name alone does not lead to it."""
    found = importlib.util.spec_from_file_location(name, path)
    if found is not None and found.loader is not None:
        module = importlib.util.module_from_spec(found)
        sys.modules[name] = module
        found.loader.exec_module(module)


def _load(stream: PickleStream, order: Mapping[str, Any], place: ProgressFile) -> dict[str, Any]:
    """Load so many roots, and say where that ended if it was not at the end."""
    slow = order["slowly"]
    unpickler: Any = _Unhurried(stream, place) if slow else pickle.Unpickler(stream)  # noqa: S301
    before, root = 0, 0
    begun = time.perf_counter()
    gc.disable()  # nothing is let go here, and there may be millions of objects
    try:
        for root in range(order["roots"]):
            before = stream.taken
            place.mark(root, 0)
            if slow:
                unpickler.root, unpickler.begun = root, before
                place.watch(order["until"])
            _KEPT.append(unpickler.load())
    except BaseException as error:  # noqa: BLE001  loading runs the user's code
        looked_for = unpickler.looked_for if slow else None
        return {
            "refused": {
                **_described(error),
                "root": root,
                "at": stream.taken - before - 1,
                "looked_for": looked_for,
                "no_module": error.name if isinstance(error, ModuleNotFoundError) else None,
            }
        }
    finally:
        faulthandler.cancel_dump_traceback_later()
    seconds = time.perf_counter() - begun
    return {"loaded": True, "seconds": seconds, "memory": memory_of_own()}


def _described(error: BaseException) -> dict[str, Any]:
    frames = [
        (frame.filename, frame.lineno or 0, frame.name, frame.line or "")
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename not in ("<string>", pickle.__file__)
        and not frame.filename.startswith("<frozen")
    ]
    kind = type(error)
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  the user's __str__ may raise whatever it likes
        text = "(its text cannot be had)"
    home = "" if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}."
    said = f"{home}{kind.__qualname__}: {text}" if text else f"{home}{kind.__qualname__}"
    return {"error": said[:_LONGEST], "frames": frames[-_MOST_FRAMES:]}


def memory_of_own() -> int | None:
    """Give the bytes of memory that no other process shares; None where the system does not say."""
    try:
        with open("/proc/self/smaps_rollup", encoding="ascii") as file:
            lines = dict(line.split(":", 1) for line in file if ":" in line)
        return 1024 * sum(
            int(lines[name].split()[0]) for name in ("Private_Clean", "Private_Dirty")
        )
    except (OSError, ValueError, KeyError):
        return None


def _say(channel: Connection, **reply: Any) -> None:
    channel.send_bytes(dumps(reply).encode())
