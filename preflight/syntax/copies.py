"""Finds the line of the job's sources that copies a model as a whole, for an EMA or a teacher."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from preflight.objects.facts import ModelCopy
from preflight.syntax.parsing import Parsed, everything_in
from preflight.syntax.running import key_of, last_name
from preflight.syntax.source_files import is_test
from preflight.syntax.surroundings import Around, called, walk

# Whoever is called by these names copies the model it is given (torch, timm, ema_pytorch, YOLO).
_COPIERS = frozenset({"AveragedModel", "EMA"}) | {
    f"Model{ema}{version}"
    for ema in ("Ema", "EmA", "EMa", "EMA")
    for version in ("", "V1", "V2", "V3")
}

# What a model is called, where `deepcopy` is given something: not every copy is one of a model.
_MODELS = re.compile(
    r"model|net\b|unet|network|ema|teacher|student|encoder|decoder|transformer|\bdit\b|vae"
    r"|generator|backbone",
    re.IGNORECASE,
)
_OTHERS = re.compile(r"config|cfg|args|opt(ion)?s?\b|state|kwargs|param|layer|block", re.IGNORECASE)


# These keep an average of the parameters only (diffusers, torch_ema).
_AVERAGERS = frozenset({"EMAModel", "ExponentialMovingAverage"})

_INNER = re.compile(r"\.module$|\bunwrap\w*\(")


class Code(NamedTuple):
    """One of the sources."""

    file: str
    parsed: Parsed


class ModelCopying(NamedTuple):
    """A call that copies a model."""

    file: str
    call: ast.Call
    by_class: bool
    """Whether it makes an object of a class that is made for it; else it is a bare `deepcopy`."""

    is_own: bool
    """Whether that class is one of the job's own."""


def copier_of(sources: Sequence[Code], entry: str | None = None) -> ModelCopy | None:
    """Give the call that copies a model; a class made for it goes before a bare `deepcopy`."""
    found = model_copies(sources, entry)
    if not found:
        return next(_averagers(sources), None)
    first = found[0]
    is_own = first.is_own or not first.by_class
    copies = [one.call for one in found if not one.by_class]
    given = [one.call for one in found if one.by_class] or copies
    return ModelCopy(
        file=first.file,
        line=first.call.lineno,
        code=ast.unparse(first.call),
        of_package=None if is_own else ast.unparse(first.call.func),
        with_memo=is_own and bool(copies) and all(map(_has_memo, copies)),
        of_inner=all(one.args and _INNER.search(ast.unparse(one.args[0])) for one in given),
    )


def _has_memo(call: ast.Call) -> bool:
    return len(call.args) > 1 or any(one.arg == "memo" for one in call.keywords)


def _averagers(sources: Sequence[Code]) -> Iterator[ModelCopy]:
    names = _AVERAGERS - {node.name for node in _classes(sources)}
    for one in sources:
        for node, around in _where(one.parsed, names):
            name = called(node) if isinstance(node, ast.Call) and node.args else ""
            if name in names and not around.rehearsed:
                yield ModelCopy(one.file, node.lineno, ast.unparse(node), averages=True)


def model_copies(sources: Sequence[Code], entry: str | None = None) -> list[ModelCopying]:
    """Give the calls that copy a model, those of classes that are made for it first.

    Own classes count for what they do, and not for their names. Where one of the sources is what
    is started, the main guards of all others do not run.
    """
    own = _own_classes(sources)
    found = [
        copying
        for one in sources
        if not is_test(one.file)
        for copying in _copies(one, own, is_entry=entry in {None, one.file})
    ]
    return sorted(found, key=lambda one: not one.by_class)


def _copies(source: Code, own: dict[str, bool], *, is_entry: bool) -> Iterator[ModelCopying]:
    names = {"deepcopy", *_COPIERS, *own}
    renamed = _renamed(source.parsed, names)
    for node, around in _where(source.parsed, names | renamed.keys()):
        if not isinstance(node, ast.Call) or around.rehearsed:
            continue
        if "__main__" in around.tested and not is_entry:
            continue
        every = (*node.args, *(one.value for one in node.keywords))
        name, given = called(node), [one for one in every if not isinstance(one, ast.Constant)]
        name = renamed.get(name, name)
        if not given or _is_fresh(given[0]):
            continue
        if own.get(name, name in _COPIERS):
            if not any(map(_gives_tensors, given)):
                yield ModelCopying(source.file, node, by_class=True, is_own=name in own)
        elif name == "deepcopy" and _is_model(ast.unparse(given[0])):
            yield ModelCopying(source.file, node, by_class=False, is_own=False)


def _where(parsed: Parsed, names: AbstractSet[str]) -> Iterator[tuple[ast.expr | ast.stmt, Around]]:
    """Give what stands where some names are written; most files hold none of them."""
    if written := sorted(names & parsed.words):
        words = re.compile("|".join(written))
        yield from walk(parsed.tree, parsed.lines_of(words))


def _renamed(parsed: Parsed, names: AbstractSet[str]) -> dict[str, str]:
    """Give the names under which a file imports some, by what it calls them."""
    return {
        one.asname: one.name
        for node, _ in _where(parsed, names)
        if isinstance(node, ast.ImportFrom)
        for one in node.names
        if one.asname
    }


def _is_fresh(node: ast.expr) -> bool:
    """Whether it is made for this call alone, and no model of anybody else: `Net().to(device)`.

    So is what a function makes of nothing: `make_model()`.
    """
    is_bare = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    if is_bare and not [*ast.iter_child_nodes(node)][1:]:
        return True
    while isinstance(node, ast.Call):
        if last_name(node.func)[:1].isupper():
            return True
        node = node.func.value if isinstance(node.func, ast.Attribute) else node.func
    return False


def _gives_tensors(node: ast.expr) -> bool:
    """Whether it is the tensors of a model and not the model: `model.parameters()`."""
    return isinstance(node, ast.Call) and called(node) in {"parameters", "state_dict"}


def _is_model(text: str) -> bool:
    return bool(_MODELS.search(text)) and not _OTHERS.search(text)


# --- own classes ----------------------------------------------------------------------------------


def _own_classes(sources: Sequence[Code]) -> dict[str, bool]:
    """Say of each own class that may copy a model, by its name or by its code, whether it does."""
    classes = _classes(sources)
    copies = {node.name: False for node in classes if node.name in _COPIERS}
    copies |= {node.name: True for node in classes if _copies_what_it_is_given(node)}
    for _ in range(3):  # an own class of an own class
        for node in classes:
            for base in map(last_name, node.bases):
                if copies.get(base, base in _COPIERS) and base != node.name:
                    copies[node.name] = True
    return copies


def _classes(sources: Sequence[Code]) -> list[ast.ClassDef]:
    return [
        node
        for one in sources
        for node, _ in walk(one.parsed.tree, one.parsed.lines_of(re.compile(r"class\b")))
        if isinstance(node, ast.ClassDef)
    ]


def _copies_what_it_is_given(node: ast.ClassDef) -> bool:
    """Whether its `__init__`, or a method that this calls, copies a model that it is given."""
    methods = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
    made = methods.get("__init__")
    if made is None:
        return False
    names = {called(one) for one in everything_in(made) if isinstance(one, ast.Call)}
    given = {one.arg for one in (*made.args.args[1:], *made.args.kwonlyargs)}
    return any(
        isinstance(one, ast.Call)
        and called(one) == "deepcopy"
        and one.args
        and key_of(one.args[0]) in given
        and _is_model(key_of(one.args[0]) or "")
        for name, method in methods.items()
        if method is made or name in names
        for one in everything_in(method)
    )
