"""Describes what pickle refuses of a loader: what it is, where it is kept, what it holds."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import re
import socket
import sys
import threading
import types
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

from preflight.loaders.facts import Unsendable
from preflight.loaders.passing_on import passes_on
from preflight.objects import where
from preflight.objects.attributes import classes, own_attributes
from preflight.objects.facts import Definition
from preflight.objects.paths import last_step, type_name
from preflight.objects.sending.pickle_trial import is_of_forking
from preflight.objects.sending.pickling import Refused
from preflight.values.names import shown

_PLACES = 1_000
"""Paths that are kept of what one line keeps."""

_LOCKS = (type(threading.Lock()), type(threading.RLock()), threading.local)
_HANDLES = frozenset({"h5py", "lmdb", "sqlite3", "_sqlite3", "mmap", "pyarrow", "tables", "zarr"})

_LIBRARY = os.path.dirname(os.__file__) + os.sep
_PACKAGES = re.compile(r"[\\/](?:site|dist)-packages[\\/]")

_NOTHING = object()

# What all of Python's files are made of. `io.IOBase` asks metaclasses, which may be the user's.
_FILES = io.IOBase.__mro__[1]
_CACHE = type(functools.cache(len))
_GENERATORS = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)


def described(
    refused: Iterable[Refused], root: str, made: Definition, told: set[int]
) -> tuple[Unsendable, ...]:
    """Describe them all; what one line keeps by one name is one, such as a lock in 300 parts.

    `told` are the ids of all that is refused: what a function holds of it is not told twice.
    """
    lines: dict[object, Unsendable] = {}
    for one in refused:
        found = _unsendable(one, root, made, told)
        code = one.thing.__code__ if type(one.thing) is types.FunctionType else None
        key = replace(found, paths=()), last_step(found.paths[0]), id(code)
        known = lines.get(key)
        paths = found.paths if known is None else (*known.paths, *found.paths)[:_PLACES]
        count = 1 if known is None else known.count + 1
        lines[key] = replace(found, paths=paths, count=count)
    return tuple(lines.values())


def _unsendable(refused: Refused, root: str, made: Definition, told: set[int]) -> Unsendable:
    thing = _in_cache(refused.thing)
    captures = thing.__code__.co_freevars if type(thing) is types.FunctionType else ()
    calls = passes_on(thing) if type(thing) is types.FunctionType else None
    kind = kind_of(thing)
    return Unsendable(
        kind=kind,
        type=type_name(type(thing)),
        text=_said(thing, kind),
        error=refused.error,
        paths=tuple(refused.paths),
        defined=where.first_to_look_at(thing, refused.holders, root) or made,
        captures=tuple(captures),
        passes_on=calls,
        inside=tuple(_held(path, one, root) for path, one in refused.inside if id(one) not in told),
    )


def _in_cache(thing: object) -> object:
    """Give what `functools.cache` stands for, which is sent by the name of that."""
    inner = own_attributes(thing).get("__wrapped__") if type(thing) is _CACHE else None
    return thing if inner is None else inner


def _held(path: str, thing: object, root: str) -> str:
    """Name what a function holds: `identity, base.py:69`; of what has no line, its type."""
    place = where.defined(thing, root)
    own = place.own and place.at.line is not None and callable(thing)
    return (
        f"{path}, {place.at.file}:{place.at.line}" if own else f"{path}, {type_name(type(thing))}"
    )


def kind_of(thing: object) -> str:
    """Sort a refused object by what it is; texts of errors differ from Python to Python."""
    kind = type(thing)
    is_local = "<locals>" in _qualname(thing)
    if kind is types.FunctionType:
        return _kind_of_function(cast("types.FunctionType", thing), is_local=is_local)
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
    is_computed = issubclass(kind, classes("torch", "Tensor")) and not cast("Any", thing).is_leaf
    return "tensor" if is_computed else "other"


def _kind_of_function(function: types.FunctionType, *, is_local: bool) -> str:
    file, name = function.__code__.co_filename, function.__code__.co_name
    if not (is_local or name == "<lambda>"):
        return _kind_by_name(function)
    if file.startswith(_LIBRARY) and not _PACKAGES.search(file):
        return "of-python"
    if name == "<lambda>":
        return "lambda"
    return "decorated" if _is_decorated(function) else "local-function"


def _is_decorated(function: types.FunctionType) -> bool:
    """Whether it stands under the name of a function that it holds."""
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # the cell is empty
            held = cell.cell_contents
            if type(held) is types.FunctionType and _under_name_of(held) is function:
                return True
    return False


def _kind_by_name(thing: object) -> str:
    """Say what there is under the name by which pickle would send a function or class."""
    found = _under_name_of(thing)
    if found is _NOTHING:
        return "unnamed"
    return "other" if found is thing else "rebound"


def _under_name_of(thing: object) -> object:
    module = sys.modules.get(_module(thing))
    found: object = module
    for part in _qualname(thing).split("."):
        variables = own_attributes(found)
        if issubclass(type(found), type):
            bases = type.__dict__["__mro__"].__get__(found)
            variables = {k: v for one in reversed(bases) for k, v in vars(one).items()}
        if part not in variables:
            return _NOTHING
        found = variables[part]
        found = found.__func__ if type(found) is staticmethod else found
    return found


def _said(thing: object, kind: str) -> str:
    text = where.text_evaluated(thing)
    if text:
        noun = "class" if issubclass(type(thing), type) else "function"
        name = "lambda" if kind == "lambda" else f"{noun} {shown(_qualname(thing))}"
        return f"{name}, evaluated from the text `{_one_line(text)}`"
    qualname = shown(_qualname(thing))
    outside, _, name = qualname.rpartition(".<locals>.")
    if kind == "lambda":
        return f"lambda in {outside}" if outside else "lambda"
    if outside and kind in ("local-function", "decorated", "of-python"):
        return f"function {name}, defined inside {outside}"
    if kind == "local-class":
        return f"class {name}, defined inside {outside}"
    if kind in ("rebound", "unnamed"):
        return _said_of_name(thing, kind, qualname)
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


def _said_of_name(thing: object, kind: str, qualname: str) -> str:
    noun = "class" if issubclass(type(thing), type) else "function"
    if kind == "rebound":
        return f"{noun} {qualname}, whose name means something else"
    module = shown(_module(thing))
    return f"{noun} {qualname}, which {module + ' does not hold' if module else 'no module holds'}"


def _one_line(code: str) -> str:
    text = shown(" ".join(code.split()))
    return text if len(text) <= 80 else f"{text[:77]}..."


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
