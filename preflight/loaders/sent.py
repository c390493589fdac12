"""Looks at what a DataLoader would send to its workers, without starting any."""

from __future__ import annotations

import contextlib
import io
import socket
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

from preflight.loaders.facts import Sent, Unsendable
from preflight.loaders.inherited import inherited
from preflight.loaders.starting import (
    configured,
    parts_of,
    start_method_of,
    travels_there,
)
from preflight.objects import where
from preflight.objects.attributes import classes, own_attributes
from preflight.objects.facts import Definition
from preflight.objects.paths import last_step, type_name
from preflight.objects.sending import pickling
from preflight.objects.sending.pickle_trial import Roots, is_of_forking
from preflight.sources.loader_calls import RESAMPLED
from preflight.values.names import shown

# Pipelines that stand in one another: more is nobody's loader.
_DEEPEST = 5

_LISTS = frozenset({"SimpleShardList", "ResampledShards", "ResampledShardList"})
_PLACES = 1_000
"""Paths that are kept of what one line keeps."""

_SHARD_STAGES = frozenset({"split_by_node", "split_by_worker", "check_empty"})

SENT = ("dataset", "collate_fn", "worker_init_fn")
"""What torch hands to each worker. The sampler and the generator stay where they are."""

_LOCKS = (type(threading.Lock()), type(threading.RLock()), threading.local)
_HANDLES = frozenset({"h5py", "lmdb", "sqlite3", "_sqlite3", "mmap", "pyarrow", "tables", "zarr"})

# What all of Python's files are made of. `io.IOBase` asks metaclasses, which may be the user's.
_FILES = io.IOBase.__mro__[1]
_GENERATORS = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)


def is_loader(thing: object) -> bool:
    """Whether it is a DataLoader, or holds its dataset and its workers as one does."""
    return {"dataset", "num_workers", "collate_fn"} <= parts_of(_real_loader(thing)).keys()


def is_dataset(thing: object) -> bool:
    """Whether it is a data set that no loader has been made of yet."""
    if is_loader(thing):
        return False
    kind = type(thing)
    return issubclass(kind, classes("torch.utils.data", "Dataset")) or any(
        type_name(base).startswith("datasets.") and "Dataset" in base.__name__
        for base in kind.__mro__
    )


class Known(NamedTuple):
    """What is known of a loader beside itself."""

    name: str
    """What the user called it."""

    root: str
    """The job's folder, absolute."""

    factory: object | None = None
    """What made it."""

    num_workers: int | None = None
    """By the job's settings, which count before the loader's own."""

    start_method: str | None = None


def walk_loader(
    loader: object, known: Known, walked: Callable[[Roots], pickling.PickleWalk] = pickling.walk
) -> Sent:
    """Name everything that this loader would send and that cannot travel.

    Nothing is walked where there are no workers: then nothing is sent.
    """
    name, root, factory, num_workers, start_method = known
    real = _real_loader(loader)
    method, method_from = start_method_of(own_attributes(real), start_method, root)
    parts = parts_of(configured(real, num_workers, start_method))
    workers = parts.get("num_workers", 0) if num_workers is None else num_workers
    own_workers = parts_of(real).get("num_workers")
    stages = list(_stages(own_attributes(real), 0))
    walk = pickling.PickleWalk()
    if workers:
        walk = walked(list(_sent(parts).items()))
    made = where.defined(factory, root).at if factory is not None else Definition()
    return Sent(
        name=name,
        defined=made,
        num_workers=int(workers),
        start_method=method,
        start_method_from=method_from,
        objects=_by_line(
            (one, _unsendable(one, root, made))
            for one in walk.refused
            if not travels_there(one.thing, method, method_from)
        ),
        cut=walk.cut,
        inherited=inherited(_sent(parts), root) if workers else None,
        resampled=resamples(own_attributes(real)),
        own_workers=own_workers if isinstance(own_workers, int) else None,
        shards=_listed(stages),
        shard_stages=tuple(
            one.__name__
            for one in stages
            if type(one) is types.FunctionType and one.__name__ in _SHARD_STAGES
        ),
    )


def _sent(parts: Mapping[str, Any]) -> Mapping[str, Any]:
    return {part: parts[part] for part in SENT if parts.get(part) is not None}


def _real_loader(thing: object) -> object:
    """Give a loader itself; of webdataset's WebLoader, the DataLoader in it."""
    stages = own_attributes(thing).get("pipeline")
    return stages[0] if type(stages) is list and stages else thing


def resamples(parts: Mapping[str, Any]) -> bool:
    """Whether a loader draws shards with replacement, by its own attributes and those in them."""
    return any(type(one).__name__ in RESAMPLED for one in _stages(parts, 0))


def _listed(stages: Iterable[object]) -> int | None:
    """Count the shards that a pipeline lists by their addresses."""
    for one in stages:
        urls = own_attributes(one).get("urls")
        if type(one).__name__ in _LISTS and isinstance(urls, list):
            return len(urls)
    return None


def _stages(parts: Mapping[str, Any], depth: int) -> Iterator[object]:
    if depth > _DEEPEST:
        return
    inner = parts.get("pipeline")
    for one in (parts.get("dataset"), *(inner if isinstance(inner, (list, tuple)) else ())):
        if one is not None:
            yield one
            yield from _stages(own_attributes(one), depth + 1)


# --- what was refused -----------------------------------------------------------------------------


def _by_line(every: Iterable[tuple[pickling.Refused, Unsendable]]) -> tuple[Unsendable, ...]:
    """Put together what one line keeps by one name, such as a lock in each of 300 parts."""
    lines: dict[object, Unsendable] = {}
    for refused, one in every:
        thing = refused.thing
        code = thing.__code__ if type(thing) is types.FunctionType else None
        key = replace(one, paths=()), last_step(one.paths[0]), id(code)
        known = lines.get(key)
        paths = one.paths if known is None else (*known.paths, *one.paths)[:_PLACES]
        count = 1 if known is None else known.count + 1
        lines[key] = replace(one, paths=paths, count=count)
    return tuple(lines.values())


def _unsendable(refused: pickling.Refused, root: str, made: Definition) -> Unsendable:
    thing = refused.thing
    captures = thing.__code__.co_freevars if type(thing) is types.FunctionType else ()
    kind = kind_of(thing)
    return Unsendable(
        kind=kind,
        type=type_name(type(thing)),
        text=_said(thing, kind),
        error=refused.error,
        paths=tuple(refused.paths),
        defined=where.first_to_look_at(thing, refused.holders, root) or made,
        captures=tuple(captures),
        inside=refused.inside,
    )


def kind_of(thing: object) -> str:
    """Sort a refused object by what it is; texts of errors differ from Python to Python."""
    kind = type(thing)
    is_local = "<locals>" in _qualname(thing)
    if kind is types.FunctionType:
        if cast("types.FunctionType", thing).__code__.co_name == "<lambda>":
            return "lambda"
        return "local-function" if is_local else _kind_by_name(thing)
    if issubclass(kind, type):
        return "local-class" if is_local else _kind_by_name(thing)
    if issubclass(kind, types.ModuleType):
        return "module"
    if issubclass(kind, _GENERATORS):
        return "generator"
    if is_of_forking(thing):
        return "forked-lock"
    if issubclass(kind, _LOCKS) or type_name(kind).startswith("multiprocessing.synchronize."):
        return "lock"
    if any(one is _FILES for one in type.__dict__["__mro__"].__get__(kind)):
        return "file"
    if issubclass(kind, socket.socket) or type_name(kind).partition(".")[0] in _HANDLES:
        return "handle"
    return "tensor" if issubclass(kind, classes("torch", "Tensor")) else "other"


def _kind_by_name(thing: object) -> str:
    """Say what there is under the name by which pickle would send a function or class."""
    module = sys.modules.get(_module(thing))
    found: object = module
    for part in _qualname(thing).split("."):
        variables = own_attributes(found)
        if issubclass(type(found), type):
            bases = type.__dict__["__mro__"].__get__(found)
            variables = {k: v for one in reversed(bases) for k, v in vars(one).items()}
        if part not in variables:
            return "unnamed"
        found = variables[part]
    return "other" if found is thing else "rebound"


def _said(thing: object, kind: str) -> str:
    qualname = shown(_qualname(thing))
    outside, _, name = qualname.rpartition(".<locals>.")
    if kind == "lambda":
        return f"lambda in {outside}" if outside else "lambda"
    if kind == "local-function":
        return f"function {name}, defined inside {outside}"
    if kind == "local-class":
        return f"class {name}, defined inside {outside}"
    if kind in ("rebound", "unnamed"):
        noun = "class" if issubclass(type(thing), type) else "function"
        if kind == "rebound":
            return f"{noun} {qualname}, whose name means something else"
        module = shown(_module(thing))
        return (
            f"{noun} {qualname}, which {module + ' does not hold' if module else 'no module holds'}"
        )
    if kind == "module":
        return f"module {shown(cast('types.ModuleType', thing).__name__)}"
    if kind == "generator":
        return f"running generator {qualname}"
    if kind == "tensor":
        return "tensor that is the result of a computation and requires its gradient"
    if kind == "file":
        return f"open file{_named(thing)}"
    noun = {"lock": "lock", "forked-lock": "lock", "handle": "open handle"}.get(kind, "object")
    return f"{noun} of type {shown(type_name(type(thing)))}"


def _named(file: object) -> str:
    """Give an open file's name, of Python's own file types only, down to the one that opened it."""
    inner: Any = file
    with contextlib.suppress(AttributeError, ValueError):  # never opened, or taken apart
        inner = inner.buffer if type(inner) is io.TextIOWrapper else inner
        inner = inner.raw if type(inner) in (io.BufferedReader, io.BufferedWriter) else inner
        if type(inner) is io.FileIO and type(inner.name) is str:
            return f" {shown(inner.name)}"
    return ""


def _module(thing: object) -> str:
    """Give the name of the module that a function or class says it is in; empty where none."""
    if issubclass(type(thing), type):
        name = type.__dict__["__module__"].__get__(thing)
    else:
        name = cast("types.FunctionType", thing).__module__
    return name if type(name) is str else ""


def _qualname(thing: object) -> str:
    if issubclass(type(thing), type):
        return str(type.__dict__["__qualname__"].__get__(thing))
    known = any(type(thing) is one for one in (types.FunctionType, *_GENERATORS))
    return cast("Any", thing).__qualname__ if known else ""
