"""Reads off a live loader what it reads, from its own attributes, and calls none of its code."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from preflight.objects.attributes import own_attributes
from preflight.objects.facts import Definition
from preflight.pipelines.facts import Reads, Stage
from preflight.pipelines.handlers import handler_of, named
from preflight.pipelines.lines import Lines
from preflight.pipelines.listed import listing_of
from preflight.values.addresses import local_path

# Pipelines that stand in one another: more is nobody's loader.
_DEEPEST = 5

# More than anybody counts to: webdataset's word for "without end" is sys.maxsize.
_ENDLESS = 1 << 40

# Stages after which every sample is as it was; those that only cut the stream off are among them.
_PASS = frozenset(
    {
        *("info", "log_keys", "slice", "islice", "unlisted", "unbatched", "associate"),
        *("Cached", "LMDBCached", "non_empty", "check_empty", "single_node_only"),
    }
)
_SPLIT = frozenset({"split_by_node", "split_by_worker"})
_FILTERS = frozenset({"select", "rsample", "map_tuple"})
_READS_SHARDS = ("open", "expand", "group")


def reads(loader: object, name: str, made: Definition, lines: Lines) -> Reads | None:
    """Say what a loader reads; None where it says nothing of it."""
    parts = own_attributes(loader)
    outer = parts.get("pipeline")
    told = _Told(lines)
    if type(outer) is list and outer:  # webdataset's WebLoader
        parts = own_attributes(outer[0])
        told.repeats(own_attributes(loader))
    dataset = parts.get("dataset")
    if dataset is None:
        return None
    told.walk(dataset, 0)
    whole = Reads(
        name=name,
        defined=made,
        shards=tuple(local_path(one) or one for one in told.shards),
        stages=tuple(told.stages),
        endless=told.endless,
        endless_at=told.endless_at,
        num_workers=_whole(parts.get("num_workers")) or 0,
        batch_size=_whole(parts.get("batch_size")) or told.batch,
        drop_last=parts.get("drop_last") is True,
    )
    if told.shards or told.stages:
        return whole
    found = listing_of(dataset)
    if not (found.files or found.columns or found.lost):
        return None
    return replace(
        whole,
        files=tuple(found.files),
        listed=found.listed,
        columns=found.columns,
        rows=found.rows,
        lost=found.lost,
        lost_names=tuple(found.lost_names[:3]),
    )


def stages_of(thing: object, lines: Lines) -> tuple[Stage, ...]:
    """Say what one stage of a pipeline is; that of a reader of shards is three in one."""
    return tuple(_Told(lines).stages_of(thing, own_attributes(thing)))


def _whole(value: object) -> int | None:
    return value if type(value) is int else None


class _Told:
    """What the stages of a pipeline say, in their order."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.shards: list[str] = []
        self.stages: list[Stage] = []
        self.endless = ""
        self.endless_at = Definition()
        self.batch: int | None = None

    def walk(self, thing: object, depth: int) -> None:
        """Take in a data set, or a pipeline with all that stands in it."""
        parts = own_attributes(thing)
        inner = parts.get("pipeline")
        if depth > _DEEPEST:
            return
        if type(inner) is list:
            for stage in list(inner):
                self._take(stage, depth)
            self.repeats(parts)
        elif "dataset" in parts:
            self.walk(parts["dataset"], depth + 1)
        elif type(parts.get("urls")) is list and any(".tar" in str(one) for one in parts["urls"]):
            self._take(thing, depth)
        elif type(parts.get("datasets")) in (list, tuple):
            self._walk_chained(parts["datasets"], depth)
        else:
            self._walk_held(thing, parts, depth)

    def _walk_chained(self, datasets: Sequence[object], depth: int) -> None:
        """Take in pipelines of which one follows the other, where they do the same to samples."""
        each = [_Told(self.lines) for _ in datasets]
        for one, dataset in zip(each, datasets, strict=True):
            one.walk(dataset, depth + 1)
        plain = [[replace(stage, at=Definition()) for stage in one.stages] for one in each]
        if each and all(one and one == plain[0] for one in plain):
            self.shards += [shard for one in each for shard in one.shards]
            self.stages, self.batch = [*self.stages, *each[0].stages], each[0].batch
            endless = next((one for one in (self, *each) if one.endless), self)
            self.endless, self.endless_at = endless.endless, endless.endless_at

    def _walk_held(self, thing: object, parts: Mapping[str, Any], depth: int) -> None:
        """Take in pipelines that a data set of the user's own goes through, and its own code."""
        held = [one for one in parts.values() if type(own_attributes(one).get("pipeline")) is list]
        for one in held:
            self.walk(one, depth + 1)
        if held:
            self.stages.append(Stage(kind="other", handler_name=f"{named(type(thing))}.__iter__"))

    def repeats(self, parts: Mapping[str, Any]) -> None:
        """Note an epoch that begins again."""
        if (_whole(parts.get("repetitions")) or 0) >= _ENDLESS and not self.endless:
            self.endless = "repeated"
            self.endless_at = self.lines.of("repeat", "with_epoch", given="repeat")

    def _take(self, stage: object, depth: int) -> None:
        parts = own_attributes(stage)
        urls = parts.get("urls")
        if type(urls) is list:
            self.shards += [one for one in urls if type(one) is str]
            if (_whole(parts.get("nshards")) or 0) >= _ENDLESS:
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
            yield replace(one, kind="open", handler=handler, handler_name=called, at=self._whole())
        elif name in ("tar_file_expander", "group_by_keys"):
            renames = given.get("select_files") or given.get("rename_files")
            kind = "expand" if name == "tar_file_expander" else "group"
            yield replace(one, kind=kind, at=self._whole())
            if renames:
                yield replace(one, kind="other")
        elif name.startswith(("tarfile_samples", "tarfile_to_samples")):
            at = self.lines.of("tarfile_to_samples", name)
            for kind in _READS_SHARDS:
                yield replace(one, kind=kind, at=at)
            if given.get("select_files") or given.get("rename_files"):
                yield replace(one, kind="other", at=at)
        else:
            if name == "map" and args and named(type(args[0])) == "Decoder":
                decoding = replace(one, at=self.lines.of("decode"))
                yield _decoding(decoding, own_attributes(args[0]))
                return
            made = stage_of(one, name, args, given)
            if made.kind == "batched":
                self.batch = made.size or None
            yield made

    def _whole(self) -> Definition:
        return self.lines.of("WebDataset")


def stage_of(one: Stage, name: str, args: Sequence[Any], given: Mapping[str, Any]) -> Stage:
    """Say what a stage does with samples, by its name and by what it was given."""
    if name == "decode":
        return _decoding(one, {"handlers": args, **given})
    if name in ("to_tuple", "extract_keys"):
        return _tuple(one, name, args, given)
    if name in ("rename", "rename_keys"):
        return _renaming(one, name, args, given)
    if name == "map_dict":
        wanted = tuple((key,) for key in given if key != "handler")
        return replace(one, kind=name, fields=wanted)
    if name in ("batched", "listed"):
        size = given.get("batchsize", args[0] if args else 20)
        partial = given.get("partial", args[2] if len(args) > 2 else True)
        return replace(one, kind="batched", size=_whole(size) or 0, partial=partial is not False)
    if name in _SPLIT:
        return replace(one, kind="split", name=name, handler="")
    if name in _PASS or name.startswith(("shuffle", "detshuffle")):
        return replace(one, kind="pass", name=name, handler="")
    if name in _FILTERS:
        return replace(one, kind="filter")
    known = name if name == "map" else ""
    return replace(one, name=known, handler_name=one.handler_name or name)


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


# Handlers that webdataset itself puts before and behind those that a job gives.
_USUAL = frozenset({"gzfilter", "basichandlers"})


def _decoding(one: Stage, parts: Mapping[str, Any]) -> Stage:
    handlers = parts.get("handlers") or ()
    images = any(type(h) is str or named(type(h)) == "ImageHandler" for h in handlers)
    only = parts.get("only")
    if type(only) not in (str, list, tuple, set, frozenset, type(None)):
        return replace(one, kind="other")
    if only is not None:
        only = tuple(sorted(only.split() if type(only) is str else only))
    usual = all(
        type(h) is str or named(type(h)) == "ImageHandler" or getattr(h, "__name__", "") in _USUAL
        for h in handlers
    )
    return replace(one, kind="decode", images=images, records=usual, only=only)


def _alternatives(wanted: Any) -> tuple[str, ...]:
    """Give the names of a field; none where nobody knows them before the run."""
    if type(wanted) is str:
        return tuple(wanted.split(";"))
    named = type(wanted) in (list, tuple) and all(type(one) is str for one in wanted)
    return tuple(wanted) if named else ()


def _if_known(stage: Stage) -> Stage:
    """Take a stage for one of which nothing is known where one of its fields has no name."""
    return stage if all(stage.fields) else replace(stage, kind="other", fields=(), names=())


def _tuple(one: Stage, name: str, args: Sequence[Any], given: Mapping[str, Any]) -> Stage:
    if name == "to_tuple" and len(args) == 1 and type(args[0]) is str and " " in args[0]:
        args = args[0].split()
    strict = given.get("missing_is_error", True) if name == "to_tuple" else None
    if strict is None:
        one, strict = replace(one, handler="raises"), not given.get("ignore_missing", False)
    fields = tuple(map(_alternatives, args))
    return _if_known(replace(one, kind=name, fields=fields, strict=strict is True))


def _renaming(one: Stage, name: str, args: Sequence[Any], given: Mapping[str, Any]) -> Stage:
    options = {"handler", "keep", "keep_unselected", "must_match", "duplicate_is_error"}
    pairs = [pair for pair in args if type(pair) is tuple and len(pair) == 2]
    pairs += [(new, old) for new, old in given.items() if new not in options]
    fields = tuple(_alternatives([old] if name == "rename_keys" else old) for _, old in pairs)
    keeps = given.get("keep", True) if name == "rename" else given.get("keep_unselected", False)
    made = replace(
        one,
        kind=name,
        fields=fields,
        names=tuple(str(new) for new, _ in pairs),
        keeps=bool(keeps),
        strict=name == "rename" or bool(given.get("must_match", True)),
        handler=one.handler if name == "rename" else "raises",
    )
    return _if_known(made)
