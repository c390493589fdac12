"""What one torch takes with weights_only, read from its sources, which are not run.

Its list grows and shrinks from version to version: torch 2.15 takes `torch.bcomplex32`, and no
longer the nested tensors that torch 2.13 takes.
"""

from __future__ import annotations

import ast
import builtins
import functools
import os
from collections.abc import Iterable, Iterator

from preflight.formats.torch.pickle_globals import is_class_of_numbers, is_known

LIST = "_weights_only_unpickler.py"
"""The file of torch that has the list."""

# Modules that add to it once they are imported, where this torch has them.
_ADDING = (
    "_dynamo/__init__.py",
    "distributed/_serialization.py",
    "distributed/device_mesh.py",
    "distributed/distributed_c10d.py",
    "distributed/tensor/__init__.py",
    "nested/_internal/nested_tensor.py",
)

# Types have names of their own, by which pickles know them, and others.
_SHORT = {
    "torch.cdouble": "torch.complex128",
    "torch.cfloat": "torch.complex64",
    "torch.chalf": "torch.complex32",
    "torch.double": "torch.float64",
    "torch.float": "torch.float32",
    "torch.half": "torch.float16",
    "torch.int": "torch.int32",
    "torch.long": "torch.int64",
    "torch.short": "torch.int16",
}

# What `[t for t in vars(builtins).values() if issubclass(t, BaseException)]` are called.
_EXCEPTIONS = tuple(
    f"builtins.{name}"
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, BaseException)
)


def refused_by(torch: str | None, names: tuple[str, ...]) -> tuple[str, ...]:
    """Give those of the names at which the torch in this folder stops, with weights_only.

    Where there is none, or its list is written in another way, our own stands for it.
    """
    allowed = _allowed(torch) if torch is not None and names else None
    if allowed is None:
        return tuple(name for name in names if not is_known(name))
    return tuple(name for name in names if not (name in allowed or is_class_of_numbers(name)))


@functools.lru_cache(maxsize=4)
def _allowed(torch: str) -> frozenset[str] | None:
    """Give the names on the list of the torch in this folder; None: it cannot be read."""
    tree = _parsed(os.path.join(torch, LIST))
    if tree is None:
        return None
    functions = _functions(tree)
    if "_get_allowed_globals" not in functions:
        return None
    storage = _parsed(os.path.join(torch, "storage.py"))
    found = {*_listed(functions, storage), *_announced(tree)}
    for path in _ADDING:
        added = _parsed(os.path.join(torch, *path.split("/")))
        found.update(_added(added, path) if added is not None else ())
    return frozenset(found) if "torch._utils._rebuild_tensor_v2" in found else None


def _parsed(path: str) -> ast.Module | None:
    try:
        with open(path, "rb") as file:
            return ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return None


def _listed(functions: dict[str, ast.FunctionDef], storage: ast.Module | None) -> Iterator[str]:
    """Give what is put into the list, by its name or in loops over what has one."""
    elsewhere = _functions(storage) if storage is not None else {}
    for node in ast.walk(functions["_get_allowed_globals"]):
        if isinstance(node, ast.Dict):
            yield from _texts(key for key in node.keys if key is not None)
        elif isinstance(node, ast.Assign):
            yield from _texts(one.slice for one in node.targets if isinstance(one, ast.Subscript))
        elif isinstance(node, ast.For):
            yield from _numbered(node.iter)
            for name in _dotted_in(node.iter):
                last = name.rpartition(".")[2]
                function = functions.get(last) or elsewhere.get(last)
                names = [name] if function is None else _dotted_in(function)
                own = (one for one in names if one.startswith("torch.") and one[-8:] != "_classes")
                yield from (_SHORT.get(one, one) for one in own)


def _functions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    return {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}


def _texts(nodes: Iterable[ast.expr]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _numbered(node: ast.expr) -> Iterator[str]:
    """Give `torch.int1` to `torch.int7` of `[getattr(torch, f"int{x}") for x in range(1, 8)]`."""
    if not isinstance(node, ast.ListComp) or not isinstance(node.elt, ast.Call):
        return
    begun = [
        text
        for part in node.elt.args
        if isinstance(part, ast.JoinedStr)
        for text in _texts(part.values[:1])
    ]
    bounds = node.generators[0].iter
    given = bounds.args if isinstance(bounds, ast.Call) else []
    numbers = [one.value for one in given if isinstance(one, ast.Constant)]
    first, end = (one if isinstance(one, int) else 0 for one in (*numbers, 0, 0)[:2])
    yield from (f"torch.{text}{number}" for text in begun for number in range(first, end))


def _dotted_in(node: ast.AST) -> Iterator[str]:
    """Give the dotted names in it, each whole."""
    name = _dotted(node)
    if name is not None:
        yield name
        return
    for one in ast.iter_child_nodes(node):
        yield from _dotted_in(one)


def _dotted(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    inner = _dotted(node.value) if isinstance(node, ast.Attribute) else None
    return f"{inner}.{node.attr}" if isinstance(node, ast.Attribute) and inner else None


def _announced(tree: ast.Module) -> Iterator[str]:
    """Give what torch says of that a module is to be imported first."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and isinstance(node.comparators[0], ast.List):
            yield from _texts(node.comparators[0].elts)


def _added(tree: ast.Module, path: str) -> Iterator[str]:
    """Give what a module adds, by the modules that it has it from."""
    whole = ["torch", *path.removesuffix(".py").split("/")]
    package = whole[:-1]
    module = ".".join(package if whole[-1] == "__init__" else whole)
    homes = {
        one.asname or one.name: f"{_module_of(node, package)}.{one.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for one in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (_dotted(node.func) or "").endswith("add_safe_globals"):
            for listed in (part for one in node.args for part in _added_up(one)):
                if isinstance(listed, ast.ListComp) and "BaseException" in _dotted_in(listed):
                    yield from _EXCEPTIONS
                for one in listed.elts if isinstance(listed, ast.List) else ():
                    name = _dotted(one) or ""
                    yield homes.get(name) or (name if "." in name else f"{module}.{name}")


def _added_up(node: ast.expr) -> Iterator[ast.expr]:
    """Give the lists of which one is the sum."""
    if isinstance(node, ast.BinOp):
        yield from (*_added_up(node.left), *_added_up(node.right))
    else:
        yield node


def _module_of(node: ast.ImportFrom, package: list[str]) -> str:
    above = package[: len(package) + 1 - node.level] if node.level else []
    return ".".join([*above, *([node.module] if node.module else [])])
