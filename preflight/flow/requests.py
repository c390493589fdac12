"""Runs in the user's processes: watches how a data set answers when it is asked for a sample.

What a function swallows is no loss by itself: a caption may be missing, or another format be tried.
So is told what each request has gone through, and what its answer is; `answers` holds them against
each other.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import CodeType, FrameType
from typing import Any

from preflight.flow.counting import left_by, places_of, text_of
from preflight.flow.told_apart import (
    SMALL,
    asked_for,
    differ,
    digest_of,
    is_made_of,
    lost_of,
    number_of,
    values_of,
)
from preflight.objects.attributes import own_attributes
from preflight.values.own_files import PACKAGE, passes_on, sent_there

SUFFIX = ".asked"

# Requests that one process tells of, and healthy ones whose answers are told, too.
_MOST, _FIRST = 50_000, 16

# Visits of one function that a request without an error is followed through.
_MOST_VISITS = 3

_OTHER, _OWN, _ASKED = range(3)

Function = tuple[str, int, str]
"""A function by its file, first line and name."""


class Requests:
    """Watches the requests of one process, by tracing the job's functions while one lasts."""

    def __init__(
        self,
        folder: str,
        asked: Iterable[Function],
        held: Iterable[Function],
        bases: tuple[str, ...],
        then: Callable[[int], Any] | None = None,
    ) -> None:
        self.given = (folder, tuple(asked), tuple(held), bases)
        self._kind_by_name = dict.fromkeys(held, _OWN) | dict.fromkeys(asked, _ASKED)
        self.then = then
        """The job's own function that a worker begins with, which this one stands for."""

        self._kinds: dict[int, tuple[CodeType, int, str]] = {}
        self._request: _Request | None = None
        self._told = 0
        self._file: Any = None
        self._pid = 0
        self.last: Any = None
        """What was answered last without an error."""

        self.reuses = False
        """Whether a sound answer is a thing that the data set had before."""

    def begin(self) -> None:
        """Begin, where nobody else traces."""
        if sys.gettrace() is None:
            sys.settrace(self.called)

    @passes_on
    def __call__(self, worker: int) -> Any:
        """Begin in a worker, and do what the job has its workers do."""
        self.begin()
        return None if self.then is None else self.then(worker)

    def __reduce__(self) -> tuple[Any, ...]:
        """Have a worker that is spawned begin by itself."""
        return sent_there(f"{__name__}:begin_there", self.given, self.then)

    def called(self, frame: FrameType, _: str, __: object) -> Callable[..., Any] | None:
        """Follow a function of the job's that a request comes to."""
        code = frame.f_code
        if id(code) not in self._kinds:
            self._kinds[id(code)] = (code, *self._kind_of(code))
        kind, name = self._kinds[id(code)][1:]
        if kind == _OTHER or (self._request is None and kind != _ASKED):
            return None
        if self._request is None:
            if self._told >= _MOST:
                sys.settrace(None)
                return None
            self._request = _Request(self)
        follows = self._request.enter(frame, name)
        frame.f_trace_lines = False
        return follows

    def _kind_of(self, code: CodeType) -> tuple[int, str]:
        file = os.path.abspath(code.co_filename)
        key = (file, code.co_firstlineno, code.co_name)
        kind = self._kind_by_name.get(key)
        if kind is None:
            mine = file.startswith(self.given[3]) and not file.startswith(PACKAGE)
            mine = mine and "site-packages" not in file
            mine = (
                mine and not code.co_filename.startswith("<") and not code.co_name.startswith("<")
            )
            kind = _OWN if mine else _OTHER
        return kind, f"{file}:{code.co_firstlineno}:{code.co_name}"

    def over(self, told: Mapping[str, Any] | None) -> None:
        """End a request, and write what is to be told of it."""
        self._request = None
        if told is None:
            return
        if self._pid != os.getpid():  # a worker that was forked while this one had a file
            self._pid, self._told = os.getpid(), 0
            handle, _ = tempfile.mkstemp(SUFFIX, f"{self._pid}-", self.given[0])
            self._file = open(handle, "wb", buffering=0)  # noqa: SIM115  a worker is killed
        self._told += 1
        self._file.write(json.dumps(told).encode() + b"\n")

    @property
    def is_early(self) -> bool:
        """Whether this is one of the first requests."""
        return self._told < _FIRST


def begin_there(
    folder: str, asked: tuple[Function, ...], held: tuple[Function, ...], bases: tuple[str, ...]
) -> None:
    """Begin in a worker that was not forked."""
    Requests(folder, asked, held, bases).begin()


class _Request:
    """All that a data set does until it answers."""

    def __init__(self, requests: Requests) -> None:
        self.requests = requests
        self.visits: list[_Visit] = []
        """The functions that it is in, the innermost last."""

        self.error: BaseException | None = None
        self.by = ""
        """The first error that was swallowed, and the function that did so."""

        self.failed: dict[str, int] = {}
        self.ended: dict[str, list[int]] = {}
        self.meets_error = False
        self._seen: Counter[str] = Counter()
        self._had: Mapping[str, Any] = {}
        self._index: Any = None

    def enter(self, frame: FrameType, name: str) -> Callable[..., Any] | None:
        self._seen[name] += 1
        if self._seen[name] > _MOST_VISITS and not self.meets_error:
            return None
        visit = _Visit(self, frame, name)
        if not self.visits:
            self._had = dict(own_attributes(visit.me))
            self._index = visit.index
        visit.is_first = self._seen[name] == 1
        self.visits.append(visit)
        return visit.take

    def leave(self, visit: _Visit, answer: Any, *, raises: bool) -> None:
        """Leave a function; with the outermost one, the request is over."""
        del self.visits[self.visits.index(visit) :]
        if not self.visits:
            self.requests.over(None if raises else self._told(visit, answer))

    def _told(self, visit: _Visit, answer: Any) -> dict[str, Any]:
        index = self._index
        several = len(index) if isinstance(index, (list, tuple)) else 0
        told: dict[str, Any] = {"asked": number_of((visit.name, index)), "ended": self.ended}
        if several:
            told["several"] = several
        if self.error is None:
            self.requests.last = answer
            self.requests.reuses = self.requests.reuses or self._is_had(answer)
            if self.requests.is_early:
                told["answer"] = digest_of(answer)
            if type(index) is int:
                told["index"] = index
            if visit.is_replaced:
                told["asks"] = visit.name
            return told
        caught, inner = places_of(self.error, self.requests.given[3])
        kind = type(self.error)
        home = "" if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}."
        told |= {
            "error": f"{home}{kind.__qualname__}",
            "says": text_of(self.error),
            "caught": self.by or caught,
            "at": inner,
            "failed": self.failed,
            "answer": digest_of(answer),
        }
        if several:
            told["lost"] = lost_of(answer, several)
        else:
            told["instead"] = self._instead(visit, answer)
        return told

    def _instead(self, visit: _Visit, answer: Any) -> str:
        if answer is None or (isinstance(answer, (list, tuple, dict)) and not answer):
            return "none"
        if visit.is_replaced:
            return "another"
        last = self.requests.last
        if (last is not None and is_made_of(answer, last)) or (
            self._is_had(answer) and not self.requests.reuses
        ):
            return "earlier"
        return ""

    def _is_had(self, answer: Any) -> bool:
        """Whether it is a thing that the data set had before it was asked."""
        if isinstance(answer, SMALL):
            return False
        return any(answer is one for one in self._had.values())


class _Visit:
    """A function from where it is called, or resumed, to where it returns or yields."""

    def __init__(self, request: _Request, frame: FrameType, name: str) -> None:
        self.request = request
        self.name = name
        self.is_first = True
        self.me, self.index = asked_for(frame)
        self.is_replaced = False
        """Whether its answer is that to another request."""

        self._pending: BaseException | None = None
        self._given: list[tuple[Any, bool]] = []
        """What was answered to other requests meanwhile, and whether an error was at hand."""

        self._of = next(
            (
                one
                for one in request.visits
                if one.name == name and one.me is self.me and differ(one.index, self.index)
            ),
            None,
        )
        self._is_handled = sys.exc_info()[1] is not None

    def take(self, frame: FrameType, event: str, arg: Any) -> Callable[..., Any]:
        if event == "exception":
            self._raised(frame, arg[1])
        elif event == "return":
            left = left_by(frame)
            raises = not left.startswith(("RETURN_", "YIELD_"))
            if not raises:
                self._returned(frame, arg)
            self.request.leave(self, arg, raises=raises)
        return self.take

    def _raised(self, frame: FrameType, error: object) -> None:
        if isinstance(error, (StopIteration, StopAsyncIteration)):
            return
        if isinstance(error, Exception) and self._pending is None:
            self._pending = error
            self.request.meets_error = True
            if self.is_first:
                for name, value in values_of(self.name, frame):
                    self.request.failed.setdefault(name, value)

    def _returned(self, frame: FrameType, answer: Any) -> None:
        request = self.request
        if self._pending is not None and request.error is None:
            request.error, request.by = self._pending, frame.f_code.co_name
        for name, value in values_of(self.name, frame):
            request.ended.setdefault(name, []).append(value)
        self.is_replaced = any(
            handled or is_made_of(answer, given) for given, handled in self._given
        )
        if self._of is not None:
            self._of._given.append((answer, self._is_handled))  # noqa: SLF001
