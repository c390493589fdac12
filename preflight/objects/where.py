"""Where something in the user's process was defined, without asking the user's own attributes.

Source lines come from `linecache`, which also holds those of notebook cells.
"""

from __future__ import annotations

import ast
import functools
import importlib.metadata
import linecache
import os
import re
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, cast

from preflight.objects.eval_code import Evaluated, evaluated
from preflight.objects.facts import Definition
from preflight.objects.source_trees import parsed, source_of
from preflight.values.names import name_of
from preflight.values.this_process import full_path

_SITE = frozenset({"site-packages", "dist-packages"})
_UNBOUND = (staticmethod, classmethod)
_DEF = re.compile(r"\s*(async\s+def|def|class)\b")


class SourcePlace(NamedTuple):
    """A place in a source file; without one for what is written in C."""

    at: Definition
    own: bool
    """Whether it is the user's code, not an installed package's and not Python's."""


def defined(thing: object, root: str, *, if_own: bool = False) -> SourcePlace:
    """Say where a function or class was defined; of anything else, where its class was.

    A partial and a bound method stand where their function does. `functools.wraps` does not
    mislead: a function is where its code is. `if_own`, it is not said where one of a library's
    classes is: to find it, the whole of its source has to be parsed.
    """
    for _ in range(100):  # a partial of a partial; a chain can be made endless
        if type(thing) is types.MethodType:
            thing = thing.__func__
        elif issubclass(type(thing), functools.partial):
            thing = functools.partial.func.__get__(thing)
        else:
            break
    if type(thing) is types.FunctionType:
        code = thing.__code__
        made = evaluated(code, thing.__globals__)
        if made is not None:
            return _place(made.file, made.line, _text(thing.__qualname__), root)
        line = code.co_firstlineno
        if code.co_name != "<lambda>":
            line = _past_decorators(code.co_filename, line)
        return _place(code.co_filename, line, _text(thing.__qualname__), root)
    cls: Any = thing if issubclass(type(thing), type) else type(thing)
    return _place_of_class(cls, root, if_own=if_own)


def kept(holder: object, attribute: str, root: str) -> SourcePlace:
    """Say where an instance's class sets `self.<attribute>`; else where the class was defined.

    That is said of the user's own classes only.
    """
    first: SourcePlace | None = None
    for cls in type.__dict__["__mro__"].__get__(type(holder)):
        place = _place_of_class(cls, root, if_own=True)
        if place.at.line is None or not place.own:
            continue
        first = first or place
        node = _class_node(source_of(_file_of_class(cls) or ""), _qualname(cls))
        line = None if node is None else _assigned(node, attribute)
        if line is not None:
            return _place(_file_of_class(cls) or "", line, f"{_qualname(cls)}.{attribute}", root)
    return first or defined(holder, root, if_own=True)


def kept_by_user(holders: Iterable[tuple[object, str]], root: str) -> Definition | None:
    """Say which line of the user's own code keeps something, by the instances that lead to it."""
    places = (kept(holder, attribute, root) for holder, attribute in holders)
    return next((place.at for place in places if place.own), None)


def first_to_look_at(
    thing: object, holders: Iterable[tuple[object, str]], root: str
) -> Definition | None:
    """Say where a thing was defined, if in own code; else which own line keeps it; else where."""
    place = defined(thing, root)
    if place.own:
        return place.at
    return kept_by_user(holders, root) or (place.at if place.at.line is not None else None)


def _place_of_class(cls: type, root: str, *, if_own: bool) -> SourcePlace:
    qualname = _qualname(cls)
    file = _file_of_class(cls)
    files = {file or "", *(code.co_filename for code in _methods(cls))} if if_own else ()
    if file is None or (if_own and not any(_named(one, root)[1] for one in files)):
        return SourcePlace(Definition(qualname=qualname), own=False)
    node = _class_node(source_of(file), qualname)
    if node is not None:
        return _place(file, node.lineno, qualname, root)
    # Not where its module says: made by `exec`, or shown under another module's name.
    made = _evaluated_class(cls)
    if made is not None:
        return _place(made.file, made.line, qualname, root)
    code = min(_methods(cls), key=lambda code: code.co_firstlineno, default=None)
    if code is not None:
        return _place(code.co_filename, code.co_firstlineno, qualname, root)
    return _place(file, None, qualname, root)


def _evaluated_class(cls: type) -> Evaluated | None:
    """Say where the code of a class was evaluated, or of what it was put together."""
    values: list[Any] = list(_vars(cls).values())
    functions = [one.__func__ if type(one) in _UNBOUND else one for one in values]
    codes = [one.__code__ for one in functions if type(one) is types.FunctionType]
    return next(filter(None, map(evaluated, codes)), None)


def text_evaluated(thing: object) -> str | None:
    """Give the code of a function or class that was evaluated; None where nobody has it."""
    if issubclass(type(thing), type):
        cls = cast("type", thing)
        made = _evaluated_class(cls)
        text = made.text if made is not None else None
        node = _class_node(text, _qualname(cls)) if text else None
        return ast.get_source_segment(text or "", node) if node is not None else None
    code = thing.__code__ if type(thing) is types.FunctionType else None
    made = evaluated(code) if code is not None else None
    if code is None or made is None or made.text is None:
        return None
    nodes = functions_at(code)
    own = ast.get_source_segment(_parsable(made.text), nodes[0]) if len(nodes) == 1 else None
    return own or made.text


def _place(file: str, line: int | None, qualname: str | None, root: str) -> SourcePlace:
    name, own = _named(file, root)
    # Whatever is evaluated is called `<string>`; Python 3.13 keeps the line of `python -c` as that.
    text = linecache.getline(file, line).strip() if line and file != "<string>" else ""
    return SourcePlace(
        Definition(file=name, line=line, line_text=text or None, qualname=qualname), own
    )


def _named(file: str, root: str) -> tuple[str, bool]:
    """Name a source file, and say whether it is the user's own."""
    if file.startswith("<"):  # `<stdin>`, `<string>`, a cell of IPython's console
        frozen = file.startswith("<frozen ")
        return (f"{_python()}: {file}" if frozen else file), not frozen
    return _named_by_path(full_path(file), root)


@functools.lru_cache(maxsize=1024)
def _named_by_path(full: str, root: str) -> tuple[str, bool]:
    parts = full.replace("\\", "/").split("/")
    site = next((n for n in range(len(parts) - 1, -1, -1) if parts[n] in _SITE), None)
    if site is not None and site + 1 < len(parts):
        inside = parts[site + 1 :]
        return f"{_distribution(inside[0].removesuffix('.py'))}: {'/'.join(inside)}", False
    library = full_path(os.path.dirname(os.__file__))
    if full.startswith(library + os.sep):
        return f"{_python()}: {name_of(full, library)}", False
    return name_of(full, root), True


def _python() -> str:
    return "python {}.{}".format(*sys.version_info)


@functools.lru_cache(maxsize=256)
def _distribution(package: str) -> str:
    """Name what a package was installed by, with its version: `pillow 13.0.0`."""
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except (importlib.metadata.PackageNotFoundError, ValueError):
        names = importlib.metadata.packages_distributions().get(package)
    return f"{names[0]} {importlib.metadata.version(names[0])}" if names else package


# --- classes --------------------------------------------------------------------------------------


def _qualname(cls: type) -> str:
    return _text(type.__dict__["__qualname__"].__get__(cls)) or "?"


def _vars(cls: type) -> types.MappingProxyType[str, object]:
    variables: types.MappingProxyType[str, object] = type.__dict__["__dict__"].__get__(cls)
    return variables


def _file_of_class(cls: type) -> str | None:
    """Find the source file of a class: of its module, else of one of its methods."""
    module = sys.modules.get(_text(_vars(cls).get("__module__")) or "")
    file = None
    if module is not None and issubclass(type(module), types.ModuleType):
        file = _text(types.ModuleType.__getattribute__(module, "__dict__").get("__file__"))
    if file is None or not file.endswith((".py", ".pyw")):
        file = next((code.co_filename for code in _methods(cls)), None)
    return file


def _methods(cls: type) -> Iterator[types.CodeType]:
    """Give the code of the methods written in the class itself."""
    start = _qualname(cls) + "."
    for value in list(_vars(cls).values()):
        if type(value) is types.FunctionType and value.__qualname__.startswith(start):
            yield value.__code__


@functools.lru_cache(maxsize=256)
def _class_node(source: str, qualname: str) -> ast.ClassDef | None:
    """Find a class in a source by its qualified name; the last one wins, as at run time."""
    tree = parsed(source) if source else None
    if tree is None:
        return None
    wanted = tuple(qualname.split("."))
    found = None
    todo: list[tuple[ast.AST, tuple[str, ...]]] = [(tree, ())]
    while todo:
        node, names = todo.pop()
        for child in ast.iter_child_nodes(node):
            inside = names
            if isinstance(child, ast.ClassDef):
                inside = (*names, child.name)
                if inside == wanted and (found is None or child.lineno > found.lineno):
                    found = child
            elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                inside = (*names, child.name, "<locals>")
            if isinstance(child, (ast.stmt, ast.ExceptHandler)):
                todo.append((child, inside))
    return found


@functools.lru_cache(maxsize=1024)
def _assigned(node: ast.ClassDef, attribute: str) -> int | None:
    """Find the first line in a class that sets `self.<attribute>`, whatever it calls itself."""
    methods = (one for one in node.body if isinstance(one, ast.FunctionDef))
    selves = {"self"}.union(one.args.args[0].arg for one in methods if one.args.args)
    lines = [
        target.lineno
        for target in ast.walk(node)
        if isinstance(target, ast.Attribute)
        and isinstance(target.ctx, ast.Store)
        and target.attr == attribute
        and isinstance(target.value, ast.Name)
        and target.value.id in selves
    ]
    return min(lines, default=None)


def functions_at(code: types.CodeType) -> list[ast.Lambda | ast.FunctionDef]:
    """Give all functions and lambdas that begin in the line in which this code begins."""
    made = evaluated(code)
    source = source_of(code.co_filename) if made is None else _parsable(made.text or "")
    tree = parsed(source) if source else None
    return [
        node
        for node in (ast.walk(tree) if tree is not None else ())
        if isinstance(node, (ast.Lambda, ast.FunctionDef)) and node.lineno == code.co_firstlineno
    ]


def _parsable(text: str) -> str:
    """Give what was evaluated as `eval` takes it; its lines are counted as they stand."""
    return text.lstrip(" \t")


# --- sources --------------------------------------------------------------------------------------


def _past_decorators(file: str, line: int) -> int:
    """Go from a function's first decorator, where its code begins, to its `def`."""
    linecache.checkcache(file)
    lines = linecache.getlines(file)
    for number in range(line, min(line + 50, len(lines)) + 1):
        if _DEF.match(lines[number - 1]):
            return number
    return line


def _text(value: object) -> str | None:
    return value if type(value) is str else None
