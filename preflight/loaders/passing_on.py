"""Tells a function that only calls another one with all that it is given, by its source."""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Iterator
from typing import Any, TypeAlias

from preflight.objects import where
from preflight.objects.attributes import own_attributes
from preflight.objects.sending.pickle_trial import refusal, spawning

_METHODS = (types.MethodType, types.BuiltinMethodType)

Written: TypeAlias = ast.Lambda | ast.FunctionDef


def passes_on(function: types.FunctionType) -> str | None:
    """Name what could be given in its place: a function, a class or a bound method.

    None where it does more, and where what it calls would be refused as well; unless that is a
    function that it holds, which can be moved to the top level.
    """
    if function.__defaults__ or function.__kwdefaults__:
        return None
    calls = {_callee(node) for node in _written(function)}
    callee = calls.pop() if len(calls) == 1 else None
    if callee is None:
        return None
    found = _value(function, callee)
    if found is None or found is function or _is_of_hidden_object(found, function, callee):
        return None
    if type(found) is types.FunctionType and callee in function.__code__.co_freevars:
        return callee
    with spawning():  # a method's own object may hold the function, which will not be there then
        left = refusal([("", found)], {id(function): function})
        return callee if left is None else None


def _is_of_hidden_object(found: object, function: types.FunctionType, callee: str) -> bool:
    """Whether a module has it of an object of its own: `random.seed`, of which a copy is sent."""
    module = function.__globals__.get(callee.partition(".")[0])
    holder = getattr(found, "__self__", None) if type(found) in _METHODS else None
    return type(module) is types.ModuleType and not isinstance(
        holder, (types.ModuleType, type, type(None))
    )


def _written(function: types.FunctionType) -> Iterator[Written]:
    """Give what may be its source: several lambdas of the same arguments may share a line."""
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    for node in where.functions_at(code):
        args = node.args
        named = [*args.posonlyargs, *args.args, *args.kwonlyargs]
        name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
        if name == code.co_name and [one.arg for one in named] == [*code.co_varnames[:count]]:
            yield node


def _callee(node: Written) -> str | None:
    """Give what is called with just the arguments, in their order."""
    body: ast.AST | None = node.body if isinstance(node, ast.Lambda) else _returned(node)
    args = node.args
    if not isinstance(body, ast.Call) or args.kwonlyargs:
        return None
    given = [ast.Name(one.arg) for one in (*args.posonlyargs, *args.args)]
    names = [ast.unparse(one) for one in given]
    names += [f"*{args.vararg.arg}"] if args.vararg else []
    names += [f"**{args.kwarg.arg}"] if args.kwarg else []
    passed = [ast.unparse(one) for one in body.args]
    passed += [f"**{ast.unparse(one.value)}" for one in body.keywords if one.arg is None]
    named = [one for one in body.keywords if one.arg is not None]
    callee = ast.unparse(body.func)
    own = {one.lstrip("*") for one in names}
    plain = all(part.isidentifier() for part in callee.split("."))
    if named or passed != names or not plain or callee.partition(".")[0] in own:
        return None
    return callee


def _returned(node: ast.FunctionDef) -> ast.AST | None:
    if node.decorator_list:
        return None
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None


def _value(function: types.FunctionType, callee: str) -> object:
    """Find what it calls, without calling anything of the user's; None where that is unknown."""
    first, *rest = callee.split(".")
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    cell = next((cell for name, cell in cells if name == first), None)
    if cell is not None:
        try:
            found: Any = cell.cell_contents
        except ValueError:  # the cell is empty: the name is not set yet
            return None
    else:
        found = function.__globals__.get(first, vars(builtins).get(first))
    for name in rest:
        found = _attribute(found, name)
    return found


def _attribute(thing: Any, name: str) -> object:
    held = vars(thing) if isinstance(thing, type) else own_attributes(thing)
    if name in held:
        own = held[name]
        return own.__func__ if type(own) is staticmethod else own
    for cls in type.__dict__["__mro__"].__get__(type(thing)):
        method = vars(cls).get(name)
        if type(method) is types.FunctionType:
            return types.MethodType(method, thing)
    return None
