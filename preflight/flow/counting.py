"""Runs in the user's processes: counts what stages give, and the errors that are swallowed.

A worker that is not forked loads it by its path, since preflight need not be installed there: it
stands on the standard library alone.
"""

from __future__ import annotations

import json
import mmap
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FrameType
from typing import Any

# Reasons that a process tells apart, and characters of one; of more, only the number is counted.
MOST, _LONGEST = 64, 300

# Handlers of webdataset that wait half a second for each error: what they say is known.
_WAITING = {"warn_and_continue": True, "warn_and_stop": False}

_NAME = "_preflight_flow_counting"
_LOAD = (
    "object.__new__((lambda sys, util: sys.modules.get({name!r}) or (lambda module: ("
    "sys.modules.__setitem__({name!r}, module), module.__spec__.loader.exec_module(module), module"
    ")[-1])(util.module_from_spec(util.spec_from_file_location({name!r}, {path!r}))))"
    "(__import__('sys'), __import__('importlib.util').util).{kind})"
)

_OWN = os.path.abspath(__file__)


class _Sent:
    """What a worker makes again of its attributes, without a name of ours that it would import."""

    def __reduce__(self) -> tuple[Any, ...]:
        code = _LOAD.format(name=_NAME, path=_OWN, kind=type(self).__name__)
        return eval, (f"eval(compile({code!r}, {_OWN!r}, 'eval'))",), self._told()

    def _told(self) -> dict[str, Any]:
        return vars(self)


class StageCounts(_Sent):
    """Where the processes of one run count: a file of numbers for each, and one of reasons."""

    def __init__(
        self, folder: str, stages: int, bases: tuple[str, ...], *, waits: str = ""
    ) -> None:
        self.given = (folder, stages, bases)
        self.waits = waits
        """Handlers that wait for each error do so until this file is there; empty: none does."""

    def page(self) -> Page | None:
        """Give the page of this process; None where it cannot have one."""
        key = (self.given[0], os.getpid())
        if key not in _PAGES:
            try:
                _PAGES[key] = Page(*self.given)
            except (OSError, ValueError):  # no room is left: nothing is counted
                _PAGES[key] = None
        return _PAGES[key]


_PAGES: dict[tuple[str, int], Page | None] = {}


class Page:
    """What one process counts. Whoever reads it may do so at any time, also when it was killed."""

    def __init__(self, folder: str, stages: int, bases: tuple[str, ...]) -> None:
        size = 8 * (2 * stages + 2 * MOST)
        handle, self._path = tempfile.mkstemp(".counts", f"{os.getpid()}-", folder)
        with open(handle, "r+b") as file:
            file.write(bytes(size))  # raises where there is no room; a hole kills later
            file.flush()
            self.slots = memoryview(mmap.mmap(file.fileno(), size)).cast("Q")
        self._stages = stages
        self._bases = bases
        self._known: dict[tuple[object, ...], tuple[int, str]] = {}

    def swallowed(self, stage: int, by: str, error: BaseException, *, goes_on: bool) -> None:
        """Note that an error ended at a stage."""
        self.slots[self._stages + stage] += 1
        kind = type(error)
        caught, inner = places_of(error, self._bases)
        key = (stage, by, kind, caught, inner[:2], goes_on)
        message = text_of(error)
        if key not in self._known:
            if len(self._known) >= MOST:
                return
            slot = 2 * self._stages + 2 * len(self._known)
            self._known[key] = (slot, message)
            home = "" if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}."
            text = f"{home}{kind.__qualname__}" + (f": {message}" if message else "")
            said: dict[str, Any] = {"stage": stage, "by": by, "caught": caught, "error": text}
            said |= {"file": inner[0], "line": inner[1], "function": inner[2]}
            said |= {"goes_on": goes_on, "slot": slot}
            with open(f"{self._path}.reasons", "a", encoding="utf-8") as file:
                file.write(json.dumps(said) + "\n")
        slot, first = self._known[key]
        self.slots[slot] += 1
        if message != first:
            self.slots[slot + 1] += 1


def text_of(error: BaseException) -> str:
    """Give the first line of what an error says."""
    try:
        return str(error).strip().partition("\n")[0][:_LONGEST]
    except Exception:  # noqa: BLE001  whatever the user's __str__ raises
        return ""


def places_of(error: BaseException, bases: tuple[str, ...]) -> tuple[str, tuple[str, int, str]]:
    """Say which function caught it, and at which of the user's lines it came up."""
    trace = error.__traceback__
    caught = "" if trace is None else trace.tb_frame.f_code.co_name
    inner = ("", 0, "")
    while trace is not None:
        code = trace.tb_frame.f_code
        file = os.path.abspath(code.co_filename)
        if file.startswith(bases) and "site-packages" not in file and file != _OWN:
            inner = (file, trace.tb_lineno, code.co_name)
        trace = trace.tb_next
    return caught, inner


class Tap(_Sent):
    """Stands behind a stage of a pipeline, and counts what it gives."""

    def __init__(self, tally: StageCounts, stage: int) -> None:
        self.tally = tally
        self.stage = stage

    def __call__(self, source: Any) -> Any:
        """Count as a stage."""
        page = self.tally.page()
        return source if page is None else _Counted(iter(source), page.slots, self.stage)


class _Counted:
    """An iterator that counts. It keeps nothing of what it hands on."""

    def __init__(self, source: Iterator[Any], slots: memoryview[int], stage: int) -> None:
        self._next = source.__next__
        self._source = source
        self._slots = slots
        self._stage = stage

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        given = self._next()
        self._slots[self._stage] += 1
        return given

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


class Handler(_Sent):
    """Stands for an exception handler of the job's, and counts what it swallows."""

    def __init__(self, tally: StageCounts, stage: int, handler: Callable[..., Any]) -> None:
        self.tally = tally
        self.stage = stage
        self.handler = handler

    def __call__(self, error: BaseException, *more: Any, **named: Any) -> Any:
        """Handle an error."""
        handler = self.handler
        name = getattr(handler, "__name__", "") if type(handler) is type(text_of) else ""
        is_known = name in _WAITING and handler.__module__ == "webdataset.handlers"
        if is_known and (not self.tally.waits or os.path.exists(self.tally.waits)):
            goes_on: Any = _WAITING[name]
        else:
            goes_on = handler(error, *more, **named)
        page = self.tally.page()
        if page is not None and isinstance(error, BaseException):
            page.swallowed(self.stage, "handler", error, goes_on=bool(goes_on))
        return goes_on


# --- errors that a function of the user's own swallows --------------------------------------------


class Swallows(_Sent):
    """Notes the errors that end in some functions of the user's own, by tracing these alone."""

    def __init__(
        self,
        tally: StageCounts,
        functions: Mapping[tuple[str, int, str], int],
        yielding: tuple[int, ...],
        drops: tuple[tuple[Any, ...], ...] = (),
    ) -> None:
        self.tally = tally
        self.drops = drops
        """The lines whose errors count, with classes of errors that do not; none: all."""

        self.then: Callable[[int], Any] | None = None
        """The job's own function that a worker begins with, which this one stands for."""

        self.functions = functions
        """The stage of each, by its file, first line and name."""

        self.yielding = yielding
        """The stages behind which nothing else counts what they give."""

        self._known: dict[int, tuple[CodeType, int | None]] = {}

    def _told(self) -> dict[str, Any]:
        return {**vars(self), "_known": {}}

    def __call__(self, source: Any = None) -> Any:
        """Begin; as a stage, hand on what comes."""
        self.begin()
        return source if self.then is None else self.then(source)

    def begin(self) -> None:
        """Begin, where nobody else traces."""
        if sys.gettrace() is None and self.tally.page() is not None:
            sys.settrace(self.called)
            frame: FrameType | None = sys._getframe(1)  # noqa: SLF001
            while frame is not None:  # those that run already, and wait for this one
                frame.f_trace = self.called(frame, "call", None)
                frame = frame.f_back

    def called(self, frame: FrameType, _: str, __: object) -> Callable[..., Any] | None:
        """Follow a function whose errors count."""
        code = frame.f_code
        known = self._known.get(id(code))
        if known is None:
            # Below a relative entry of sys.path, Python 3.10 says /job/./train.py.
            key = (os.path.abspath(code.co_filename), code.co_firstlineno, code.co_name)
            known = self._known[id(code)] = (code, self.functions.get(key))
        stage = known[1]
        if stage is None or (page := self.tally.page()) is None:
            return None
        frame.f_trace_lines = False
        return _Segment(page, stage, self.drops, counts=stage in self.yielding).take


class _Segment:
    """A function from where it is called, or resumed, to where it returns or yields."""

    def __init__(self, page: Page, stage: int, drops: Any, *, counts: bool) -> None:
        self._page = page
        self._drops = drops
        self._stage = stage
        self._counts = counts
        self._pending: BaseException | None = None

    def take(self, frame: FrameType, event: str, arg: Any) -> Callable[..., Any]:
        if event == "exception" and _is_told(self._drops, frame.f_lineno, type(arg[1])):
            self._raised(arg[1])
        elif event == "return" and (self._counts or self._pending is not None):
            left = left_by(frame)
            if left.startswith(("RETURN_", "YIELD_")):
                self._note()
            if self._counts and left.startswith("YIELD_"):
                self._page.slots[self._stage] += 1
        return self.take

    def _raised(self, error: object) -> None:
        is_end = isinstance(error, (StopIteration, StopAsyncIteration))
        if is_end or error is self._pending or not isinstance(error, Exception):
            return
        if error.__context__ is not self._pending:
            self._note()
        self._pending = error

    def _note(self) -> None:
        if self._pending is not None:
            self._page.swallowed(self._stage, "own", self._pending, goes_on=True)
        self._pending = None


def _is_told(drops: Any, line: int, kind: type) -> bool:
    names = {one.__name__ for one in kind.__mro__}
    return not drops or any(a <= line <= b and names.isdisjoint(but) for a, b, but in drops)


def left_by(frame: FrameType) -> str:
    """Name the instruction at which a function is left: one that raises, unless it is left well."""
    import dis

    code, at = frame.f_code.co_code, frame.f_lasti
    # From Python 3.13 on, a function that yields is behind that instruction already.
    return dis.opname[code[at - 2 if dis.opname[code[at]] == "RESUME" else at]]


STANDING = (Tap.__call__, _Counted.__next__, Handler.__call__, Swallows.__call__)
"""What stands in the place of the job's own, and calls that."""
