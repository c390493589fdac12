"""Finds the pipelines of a loader, and has their stages count."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from preflight.flow.counting import STANDING, StageCounts, Swallows, Tap
from preflight.flow.facts import Passed
from preflight.flow.map_style import MapDataset, asked_of
from preflight.flow.stage import (
    called,
    catches,
    function_of,
    functions_of,
    handler_in,
    with_handler,
)
from preflight.flow.streams import stream_of
from preflight.objects import where
from preflight.objects.attributes import classes, own_attributes
from preflight.pipelines.handlers import handler_of, named
from preflight.pipelines.live import applied, stages_of
from preflight.pipelines.stage_lines import Lines
from preflight.users_code.frames import is_users
from preflight.values.own_files import passes_on
from preflight.values.this_process import full_path

# Pipelines that stand in one another: more is nobody's loader.
_DEEPEST = 5

# Stages of which it is known what they give.
_UNITS = {"open": "shard", "expand": "file", "group": "sample", "batched": "batch"}
_SAMPLES = ("unbatched", "unlisted")

for _call in STANDING:  # a file that knows nothing of ours, since workers are given it by its text
    passes_on(_call)


Undo = tuple[dict[str, Any], str, Any]
"""Attributes, a name, and what it was before."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A pipeline, with the places of its stages among all."""

    parts: dict[str, Any]
    first: int


class Fitting:
    """What has been found of a loader."""

    def __init__(self, lines: Lines, root: str) -> None:
        self.stages: list[Passed] = []
        self.found: list[_Found] = []
        self._lines = lines
        self._root = root
        self._seen: list[object] = []
        self.functions: dict[tuple[str, int, str], int] = {}
        """The stage of each function of the user's that catches errors: file, line and name."""

        self._unit = "sample"
        self._pipelines = 0
        self.around_of: list[int] = []
        """Stages behind which nothing counts but what traces their functions."""

    def walk(self, thing: object, depth: int) -> None:
        """Take in the pipelines in a thing, the innermost first."""
        parts = own_attributes(thing)
        if depth > _DEEPEST or any(one is thing for one in self._seen):
            return
        self._seen.append(thing)
        inner = parts.get("pipeline")
        if type(inner) is list and isinstance(parts, dict):
            if counts_already(inner):
                return
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
        self.around_of.append(len(self.stages))
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
                key = (full_path(code.co_filename), code.co_firstlineno, code.co_name)
                self.functions[key] = stage

    def stream(self, dataset: object) -> types.FunctionType | None:
        """Note what gives samples and drops some of them, and is no pipeline; None: it is none.

        Only one that may drop something is traced, since that takes time.
        """
        own = stream_of(dataset)
        if own is None or not self._is_users(own):
            return None
        at = where.defined(own, self._root).at
        call = f"{named(type(dataset))}.{own.__name__}"
        self._add(Passed(call=call, kind="stream", at=at, unit="sample"))
        return own

    def asked(self, dataset: object) -> MapDataset | None:
        """Note what is asked for samples and may swallow an error; None: nothing does."""
        found = asked_of(dataset, self._root)
        if found is not None:
            at = where.defined(found.own, self._root).at
            call = f"{named(found.kind)}.{found.own.__name__}"
            self._add(Passed(call=call, kind="asked", at=at, unit="sample"))
        return found

    def put(self, tally: StageCounts, swallows: Swallows | None) -> Iterator[Undo]:
        """Give each stage what counts behind it, and its handler one that does as it does."""
        for one in self.found:
            stages: list[Any] = one.parts["pipeline"]
            yield one.parts, "pipeline", stages
            counted: list[Any] = []
            for number, stage in enumerate(stages, one.first):
                counted += [with_handler(stage, tally, number), Tap(tally, number)]
                if swallows is not None and number == one.first:
                    counted.append(swallows)
            one.parts["pipeline"] = counted


def counts_already(stages: list[Any]) -> bool:
    """Whether the stages of a pipeline have been given what counts."""
    return any("tally" in own_attributes(one) for one in stages)


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
