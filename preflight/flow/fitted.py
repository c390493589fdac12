"""Runs in the process that draws: has the stages of a loader's pipeline count, and undoes that."""

from __future__ import annotations

import functools
import os
import sys
import tempfile
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from multiprocessing import process
from typing import Any

from preflight.flow.counting import STANDING, Swallows, Tally, Tap
from preflight.flow.facts import Passed
from preflight.flow.pages import read
from preflight.flow.stage import (
    called,
    catches,
    function_of,
    functions_of,
    handler_in,
    with_handler,
)
from preflight.flow.streams import drops_of, stream_of
from preflight.loaders.around import real_loader
from preflight.loaders.sent import resamples
from preflight.objects import where
from preflight.objects.attributes import classes, own_attributes
from preflight.objects.facts import Definition
from preflight.pipelines.handlers import handler_of, named
from preflight.pipelines.lines import Lines
from preflight.pipelines.live import applied, stages_of
from preflight.users_code.frames import is_users, own_sources
from preflight.values.own_files import passes_on
from preflight.values.wire import to_wire

# Pipelines that stand in one another: more is nobody's loader.
_DEEPEST = 5

# Stages of which it is known what they give.
_UNITS = {"open": "shard", "expand": "file", "group": "sample", "batched": "batch"}
_SAMPLES = ("unbatched", "unlisted")

for _call in STANDING:  # a file that knows nothing of ours, since workers are given it by its text
    passes_on(_call)


@dataclass(slots=True)
class Fitted:
    """A loader whose stages count what they give while it is run."""

    about: dict[str, Any]
    """What is told of it before: its stages, and where they count."""

    _undo: list[tuple[dict[str, Any], str, Any]]
    _trace: object

    def counts(self) -> dict[str, Any]:
        """Say what has been counted by now."""
        return read(self.about["folder"], len(self.about["stages"]))

    def undo(self) -> None:
        """Give the pipelines their own stages back; what runs already goes on counting."""
        for parts, name, own in self._undo:
            parts[name] = own
        tracer = sys.gettrace()
        if tracer is not None and getattr(tracer, "__self__", None) is self._trace:
            sys.settrace(None)


def fit(
    loader: object, made: Definition, root: str, *, scratch: str | None = None
) -> Fitted | None:
    """Have the pipeline of a loader count; None where it has none.

    `scratch` is where it does so while a script runs it: then handlers do all that they do.
    """
    try:
        fitting = _Fitting(Lines(made, root, functools.partial(own_sources, root)), root, scratch)
        fitting.walk(loader, 0)
        return fitting.fitted(loader) if fitting.found else fitting.stream(real_loader(loader))
    except Exception:  # noqa: BLE001  the user's own classes say how they are copied
        return None


@dataclass(frozen=True, slots=True)
class _Found:
    """A pipeline, with the places of its stages among all."""

    parts: dict[str, Any]
    first: int


class _Fitting:
    """What has been found of a loader."""

    def __init__(self, lines: Lines, root: str, scratch: str | None) -> None:
        self._scratch = scratch
        self.stages: list[Passed] = []
        self.found: list[_Found] = []
        self._lines = lines
        self._root = root
        self._seen: list[object] = []
        self._functions: dict[tuple[str, int, str], int] = {}
        self._unit = "sample"
        self._pipelines = 0
        self._around_of: list[int] = []

    def walk(self, thing: object, depth: int) -> None:
        """Take in the pipelines in a thing, the innermost first."""
        parts = own_attributes(thing)
        if depth > _DEEPEST or any(one is thing for one in self._seen):
            return
        self._seen.append(thing)
        inner = parts.get("pipeline")
        if type(inner) is list and isinstance(parts, dict):
            for stage in inner[:1]:
                self.walk(stage, depth + 1)
            self._take(inner, parts)
            return
        before = len(self.stages)
        for held in _held(parts):
            self.walk(held, depth + 1)
        if len(self.stages) > before:
            self._around(thing)

    def _take(self, stages: list[Any], parts: dict[str, Any]) -> None:
        self.found.append(_Found(parts, len(self.stages)))
        self._pipelines += 1
        if not any(
            one.kind == "group" for stage in stages for one in stages_of(stage, self._lines)
        ):
            self._unit = self._unit if self.stages else "sample"
        else:
            self._unit = "shard"
        for stage in stages:
            self._note(stage)

    def _note(self, stage: object) -> None:
        """Say what a stage is, and what it gives."""
        told = stages_of(stage, self._lines)
        last = told[-1]
        function, args, _ = applied(stage, own_attributes(stage))
        name = named(function if function is not None else type(stage)).lstrip("_")
        users = [*filter(self._is_users, functions_of(stage))]
        at = last.at
        if not at.line and users:
            at = where.defined(users[0], self._root).at
        self._unit = "sample" if name in _SAMPLES else _UNITS.get(last.kind, self._unit)
        if _batch_size(stage) is not None:
            self._unit = "batch"
        handler = handler_in(stage)
        self._trace(users, len(self.stages))
        self._add(
            Passed(
                call=called(name, args, stage),
                kind=last.kind,
                handler_name=handler_of(handler)[1] if handler is not None else "",
                at=at,
                unit=self._unit,
            )
        )

    def _around(self, thing: object) -> None:
        """Note what stands around a pipeline: a loader, or a data set of the user's own."""
        if _batch_size(thing) is not None:
            self._unit = "batch"
            return
        own = function_of(thing)
        if own is None or not self._is_users(own):
            return
        self._trace([own], len(self.stages))
        self._around_of.append(len(self.stages))
        at = where.defined(own, self._root).at
        call = f"{named(type(thing))}.__iter__"
        self._pipelines += 1
        self._add(Passed(call=call, kind="around", at=at, unit=self._unit))

    def _add(self, stage: Passed) -> None:
        self.stages.append(replace(stage, pipeline=self._pipelines))

    def _is_users(self, function: types.FunctionType) -> bool:
        return is_users(function.__code__.co_filename, self._root)

    def _trace(self, users: list[types.FunctionType], stage: int) -> None:
        for one in users:
            code = one.__code__
            if catches(code):
                key = (os.path.abspath(code.co_filename), code.co_firstlineno, code.co_name)
                self._functions[key] = stage

    def stream(self, loader: object) -> Fitted | None:
        """Have workers count what a stream gives and drops that is no pipeline; None: it is none.

        Only one that may drop something is traced, since that takes time.
        """
        parts = own_attributes(loader)
        dataset = parts.get("dataset")
        own = stream_of(dataset)
        if own is None or not isinstance(parts, dict) or not self._is_users(own):
            return None
        at = where.defined(own, self._root).at
        call = f"{named(type(dataset))}.{own.__name__}"
        self._add(Passed(call=call, kind="stream", at=at, unit="sample"))
        code = own.__code__
        key = (code.co_filename, code.co_firstlineno, code.co_name)
        tally = self._tally()
        swallows = Swallows(tally, {key: 0}, (0,), tuple(tuple(one) for one in drops_of(own)))
        undo = [(parts, "worker_init_fn", parts.get("worker_init_fn"))]
        if parts.get("num_workers"):
            swallows.then = parts.get("worker_init_fn")
            parts["worker_init_fn"] = swallows
        else:
            swallows()
        return Fitted(self._about(tally, resampled=False), undo, swallows)

    def _tally(self) -> Tally:
        places = (os.path.abspath(one) + os.sep for one in (self._root, os.curdir))
        bases = tuple(dict.fromkeys(places))
        folder = tempfile.mkdtemp(dir=self._scratch or _folder())
        return Tally(folder, len(self.stages), bases, waits=self._scratch is not None)

    def _about(self, tally: Tally, *, resampled: bool) -> dict[str, Any]:
        stages = to_wire(self.stages)
        return {"folder": tally.given[0], "stages": stages, "resampled": resampled}

    def fitted(self, loader: object) -> Fitted:
        """Give each stage what counts behind it, and its handler one that does as it does."""
        tally = self._tally()
        swallows = (
            Swallows(tally, self._functions, tuple(self._around_of)) if self._functions else None
        )
        undo: list[tuple[dict[str, Any], str, Any]] = []
        for one in self.found:
            stages: list[Any] = one.parts["pipeline"]
            undo.append((one.parts, "pipeline", stages))
            counted: list[Any] = []
            for number, stage in enumerate(stages, one.first):
                counted += [with_handler(stage, tally, number), Tap(tally, number)]
                if swallows is not None and number == one.first:
                    counted.append(swallows)
            one.parts["pipeline"] = counted
        about = self._about(tally, resampled=resamples(own_attributes(loader)))
        return Fitted(about, undo, swallows)


def _folder() -> str | None:
    """Give a folder that is removed when this process is ended."""
    config: Any = process.current_process()._config  # type: ignore[attr-defined]  # noqa: SLF001
    folder = config.get("tempdir")
    return folder if isinstance(folder, str) else None


def _held(parts: Mapping[str, Any]) -> Iterator[object]:
    """Give what may be, or hold, a pipeline."""
    for name, held in parts.items():
        if name in ("dataset", "datasets"):
            yield from held if type(held) in (list, tuple) else (held,)
        elif type(own_attributes(held).get("pipeline")) is list:
            yield held


def _batch_size(thing: object) -> int | None:
    """Give how many samples a DataLoader puts into a batch; None where it leaves that to others."""
    if not isinstance(thing, classes("torch.utils.data", "DataLoader")):
        return None
    size = own_attributes(thing).get("batch_size")
    return size if isinstance(size, int) else None
