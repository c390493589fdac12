"""Has pipelines count that are made while a loader is gone over: in its workers, or beside them."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

from preflight.flow.counting import StageCounts, Swallows
from preflight.flow.fitting import Fitting, counts_already
from preflight.flow.pages import LATER, STAGES
from preflight.flow.requests import Requests
from preflight.loaders.sent import resamples
from preflight.objects.attributes import classes, own_attributes
from preflight.objects.facts import Definition
from preflight.pipelines.stage_lines import Lines
from preflight.users_code.frames import own_sources
from preflight.values.own_files import is_our_line, passes_on, sent_there
from preflight.values.wire import to_wire

# Pipelines of other stages than those before them that are told apart.
_MOST = 64

_KIND = ("webdataset.pipeline", "DataPipeline")

_ACTIVE: list[Later] = []
"""Those that have begun: the last of them counts."""


class Where(NamedTuple):
    """Where the processes of one run count."""

    folder: str
    bases: tuple[str, ...]
    waits: str
    """As of `StageCounts`."""

    def tally(self, stages: int) -> StageCounts:
        """Give what counts in so many stages."""
        return StageCounts(self.folder, stages, self.bases, waits=self.waits)


class Later:
    """Has each pipeline count that begins in this process, and in those that are forked from it."""

    def __init__(self, where: Where, root: str, made: Definition) -> None:
        self.given = (where, root, made)
        self._lines = Lines(made, root, lambda: own_sources(root))
        self.traced = _Traced()

    @staticmethod
    def is_likely(root: str) -> bool:
        """Whether the job has pipelines: it has imported webdataset, or will when it needs it."""
        if not classes(*_KIND) and any(map(_names_it, own_sources(root))):
            try:
                import webdataset  # noqa: F401
            except ImportError:
                return False
        return bool(classes(*_KIND))

    def begin(self) -> None:
        """Begin; pipelines that begin from now on count."""
        for kind in classes(*_KIND):
            begins: Any = kind.__dict__.get("iterator1")
            if begins is not None and not hasattr(begins, "of_later"):
                kind.iterator1 = _counting(begins)  # type: ignore[attr-defined]
        self.end()
        _ACTIVE.append(self)

    def end(self) -> None:
        """Leave pipelines alone that begin from now on."""
        _ACTIVE[:] = [one for one in _ACTIVE if one is not self]
        self.traced.end()

    def fit(self, pipeline: object) -> None:
        """Have a pipeline count that is about to begin."""
        where, root, _ = self.given
        parts = own_attributes(pipeline)
        if counts_already(parts.get("pipeline") or []):
            return
        fitting = Fitting(self._lines, root)
        fitting.walk(pipeline, 0)
        if not fitting.found:
            return
        told = {
            "stages": to_wire(fitting.stages),
            "resampled": resamples(parts),
            "catches": bool(fitting.functions),
        }
        folder = _folder_of(where.folder, told)
        if folder is None:
            return
        tally = where._replace(folder=folder).tally(len(fitting.stages))
        for _ in fitting.put(tally, None):
            pass
        if fitting.functions:
            self.traced.begin(Swallows(tally, fitting.functions, ()))


def _names_it(file: str) -> bool:
    try:
        with open(file, "rb") as source:
            return b"webdataset" in source.read()
    except OSError:
        return False


def _folder_of(folder: str, told: dict[str, Any]) -> str | None:
    """Give the folder in which pipelines of the same stages count, in all processes."""
    text = json.dumps(told)
    home = os.path.join(folder, LATER)
    own = os.path.join(home, hashlib.sha256(text.encode()).hexdigest()[:16])
    if not os.path.isdir(own):
        os.makedirs(home, exist_ok=True)
        if len(os.listdir(home)) >= _MOST:
            return None
        os.makedirs(own, exist_ok=True)
        written = os.path.join(own, f"{os.getpid()}.new")
        with open(written, "w", encoding="utf-8") as file:
            json.dump({**told, "since": time.time()}, file)
        os.replace(written, os.path.join(own, STAGES))
    return own


def _counting(begins: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for the method by which a pipeline begins."""

    @passes_on
    @functools.wraps(begins)
    def begin(pipeline: Any, *given: Any, **named: Any) -> Any:
        if _ACTIVE:
            try:
                _ACTIVE[-1].fit(pipeline)
            except Exception as error:  # the user's own classes say how they are copied
                if is_our_line(error):
                    raise
        return begins(pipeline, *given, **named)

    begin.of_later = True  # type: ignore[attr-defined]
    return begin


# A worker that is not forked has them by its own way.
_OURS = (Swallows.__name__, Requests.__name__)


class _Traced:
    """Traces the functions of several pipelines, and those that are traced already."""

    def __init__(self) -> None:
        self._each: list[Swallows | Requests] = []

    def begin(self, swallows: Swallows) -> None:
        """Trace the functions of one more."""
        tracer: Any = sys.gettrace()
        before = getattr(tracer, "__self__", None)
        if before is not self:
            if tracer is not None and type(before).__name__ not in _OURS:
                return  # somebody else's, a debugger's say
            self._each = [] if before is None else [before]
            sys.settrace(self.called)
        self._each.append(swallows)

    def end(self) -> None:
        """Trace no more."""
        if getattr(sys.gettrace(), "__self__", None) is self:
            sys.settrace(None)

    def called(self, frame: FrameType, event: str, given: object) -> Callable[..., Any] | None:
        """Give what follows a function that is called."""
        for one in self._each:
            follows = one.called(frame, event, given)
            if follows is not None:
                return follows
        return None


# --- workers that are not forked ------------------------------------------------------------------


def begin_there(where: tuple[Any, ...], root: str, made: tuple[Any, ...]) -> None:
    """Begin in a worker that was not forked."""
    Later.is_likely(root)
    Later(Where(*where), root, Definition(*made)).begin()


class Within:
    """What a worker begins with. One that is forked counts by what it was forked from."""

    def __init__(self, later: Later, then: Callable[[int], Any] | None) -> None:
        self._later = later
        self._then = then

    @passes_on
    def __call__(self, worker: int) -> Any:
        """Do what the job has its workers do."""
        return None if self._then is None else self._then(worker)

    def __reduce__(self) -> tuple[Any, ...]:
        """Have a worker that is spawned begin by itself, without a name that it would import."""
        where, root, made = self._later.given
        given = (tuple(where), root, to_wire(made))
        return sent_there(f"{__name__}:{begin_there.__name__}", given, self._then)
