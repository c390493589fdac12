"""Says by what a copy of a model can be made all the same: only what was tried."""

from __future__ import annotations

import collections
import copyreg
import gc
import operator
import re
import sys
import types
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias, cast

from preflight.models.facts import Remedy
from preflight.objects.attributes import classes, own_attributes, slots
from preflight.objects.copying import copying
from preflight.objects.copying.copy_trial import attempt
from preflight.objects.copying.refusing import inner_of, is_module, is_tensor, is_wrapper, viewed_by

_FEW = 3
"""Objects that are named one by one."""

_ROWS: tuple[Any, ...] = (list, tuple, collections.deque)
"""What gives its parts by their numbers, and so do subclasses that leave that as it is."""

_MOST = 100_000
"""Objects among which weights are looked for; where there are more, there may be some."""

_SHARED_ANYWAY = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)
"""What every copy shares."""

# Flags of a type, by which it may or may not be given attributes.
_FIXED, _MADE_AT_RUN_TIME = 1 << 8, 1 << 9

_STEP = re.compile(r"\.(?P<name>[^\W\d]\w*)|\[(?P<number>\d+)\]|\['(?P<key>[^'\\]*)'\]")


def remedy_for(
    model: object, copy: copying.Copy, *, again: str | None, of_inner: bool = False
) -> Remedy:
    """Find what a copy has to share, and of what it is to be made; try it without its memory.

    `of_inner`: it is one of the module in a wrapper.
    """
    stuck = {id(one.thing): one for one in copy.stuck}
    of, thing = "", model
    inner = inner_of(model)
    if inner is not None and (
        of_inner or (id(inner.wrapper) in stuck and is_wrapper(inner.wrapper))
    ):
        of, thing = inner.path, inner.module
        stuck.pop(id(inner.wrapper), None)
    paths = {key: _written_in_python(model, one) for key, one in stuck.items()}
    nothing = Remedy(again=again)
    if None in paths.values() or any(_holds_weights(one.thing) for one in stuck.values()):
        return nothing
    things = {key: one.thing for key, one in stuck.items()}
    if attempt(thing, things).error is not None:
        return nothing
    written = {key: path for key, path in paths.items() if path is not None}
    detached = {key: path for key, path in written.items() if is_tensor(things[key])}
    ways = _ways({key: things[key] for key in written if key not in detached})
    assigned = all(_is_assigned(stuck[key]) for key in detached)
    remedy = Remedy(
        of=of,
        shared=tuple(written.values()) if len(written) <= _FEW else (),
        attributes=() if len(written) <= _FEW else _attributes(thing, things),
        types=tuple(written[key] for key, way in ways.items() if way == "rule"),
        classes=tuple(written[key] for key, way in ways.items() if way == "class"),
        detached=tuple(detached.values()) if assigned else (),
        again=again,
        is_enough_inside=assigned and None not in ways.values(),
    )
    is_enough = bool(remedy.shared or remedy.attributes or remedy.is_enough_inside)
    return remedy._replace(is_enough=True) if is_enough else nothing


def _holds_weights(thing: object) -> bool:
    """Whether a copy that shares it would train the original's weights, or use them.

    What lies in it is looked for without calling anything of it.
    """
    todo, seen = [thing], {id(thing)}
    while todo:
        one = todo.pop()
        if is_module(one) or _is_weight(one) or len(seen) > _MOST:
            return True
        is_shared = isinstance(one, _SHARED_ANYWAY) or _is_of_module(one)
        for part in () if is_shared else gc.get_referents(one):
            if id(part) not in seen:
                seen.add(id(part))
                todo.append(part)
    return False


def _is_of_module(thing: object) -> bool:
    """Whether it holds the names of a module, to which the frame of a generator leads."""
    return type(thing) is dict and ("__builtins__" in thing or "__spec__" in thing)


def _is_weight(thing: object) -> bool:
    """Whether it is one, or a view of one."""
    if not is_tensor(thing):
        return False
    torch: Any = sys.modules["torch"]
    of: Any = viewed_by(thing)
    with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001  the class's own may raise
        return bool(cast("Any", thing).is_leaf or (of is not None and of.is_leaf))


def _is_assigned(stuck: copying.Stuck) -> bool:
    """Whether it is an attribute of its own, which takes a plain tensor in its place."""
    return bool(stuck.holders) and f".{stuck.paths[0]}".endswith(f".{stuck.holders[0][1]}")


_Way: TypeAlias = Literal["rule", "class"] | None


def _ways(things: dict[int, object]) -> dict[int, _Way]:
    """Say by one object of each type how every copy can be made to share all of that type."""
    kinds: dict[type, list[int]] = {}
    for key, one in things.items():
        kinds.setdefault(type(one), []).append(key)
    return {keys[0]: _way([things[key] for key in keys]) for keys in kinds.values()}


def _way(things: list[object]) -> _Way:
    if _heed_rule(things):
        return "rule"
    return "class" if _take_copier(things) else None


def _heed_rule(things: list[object]) -> bool:
    """Try whether a copy asks for the rule of their type: only if it finds no `__deepcopy__`.

    The look for one may raise, too, by a `__getattr__` of the job's.
    """
    kind, rules = type(things[0]), copyreg.dispatch_table
    before = rules.get(kind)
    rules[kind] = lambda _: "shared"
    try:
        made: Any = attempt(things, {}).copy
    finally:
        if before is None:
            del rules[kind]
        else:
            rules[kind] = before
    return made is not None and all(map(operator.is_, made, things))


def _take_copier(things: list[object]) -> bool:
    """Whether a `__deepcopy__` can be set in their class, and is what a copy then finds."""
    kind = type(things[0])
    its_own: Any = type(kind)
    takes = kind.__flags__ & (_FIXED | _MADE_AT_RUN_TIME) == _MADE_AT_RUN_TIME
    is_plain = its_own.__setattr__ is type.__setattr__
    finds = kind.__getattribute__ is object.__getattribute__
    own = any("__deepcopy__" in own_attributes(one) for one in things)
    return takes and is_plain and finds and not own


def _attributes(model: object, things: dict[int, object]) -> tuple[str, ...]:
    """Give the attributes of modules that keep just these objects; none where it is not so."""
    names: set[str] = set()
    left = set(things)
    held = [own_attributes(module) for module in _modules(model)]
    for variables in held:
        for name, value in variables.items():
            if id(value) in things:
                names.add(name)
                left.discard(id(value))
    just = all(
        id(variables[name]) in things or variables[name] is None
        for variables in held
        for name in names & variables.keys()
    )
    return tuple(sorted(names)) if just and not left else ()


def _modules(model: object) -> Iterable[object]:
    found, todo = {id(model): model}, [model]
    while todo:
        for part in (own_attributes(todo.pop()).get("_modules") or {}).values():
            if part is not None and id(part) not in found:
                found[id(part)] = part
                todo.append(part)
    return found.values()


# --- in Python ------------------------------------------------------------------------------------


def _written_in_python(model: object, stuck: copying.Stuck) -> str | None:
    """Give a path that Python takes as it is written, and that leads to the object."""
    return next((path for path in stuck.paths if _at(model, path) is stuck.thing), None)


def _at(model: object, path: str) -> object:
    """Follow a path without calling anything of the user's; None where it leads nowhere."""
    rest = path if path.startswith("[") else f".{path}"
    thing, end = model, 0
    for step in _STEP.finditer(rest):
        if step.start() != end:
            return None
        end = step.end()
        name, number, key = step.group("name", "number", "key")
        thing = _attribute(thing, name) if name else _item(thing, number, key)
    return thing if end == len(rest) else None


def _attribute(thing: object, name: str) -> object:
    held = own_attributes(thing)
    tables = (held.get(one) for one in ("_parameters", "_buffers", "_modules"))
    for table in (held, *tables, dict(slots(thing))):
        if isinstance(table, dict) and name in table:
            return table[name]
    return None


def _item(thing: Any, number: str | None, key: str | None) -> object:
    kind = type(thing)
    at = key if number is None else int(number)
    if getattr(kind, "__getitem__", 0) is dict.__getitem__:
        return dict.get(thing, at)
    row = next((one for one in _ROWS if getattr(kind, "__getitem__", 0) is one.__getitem__), None)
    if row is not None and number is not None and int(number) < row.__len__(thing):
        return cast("object", row.__getitem__(thing, int(number)))
    if number is not None and is_module(thing) and _is_indexed(kind):
        return (own_attributes(thing).get("_modules") or {}).get(number)
    return None


def _is_indexed(kind: type) -> bool:
    """Whether a module gives its parts by their numbers, as torch's own containers do."""
    home = next((base for base in kind.__mro__ if "__getitem__" in vars(base)), kind)
    return home in classes("torch.nn", "Sequential") + classes("torch.nn", "ModuleList")
