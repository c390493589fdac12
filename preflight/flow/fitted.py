"""Runs in the process that draws: has the stages of a loader's pipeline count, and undoes that."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import process
from typing import Any

from preflight.flow.counting import Swallows
from preflight.flow.fitting import Fitting, Undo
from preflight.flow.later import Later, Where, Within
from preflight.flow.pages import read
from preflight.flow.requests import Requests
from preflight.flow.streams import drops_of
from preflight.loaders.sent import resamples
from preflight.loaders.wrappers import real_loader
from preflight.objects.attributes import own_attributes
from preflight.objects.facts import Definition
from preflight.pipelines.stage_lines import Lines
from preflight.users_code.frames import own_sources
from preflight.values.own_files import is_our_line
from preflight.values.this_process import full_path
from preflight.values.wire import to_wire


@dataclass(slots=True)
class Fitted:
    """A loader whose stages count what they give while it is run."""

    about: dict[str, Any]
    """What is told of it before: its stages, and where they count."""

    _undo: list[Undo]
    _trace: object
    _later: Later | None
    _tracer: Any = None
    """What traces functions of the job's while more is drawn."""

    def counts(self) -> dict[str, Any]:
        """Say what has been counted by now."""
        return read(self.about)

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """Have what begins within count, too, and what is traced be traced there alone."""
        if self._later is not None:
            self._later.begin()
        if self._tracer is not None and sys.gettrace() is None:
            sys.settrace(self._tracer)
        try:
            yield
        finally:
            self._rest()

    def _rest(self) -> None:
        tracer = sys.gettrace()
        traces = getattr(tracer, "__self__", None)
        if traces is not None and (
            traces is self._trace or (self._later is not None and traces is self._later.traced)
        ):
            self._tracer = tracer
            sys.settrace(None)
        if self._later is not None:
            self._later.end()

    def undo(self) -> None:
        """Give the pipelines their own stages back; what runs already goes on counting."""
        self._rest()
        for parts, name, own in reversed(self._undo):
            parts[name] = own

    @property
    def may_swallow(self) -> bool:
        """Whether a handler, or a function that catches errors, stands in what has begun by now."""
        parts = (self.about, *self.counts()["later"])
        handlers = (one.get("handler_name") for part in parts for one in part["stages"])
        return any(one["catches"] for one in parts) or any(handlers)

    def hurry(self) -> None:
        """Have handlers wait no more for each error."""
        with open(os.path.join(self.about["folder"], _HURRIES), "wb"):
            pass


_HURRIES = "hurries"

_MADE_IN: list[str] = []
"""Where pipelines have counted while a loader was made: told with the next one that counts."""


@contextmanager
def while_made(made: Definition, root: str, *, counts: bool) -> Iterator[None]:
    """Have pipelines count that the job goes over while it makes a loader."""
    if not (counts and Later.is_likely(root)):
        yield
        return
    where = _where(root)
    later = Later(where, root, made)
    later.begin()
    try:
        yield
    finally:
        later.end()
        _MADE_IN[:] = [where.folder]


def fit(
    loader: object, made: Definition, root: str, *, scratch: str | None = None
) -> Fitted | None:
    """Have the pipelines of a loader count, also those that it makes while it is gone over.

    None where it has none and makes none. `scratch` is where it does so while a script runs it:
    then handlers do all that they do.
    """
    try:
        fitting = Fitting(Lines(made, root, lambda: own_sources(root)), root)
        fitting.walk(loader, 0)
        return _fitted(fitting, loader, made, root, scratch)
    except Exception as error:  # the user's own classes say how they are copied
        if is_our_line(error):
            raise
        return None


def _fitted(
    fitting: Fitting, loader: object, made: Definition, root: str, scratch: str | None
) -> Fitted | None:
    parts = own_attributes(real_loader(loader))
    plain = None if fitting.found else parts.get("dataset")
    stream = fitting.stream(plain)
    asked = fitting.asked(plain) if stream is None and not fitting.stages else None
    makes_some = Later.is_likely(root)
    if not isinstance(parts, dict) or not (fitting.stages or makes_some):
        return None
    where = _where(root, scratch)
    tally = where.tally(len(fitting.stages))
    begins = then = parts.get("worker_init_fn")
    traces: Swallows | Requests
    undo: list[Undo] = []
    if asked is not None:
        traces = Requests(where.folder, asked.asked, asked.held, where.bases, then)
    elif stream is not None:
        code, drops = stream.__code__, tuple(tuple(one) for one in drops_of(stream))
        key = (code.co_filename, code.co_firstlineno, code.co_name)
        traces = Swallows(tally, {key: 0}, (0,), drops)
    else:
        traces = Swallows(tally, fitting.functions, tuple(fitting.around_of))
        undo += fitting.put(tally, traces if fitting.functions else None)
    later = Later(where, root, made) if makes_some else None
    if (stream or asked) is not None and parts.get("num_workers"):
        traces.then = then
        begins = traces
    elif (stream or asked) is not None:
        traces.begin()
    if later is not None:
        later.begin()
        begins = Within(later, begins)
    if parts.get("num_workers") and begins is not then:
        undo.append((parts, "worker_init_fn", then))
        parts["worker_init_fn"] = begins
    about = {
        "folder": where.folder,
        "stages": to_wire(fitting.stages),
        "resampled": resamples(own_attributes(loader)),
        "made_in": _MADE_IN[:],
        "catches": (stream or asked) is not None or bool(fitting.functions),
        "asks": asked is not None,
    }
    _MADE_IN.clear()
    return Fitted(about, undo, traces, later)


def _where(root: str, scratch: str | None = None) -> Where:
    places = (full_path(one) + os.sep for one in (root, os.curdir))
    folder = tempfile.mkdtemp(dir=scratch or _folder())
    waits = "" if scratch is None else os.path.join(folder, _HURRIES)
    return Where(folder, tuple(dict.fromkeys(places)), waits=waits)


def _folder() -> str | None:
    """Give a folder that is removed when this process is ended."""
    config: Any = process.current_process()._config  # type: ignore[attr-defined]  # noqa: SLF001
    folder = config.get("tempdir")
    return folder if isinstance(folder, str) else None
