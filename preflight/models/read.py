"""Looks at whether a model can be copied, at no cost in memory, and who would copy it."""

from __future__ import annotations

import inspect
import sys
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from preflight.models.copiers import find_copier, short
from preflight.models.facts import Copied, Remedy, Uncopyable, UsesOriginal
from preflight.models.remedies import remedy_for
from preflight.objects import where
from preflight.objects.attributes import classes, own_attributes
from preflight.objects.copying import copying
from preflight.objects.copying.made_of import own_copier
from preflight.objects.copying.refusing import (
    Inner,
    inner_of,
    is_module,
    is_sharding,
    is_tensor,
    is_wrapper,
)
from preflight.objects.copying.shared_functions import SharedFunction, wrapped_method
from preflight.objects.facts import Definition, ModelCopy
from preflight.objects.paths import ITSELF, last_step, type_name
from preflight.values.code_name import parse_spec, write_pick

_Kept = TypeVar("_Kept", Uncopyable, UsesOriginal)

_PLACES = 1_000
"""Paths that are kept of what one line keeps."""


def copy_model(
    model: object, *, name: str, root: str, factory: object | None, sources: Sequence[str]
) -> Copied:
    """Copy a model deeply without its memory, and name everything that cannot be copied.

    It runs what a copy runs of the user's code (`__deepcopy__`, `__setstate__`, `__del__`).
    The job's own sources are read for a line that copies one.
    """
    made = where.defined(model if factory is None else factory, root).at
    copied = Copied(name=name, defined=made, error=None, parameters=_parameters(model))
    again = _again(name, factory)
    copy = copying.try_copy(model)
    whole = _told(copied, copy, root, remedy_for(model, copy, again=again))
    inner = inner_of(model)
    if whole.error is not None and inner is not None:
        copy = _copy_of_inner(inner)
        remedy = remedy_for(model, copy, again=again, of_inner=True)
        whole = replace(whole, inner=_told(copied, copy, root, remedy))
    line = find_copier(sources, root)
    return whole if line is None else copied_by(whole, line)


def _told(copied: Copied, copy: copying.Copy, root: str, remedy: Remedy) -> Copied:
    """Say what a copy came to."""
    return replace(
        copied,
        error=copy.error,
        objects=_by_line([_uncopyable(one, root, copied.defined) for one in copy.stuck]),
        originals=_by_line([_uses_original(one, root, copied.defined) for one in copy.shared]),
        bytes=copy.bytes,
        stopped_after=copy.stopped_after,
        remedy=remedy,
        cut=copy.cut,
    )


def _copy_of_inner(inner: Inner) -> copying.Copy:
    """Copy what the job copies: the module in a wrapper."""

    def there(path: str) -> str:
        if path == ITSELF:
            return inner.path
        return f"{inner.path}{path}" if path.startswith("[") else f"{inner.path}.{path}"

    copy = copying.try_copy(inner.module)
    stuck = (replace(one, paths=tuple(map(there, one.paths))) for one in copy.stuck)
    shared = (one._replace(path=there(one.path), uses=there(one.uses)) for one in copy.shared)
    return replace(copy, stuck=tuple(stuck), shared=tuple(shared))


def _again(name: str, factory: object) -> str | None:
    """Write the call that built the model, where it needs nothing else."""
    spec = parse_spec(name)
    if spec is None or not callable(factory) or is_module(factory):
        return None
    try:
        inspect.signature(factory).bind()
    except (TypeError, ValueError):
        return None
    return f"{spec.name}(){write_pick(spec.pick)}"


def _by_line(every: Iterable[_Kept]) -> tuple[_Kept, ...]:
    """Put together what one line keeps by one name, such as a lock in each layer."""
    lines: dict[object, _Kept] = {}
    for one in every:
        key = _without_paths(one), "" if one.kind == "weights" else last_step(one.paths[0])
        known = lines.get(key)
        lines[key] = one if known is None else _joined(known, one)
    return tuple(lines.values())


def _without_paths(one: _Kept) -> _Kept:
    return (
        replace(one, paths=(), uses="") if isinstance(one, UsesOriginal) else replace(one, paths=())
    )


def _joined(known: _Kept, one: _Kept) -> _Kept:
    paths = (*known.paths, *one.paths)[:_PLACES]
    return replace(known, paths=paths, count=known.count + 1)


def _uses_original(shared: SharedFunction, root: str, made: Definition) -> UsesOriginal:
    own = where.defined(_what_copies(shared), root)
    if isinstance(shared.thing, weakref.ref):
        kind = "reference"
    elif is_module(shared.thing) or is_tensor(shared.thing):
        kind = "weights"
    elif "_hooks" in last_step(shared.path):
        kind = "hook"
    else:
        of_method = not own.own and wrapped_method(shared.thing) is not None
        kind = "method" if of_method else "function"
    return UsesOriginal(
        paths=(shared.path,),
        uses=shared.uses,
        kind=kind,
        is_called=shared.is_called,
        defined=own.at if own.own else where.kept_by_user(shared.holders, root) or made,
    )


def _what_copies(shared: SharedFunction) -> object:
    """Give the `__deepcopy__` by which it comes to a copy as it is, if there is one."""
    if not (is_module(shared.thing) or is_tensor(shared.thing)):
        return shared.thing
    those = (shared.thing, *(holder for holder, _ in shared.holders))
    copiers = (own_copier(one) for one in those if is_module(one))
    return next((one for one in copiers if one is not None), shared.thing)


def _uncopyable(stuck: copying.Stuck, root: str, made: Definition) -> Uncopyable:
    own = where.defined(stuck.thing, root)
    holder = stuck.holders[0][0] if stuck.holders else None
    return Uncopyable(
        type=type_name(type(stuck.thing)),
        error=stuck.error,
        paths=stuck.paths,
        kind=kind_of(stuck.thing, holder),
        defined=where.kept_by_user(stuck.holders, root) or (own.at if own.own else made),
    )


def kind_of(thing: object, holder: object = None) -> str:
    """Sort an object that cannot be copied by what it is, and by what keeps it."""
    names = {base.__name__ for base in type.__dict__["__mro__"].__get__(type(thing))}
    if any("ProcessGroup" in one for one in names):
        return "process-group"
    if issubclass(type(thing), classes("torch", "Tensor")):
        torch: Any = sys.modules["torch"]
        with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001  the class's own may raise
            return "other" if cast("Any", thing).is_leaf else _kind_of_result(holder)
    if "FSDPModule" in names or is_sharding(thing):
        return "fsdp"
    if is_wrapper(thing):
        return "wrapper"
    if not is_module(thing):
        return "other"
    return "replicated" if names & {"DDP", "ReplicateModule"} else "module"


def _kind_of_result(holder: object) -> str:
    """Say what computes a tensor that a module keeps, by the hooks of this module."""
    hooks = own_attributes(holder).get("_forward_pre_hooks")
    names = {
        one.__name__
        for hook in (hooks.values() if isinstance(hooks, dict) else ())
        for one in type(hook).__mro__
    }
    if "BasePruningMethod" in names:
        return "pruned"
    return "weight-norm" if "WeightNorm" in names else "non-leaf"


def _parameters(model: object) -> int:
    """Count the numbers in a model's parameters, each once, without calling a method of it."""
    seen: dict[int, Any] = {}
    count = 0
    todo = [model]
    while todo:
        module: Any = todo.pop()
        if id(module) in seen or not is_module(module):
            continue
        seen[id(module)] = module
        variables = object.__getattribute__(module, "__dict__")
        todo += (variables.get("_modules") or {}).values()
        for parameter in (variables.get("_parameters") or {}).values():
            if parameter is not None and id(parameter) not in seen:
                seen[id(parameter)] = parameter
                count += _numel(parameter)
    return count


def _numel(parameter: Any) -> int:
    torch = cast("Any", sys.modules["torch"])
    try:
        with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001  the class's own may raise
            return int(parameter.numel())
    except (RuntimeError, ValueError):  # a lazy parameter, whose shape is not known yet
        return 0


def copied_by(copied: Copied, line: ModelCopy) -> Copied:
    """Say which line of the sources copies it, or else keeps an average of its parameters."""
    if line.averages:
        if copied.copied_at is not None:
            return copied
        said = f"{short(line.code)}, {line.file}:{line.line}"
        return replace(copied, averages_parameters=said)
    place = Definition(file=line.file, line=line.line, line_text=line.code)
    return replace(
        copied.inner if line.of_inner and copied.inner is not None else copied,
        copied_at=place,
        copied_by=short(line.code),
        copied_with_memo=line.with_memo,
        copier=line.of_package,
        averages_parameters=None,
    )
