"""What a function gives, by the names of what it calls and returns; read and never run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from preflight.syntax.bodies import own
from preflight.syntax.given_values import defaults
from preflight.syntax.running import is_none, last_name, text_of

# How far a value is followed from name to name.
_MOST_STEPS = 32

# They give what they are handed, in another form.
_WRAPPERS = frozenset(
    {"prepare", "compile", "cast", "tuple", "list", "dict", "DataParallel", "PrefetchLoader"}
    | {"DistributedDataParallel", "DDP", "MpDeviceLoader"}
)


class ReturnedValues(NamedTuple):
    """What the values of a function are."""

    names: tuple[str, ...] = ()
    """Of what is called to make them, as far as can be told: `DataLoader`, `build_loader`."""

    annotated: tuple[str, ...] = ()
    """The names in its annotation: `DataLoader` of `-> DataLoader`."""

    something: bool = False
    """Whether it returns or yields anything at all."""

    trainer: str = ""
    """What it calls with a `train_dataset`: a Trainer, if it is one, but none of Lightning."""


def returned_by(function: ast.FunctionDef) -> ReturnedValues:
    """Say what a function returns, also through variables, tuples and methods of what it made."""
    values: dict[str, list[ast.expr]] = {}
    given: list[ast.expr] = []
    for node in own(function.body):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    _bind(target, value, values)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                said = annotation.value if isinstance(annotation, ast.Subscript) else annotation
                made = ast.Call(func=said, args=[], keywords=[])  # as if it were made right here
                values.setdefault(name, []).extend((made, *([value] if value else [])))
            case ast.Return(value=ast.expr() as value) | ast.Yield(value=ast.expr() as value):
                given.append(value)
            case _:
                pass
    calls = [call for value in given for call in _calls(value, values)]
    names = dict.fromkeys(name for call in calls for name in _names(call))
    annotated = tuple(_annotated(function.returns))
    is_something = any(not is_none(one) for one in given)
    trainer = next((last_name(call.func) for call in calls if _takes_data_set(call)), "")
    return ReturnedValues((*names, *annotated), annotated, is_something, trainer)


def needs_of(function: ast.FunctionDef) -> tuple[str, ...]:
    """Name the arguments without a default."""
    return tuple(name for name, default in defaults(function.args) if default is None)


def _bind(target: ast.expr, value: ast.expr, values: dict[str, list[ast.expr]]) -> None:
    if isinstance(target, ast.Name):
        values.setdefault(target.id, []).append(value)
    elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
        for one, each in zip(target.elts, value.elts, strict=False):
            _bind(one, each, values)
    elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
        values.setdefault(target.value.id, []).append(value)  # loaders["train"] = DataLoader(...)


def _names(call: ast.Call) -> Iterator[str]:
    """Name what is called, and what it is a method of: `WebLoader(x).shuffle(9)`, `Net.make(x)`."""
    yield last_name(call.func)
    if isinstance(call.func, ast.Attribute):
        yield last_name(call.func.value)


def _takes_data_set(call: ast.Call) -> bool:
    return any(one.arg == "train_dataset" for one in call.keywords)


def _calls(value: ast.expr, values: dict[str, list[ast.expr]]) -> Iterator[ast.Call]:
    """Give the calls that make a value, the outermost first."""
    waiting, seen = [value], set[str]()
    for _ in range(_MOST_STEPS):
        if not waiting:
            return
        one = waiting.pop(0)
        if isinstance(one, ast.Name) and one.id not in seen:
            seen.add(one.id)
            waiting += values.get(one.id, [])
        elif isinstance(one, ast.Call):
            yield one
            waiting += [one.func.value] if isinstance(one.func, ast.Attribute) else []
            waiting += one.args if last_name(one.func) in _WRAPPERS else []
        else:
            waiting += _parts(one)


def _parts(value: ast.expr) -> list[ast.expr]:
    """Give what a value is one of, or is put together of."""
    match value:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
            return parts
        case ast.IfExp(body=one, orelse=other):
            return [one, other]
        case ast.DictComp(value=one) | ast.ListComp(elt=one) | ast.Subscript(value=one):
            return [one]
        case _:
            return []


def _annotated(annotation: ast.expr | None) -> Iterator[str]:
    """Give the names in `-> DataLoader[int]`, `-> tuple[DataLoader, DataLoader]`, `-> "Net"`."""
    for node in ast.walk(annotation) if annotation is not None else ():
        if isinstance(node, (ast.Name, ast.Attribute)):
            yield last_name(node)
        elif text := text_of(node):
            yield text.partition("[")[0].rpartition(".")[2]
