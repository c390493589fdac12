"""Says what a stage of a pipeline does with samples, by its name and by what it was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from preflight.pipelines.facts import Stage
from preflight.pipelines.handlers import named

# Stages after which every sample is as it was; those that only cut the stream off are among them.
_PASS = frozenset(
    {
        *("info", "log_keys", "slice", "islice", "unlisted", "unbatched", "associate"),
        *("Cached", "LMDBCached", "non_empty", "check_empty", "single_node_only"),
    }
)
_SPLIT = frozenset({"split_by_node", "split_by_worker"})
_FILTERS = frozenset({"select", "rsample", "map_tuple"})


def stage_of(one: Stage, name: str, args: Sequence[Any], given: Mapping[str, Any]) -> Stage:
    """Say what a stage does with samples, by its name and by what it was given."""
    if name == "decode":
        return decoding(one, {"handlers": args, **given})
    if name in ("to_tuple", "extract_keys"):
        return _tuple(one, name, args, given)
    if name in ("rename", "rename_keys"):
        return _renaming(one, name, args, given)
    if name == "map_dict":
        wanted = tuple((key,) for key in given if key != "handler")
        return one._replace(kind=name, fields=wanted)
    if name in ("batched", "listed"):
        size = given.get("batchsize", args[0] if args else 20)
        partial = given.get("partial", args[2] if len(args) > 2 else True)
        return one._replace(
            kind="batched", size=whole_number(size) or 0, partial=partial is not False
        )
    if name in _SPLIT:
        return one._replace(kind="split", name=name, handler="")
    if name in _PASS or name.startswith(("shuffle", "detshuffle")):
        return one._replace(kind="pass", name=name, handler="")
    if name in _FILTERS:
        return one._replace(kind="filter", name=name)
    known = name if name == "map" else ""
    return one._replace(name=known, handler_name=one.handler_name or name)


def whole_number(value: object) -> int | None:
    """Give a value that is an `int` itself; None for all others."""
    return value if type(value) is int else None


# Handlers that webdataset itself puts before and behind those that a job gives.
_USUAL = frozenset({"gzfilter", "basichandlers"})


def decoding(one: Stage, parts: Mapping[str, Any]) -> Stage:
    """Say what `decode` loads, by the attributes of its decoder."""
    handlers = parts.get("handlers") or ()
    images = any(type(h) is str or named(type(h)) == "ImageHandler" for h in handlers)
    only = parts.get("only")
    if type(only) not in (str, list, tuple, set, frozenset, type(None)):
        return one._replace(kind="other")
    if only is not None:
        only = tuple(sorted(only.split() if type(only) is str else only))
    usual = all(
        type(h) is str or named(type(h)) == "ImageHandler" or getattr(h, "__name__", "") in _USUAL
        for h in handlers
    )
    return one._replace(kind="decode", images=images, records=usual, only=only)


def _alternatives(wanted: Any) -> tuple[str, ...]:
    """Give the names of a field; none where nobody knows them before the run."""
    if type(wanted) is str:
        return tuple(wanted.split(";"))
    named = type(wanted) in (list, tuple) and all(type(one) is str for one in wanted)
    return tuple(wanted) if named else ()


def _if_known(stage: Stage) -> Stage:
    """Take a stage for one of which nothing is known where one of its fields has no name."""
    return stage if all(stage.fields) else stage._replace(kind="other", fields=(), names=())


def _tuple(one: Stage, name: str, args: Sequence[Any], given: Mapping[str, Any]) -> Stage:
    if name == "to_tuple" and len(args) == 1 and type(args[0]) is str and " " in args[0]:
        args = args[0].split()
    strict = given.get("missing_is_error", True) if name == "to_tuple" else None
    if strict is None:
        one, strict = one._replace(handler="raises"), not given.get("ignore_missing", False)
    fields = tuple(map(_alternatives, args))
    return _if_known(one._replace(kind=name, fields=fields, strict=strict is True))


def _renaming(one: Stage, name: str, args: Sequence[Any], given: Mapping[str, Any]) -> Stage:
    options = {"handler", "keep", "keep_unselected", "must_match", "duplicate_is_error"}
    pairs = [pair for pair in args if type(pair) is tuple and len(pair) == 2]
    pairs += [(new, old) for new, old in given.items() if new not in options]
    fields = tuple(_alternatives([old] if name == "rename_keys" else old) for _, old in pairs)
    keeps = given.get("keep", True) if name == "rename" else given.get("keep_unselected", False)
    made = one._replace(
        kind=name,
        fields=fields,
        names=tuple(str(new) for new, _ in pairs),
        keeps=bool(keeps),
        strict=name == "rename" or bool(given.get("must_match", True)),
        handler=one.handler if name == "rename" else "raises",
    )
    return _if_known(made)
