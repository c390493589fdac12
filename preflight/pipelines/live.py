"""Reads off a live loader what it reads, from its own attributes, and calls none of its code."""

from __future__ import annotations

import copy
import functools
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from preflight.objects.attributes import own_attributes
from preflight.objects.facts import Definition
from preflight.pipelines.class_numbers import class_numbers
from preflight.pipelines.facts import Reads, Stage
from preflight.pipelines.file_lists import listing_of
from preflight.pipelines.handlers import handler_of, named
from preflight.pipelines.iter_method import made_inside
from preflight.pipelines.side_by_side import out_of_step
from preflight.pipelines.stage_lines import Lines
from preflight.pipelines.stages import decoding, stage_of, whole_number
from preflight.values.addresses import local_path

# Pipelines that stand in one another: more is nobody's loader.
_DEEPEST = 5

# More than anybody counts to: webdataset's word for "without end" is sys.maxsize.
_ENDLESS = 1 << 40

_READS_SHARDS = ("open", "expand", "group")


def reads(loader: object, name: str, made: Definition, lines: Lines) -> tuple[Reads, ...]:
    """Say what a loader reads; one for each of several pipelines that do other things to samples.

    Empty where it says nothing of it.
    """
    parts = own_attributes(loader)
    outer = parts.get("pipeline")
    told = _Told(lines)
    if type(outer) is list and outer:  # webdataset's WebLoader
        parts = own_attributes(outer[0])
        told.repeats(own_attributes(loader))
    dataset = parts.get("dataset")
    if dataset is None:
        return ()
    told.walk(dataset, 0)
    whole = Reads(
        name=name,
        defined=made,
        num_workers=whole_number(parts.get("num_workers")) or 0,
        batch_size=whole_number(parts.get("batch_size")) or told.batch,
        drop_last=parts.get("drop_last") is True,
    )
    each = list(told.pipelines())
    if not any(one.shards or one.stages for _, one in each):
        return _listed(dataset, whole)
    return tuple(
        found
        for part, one in each
        for found in _of_part(one, replace(whole, name=f"{name} {part}".rstrip(), part=part))
    )


def _of_part(told: _Told, whole: Reads) -> tuple[Reads, ...]:
    """Say what one of several pipelines reads, or what a data set among them lists."""
    if not (told.shards or told.stages):
        return _listed(told.dataset, whole)
    return (
        replace(
            whole,
            shards=tuple(local_path(one) or one for one in told.shards),
            stages=tuple(told.stages),
            endless=told.endless,
            endless_at=told.endless_at,
            own_list=told.own_list,
            batch_size=whole.batch_size or told.batch,
        ),
    )


def _listed(dataset: object, whole: Reads) -> tuple[Reads, ...]:
    """Say which files and columns a data set lists."""
    found = listing_of(dataset)
    if not (found.files or found.columns or found.lost):
        return ()
    return (
        replace(
            whole,
            files=tuple(found.files),
            listed=found.listed,
            columns=found.columns,
            rows=found.rows,
            lost=found.lost,
            lost_names=tuple(found.lost_names[:3]),
            numbers=class_numbers(dataset),
            shifted=out_of_step(dataset),
        ),
    )


def stages_of(thing: object, lines: Lines) -> tuple[Stage, ...]:
    """Say what one stage of a pipeline is; that of a reader of shards is three in one."""
    return tuple(_Told(lines).stages_of(thing, own_attributes(thing)))


class _Told:
    """What the stages of a pipeline say, in their order."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.shards: list[str] = []
        self.stages: list[Stage] = []
        self.endless = ""
        self.endless_at = Definition()
        self.own_list = False
        self.batch: int | None = None
        self.dataset: object = None
        """The data set that was walked first."""

        self.mixed: dict[str, _Told] = {}
        """Pipelines side by side that do other things to samples; `stages` are those behind."""

    def pipelines(self) -> Iterator[tuple[str, _Told]]:
        """Give each pipeline as a whole, and which one it is."""
        if not self.mixed:
            yield "", self
        for part, mixed in self.mixed.items():
            for inner, one in mixed.pipelines():
                yield f"{part}.{inner}".rstrip("."), self._before(one)

    def _before(self, one: _Told) -> _Told:
        """Give a pipeline with what stands behind all of them."""
        whole = copy.copy(one)
        if one.shards or one.stages:
            whole.stages = [*one.stages, *self.stages]
        whole.batch = self.batch or one.batch
        if self.endless and not one.endless:
            whole.endless, whole.endless_at = self.endless, self.endless_at
        return whole

    def walk(self, thing: object, depth: int) -> None:
        """Take in a data set, or a pipeline with all that stands in it."""
        parts = own_attributes(thing)
        inner = parts.get("pipeline")
        self.dataset = thing if self.dataset is None else self.dataset
        if depth > _DEEPEST:
            return
        if type(inner) is list:
            for stage in list(inner):
                self._take(stage, depth)
            self.repeats(parts)
        elif "dataset" in parts:
            self.walk(parts["dataset"], depth + 1)
        elif (inside := made_inside(thing, self.lines.root)) is not None:
            self.shards += inside.shards or (parts["urls"] if _lists_shards(parts) else ())
            self.stages += inside.stages
            self.endless, self.endless_at = inside.endless, inside.endless_at
        elif _lists_shards(parts):
            self._take(thing, depth)
        elif type(parts.get("datasets")) in (list, tuple):
            self._walk_chained(parts["datasets"], depth)
            if parts.get("longest") is False:  # of webdataset's RandomMix and RoundRobin
                name = named(type(thing))
                self.stages.append(Stage(kind="mixed", name=name, at=self.lines.of(name)))
        else:
            self._walk_held(thing, parts, depth)

    def _walk_chained(self, datasets: Sequence[object], depth: int) -> None:
        """Take in pipelines of which one follows the other, or that are drawn from by turns."""
        each = [_Told(self.lines) for _ in datasets]
        for one, dataset in zip(each, datasets, strict=True):
            one.walk(dataset, depth + 1)
        plain = [[stage._replace(at=Definition()) for stage in one.stages] for one in each]
        if each and all(one and one == plain[0] for one in plain):
            self.shards += [shard for one in each for shard in one.shards]
            self.stages, self.batch = [*self.stages, *each[0].stages], each[0].batch
            endless = next((one for one in (self, *each) if one.endless), self)
            self.endless, self.endless_at = endless.endless, endless.endless_at
            self.own_list = any(one.own_list for one in each)
        else:
            self.mixed = {f"datasets[{n}]": one for n, one in enumerate(each)}

    def _walk_held(self, thing: object, parts: Mapping[str, Any], depth: int) -> None:
        """Take in pipelines that a data set of the user's own goes through, and its own code."""
        held = [one for one in parts.values() if type(own_attributes(one).get("pipeline")) is list]
        for one in held:
            self.walk(one, depth + 1)
        if held:
            self.stages.append(Stage(kind="other", handler_name=f"{named(type(thing))}.__iter__"))

    def repeats(self, parts: Mapping[str, Any]) -> None:
        """Note an epoch that begins again."""
        if (whole_number(parts.get("repetitions")) or 0) >= _ENDLESS and not self.endless:
            self.endless = "repeated"
            self.endless_at = self.lines.of("repeat", "with_epoch", given="repeat")

    def _take(self, stage: object, depth: int) -> None:
        parts = own_attributes(stage)
        urls = parts.get("urls")
        if type(urls) is list:
            self.shards += [one for one in urls if type(one) is str]
            self.own_list = not type(stage).__module__.startswith("webdataset")
            if (whole_number(parts.get("nshards")) or 0) >= _ENDLESS:
                self.endless = "resampled"
                self.endless_at = self.lines.of(type(stage).__name__, given="resampled")
        elif type(stage) is list:
            self.shards += [one["url"] for one in _dicts(stage) if type(one.get("url")) is str]
        elif "pipeline" in parts or "dataset" in parts:
            self.walk(stage, depth + 1)
        else:
            found = list(self.stages_of(stage, parts))
            self.stages += found

    def stages_of(self, stage: object, parts: Mapping[str, Any]) -> Iterator[Stage]:
        """Say what a stage is, which has these attributes."""
        function, args, given = applied(stage, parts)
        name = named(function if function is not None else type(stage)).lstrip("_")
        at = self.lines.of(name, args=args)
        defaults = _defaults(function)
        handler, called = handler_of(given.get("handler", defaults.get("handler")))
        one = Stage(kind="other", at=at, handler=handler, handler_name=called)
        if name in ("url_opener", "StreamingOpen", "FileCache"):
            handler, called = handler_of(parts.get("handler", given.get("handler")))
            yield one._replace(kind="open", handler=handler, handler_name=called, at=self._whole())
        elif name in ("tar_file_expander", "group_by_keys"):
            renames = given.get("select_files") or given.get("rename_files")
            kind = "expand" if name == "tar_file_expander" else "group"
            yield one._replace(kind=kind, at=self._whole())
            if renames:
                yield one._replace(kind="other", name="select_files")
        elif name.startswith(("tarfile_samples", "tarfile_to_samples")):
            at = self.lines.of("tarfile_to_samples", name)
            for kind in _READS_SHARDS:
                yield one._replace(kind=kind, at=at)
            if given.get("select_files") or given.get("rename_files"):
                yield one._replace(kind="other", name="select_files", at=at)
        else:
            if name == "map" and args and named(type(args[0])) == "Decoder":
                plain = one._replace(at=self.lines.of("decode"))
                yield decoding(plain, own_attributes(args[0]))
                return
            made = stage_of(one, name, args, given)
            if made.kind == "batched":
                self.batch = made.size or None
            yield made

    def _whole(self) -> Definition:
        return self.lines.of("WebDataset")


def _lists_shards(parts: Mapping[str, Any]) -> bool:
    urls = parts.get("urls")
    return type(urls) is list and any(".tar" in str(one) for one in urls)


def _dicts(things: list[Any]) -> Iterator[dict[str, Any]]:
    return (one for one in things if type(one) is dict)


def applied(
    stage: object, parts: Mapping[str, Any]
) -> tuple[object, Sequence[Any], Mapping[str, Any]]:
    """Give the function of a stage and what it is called with beside the data."""
    if type(stage) is functools.partial:
        return stage.func, stage.args, stage.keywords
    if "f" in parts and type(parts.get("args")) is tuple:  # webdataset's FilterFunction
        return parts["f"], parts["args"], parts.get("kw") or {}
    return (stage, (), {}) if type(stage) is types.FunctionType else (None, (), {})


def _defaults(function: object) -> Mapping[str, Any]:
    """Give the defaults of a function's arguments."""
    if type(function) is not types.FunctionType:
        return {}
    code, values = function.__code__, function.__defaults__ or ()
    places = code.co_varnames[code.co_argcount - len(values) : code.co_argcount]
    return {**dict(zip(places, values, strict=True)), **(function.__kwdefaults__ or {})}
