"""Finds where a source has ImageFolder of torchvision, or timm, read a folder, and which one."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from preflight.objects.facts import Definition
from preflight.pipelines.facts import ReadsClasses
from preflight.syntax.parsing import Parsed
from preflight.syntax.running import key_of, last_name, text_of
from preflight.syntax.surroundings import Around, called, walk

_CLASSES = ("torchvision.datasets.ImageFolder", "torchvision.datasets.folder.ImageFolder")
# What is called of timm, which reads a folder with one for a class, where it is told no other kind.
_OF_TIMM = re.compile(r"timm\..*\b(create_dataset|ImageDataset)")
_OTHER_KINDS = ("torch/", "hfds/", "hfids/", "tfds/", "wds/")

_OWN = frozenset({"__init__", "find_classes", "_find_classes", "make_dataset"})
"""With one of these, a class that is made of it goes by a rule of its own."""

_OPTIONS = frozenset({"add_argument", "option", "Option", "add_option"})
_SAME = frozenset({"abspath", "realpath", "normpath", "resolve", "absolute", "as_posix"}) | {
    *("str", "fspath", "Path", "PurePath")
}
_RELABELS = frozenset({"samples", "targets", "imgs"})

# Places of `target_transform` and `is_valid_file` among its arguments.
_TARGET = 2
_VALID = 4

# `a / b / c`, and names that stand for others; a path of more than so many is nobody's.
_DEEPEST = 8
_MOST = 8

# What comes in front of these is not known.
_WHOLE_NAMES = re.compile(r"[/\\](.*)", re.DOTALL)


class _Path(NamedTuple):
    """What is known of a path: all of it, or what it ends in."""

    text: str = ""
    whole: bool = False


_UNKNOWN = (_Path(),)


def class_folders_in(parsed: Parsed, file: str) -> tuple[ReadsClasses, ...]:
    """Give each call of ImageFolder, with the folders that it may be given, and each of timm's."""
    names = _names_of(parsed.tree)
    given = _Given(parsed.tree)
    thrown = _throws_labels(parsed.tree)
    relabels = any(
        isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and node.attr in _RELABELS
        and last_name(node.value) != "self"
        for node in ast.walk(parsed.tree)
    )
    found = []
    for node, around in walk(parsed.tree):
        name = _dotted(node.func, names) if isinstance(node, ast.Call) else ""
        if not isinstance(node, ast.Call) or not name or around.rehearsed:
            continue
        at = Definition(
            file=file, line=node.lineno, line_text=parsed.lines[node.lineno - 1].strip()
        )
        one = _of_timm(node, at) if _OF_TIMM.fullmatch(name) else None
        if name in _CLASSES:
            one = _of_torchvision(node, at, given, always_runs=_always_runs(around))
        if one is not None:
            found.append(one._replace(relabels=relabels or one.relabels, labels_unused=thrown))
    return tuple(sorted(found, key=lambda one: one.at.line or 0))


def _of_torchvision(
    node: ast.Call, at: Definition, given: _Given, *, always_runs: bool
) -> ReadsClasses | None:
    words = {one.arg: one.value for one in node.keywords}
    root = node.args[0] if node.args else words.get("root")
    if root is None or None in words:
        return None
    paths = [one for one in given.paths(root) if one.text]
    return ReadsClasses(
        at=at,
        paths=tuple(one.text for one in paths if one.whole),
        endings=tuple(one.text for one in paths if not one.whole),
        sure=always_runs and all(one.whole for one in paths),
        allow_empty=_is_true(words.get("allow_empty")),
        own_rule="is_valid_file" in words or len(node.args) > _VALID,
        relabels="target_transform" in words or len(node.args) > _TARGET,
    )


def _of_timm(node: ast.Call, at: Definition) -> ReadsClasses | None:
    """Give a call of timm's, which finds the folder of a split by itself; None of another kind."""
    words = {one.arg: one.value for one in node.keywords}
    kind = text_of(node.args[0] if node.args else words.get("name")) or ""
    if kind.startswith(_OTHER_KINDS):
        return None
    mapped = "target_transform" in words or bool(text_of(words.get("class_map")))
    return ReadsClasses(at=at, allow_empty=True, skips_empty=True, relabels=mapped)


def _is_true(node: ast.expr | None) -> bool:
    return node is not None and not (isinstance(node, ast.Constant) and not node.value)


def _always_runs(around: Around) -> bool:
    return not around.conditional or around.tested == {"__main__"}


def _names_of(tree: ast.Module) -> dict[str, str]:
    """Say what names stand for, by the imports of a file and the classes that it defines."""
    names: dict[str, str] = {}
    classes = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                first = one.name.partition(".")[0]
                names[one.asname or first] = one.name if one.asname else first
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
        elif isinstance(node, ast.ClassDef):
            classes.append(node)
    for node in classes:
        own = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
        of = _dotted(node.bases[0], names) if len(node.bases) == 1 else ""
        names.pop(node.name, None)
        if of in _CLASSES and own.isdisjoint(_OWN):
            names[node.name] = of
    return names


def _dotted(node: ast.expr, names: dict[str, str]) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    first = names.get(node.id, "") if isinstance(node, ast.Name) else ""
    return ".".join([first, *parts]) if first else ""


def _throws_labels(tree: ast.Module) -> bool:
    """Whether loops of a file leave the labels of a batch aside: `for images, _ in loader`."""
    targets = [
        one.target for one in ast.walk(tree) if isinstance(one, (ast.For, ast.comprehension))
    ]
    inner = [
        one.elts[-1] if isinstance(one, ast.Tuple) and len(one.elts) == 2 else one
        for one in targets
    ]
    last = [one.elts for one in (*targets, *inner) if isinstance(one, ast.Tuple)]
    return any(isinstance(one[-1], ast.Name) and one[-1].id == "_" for one in last if one)


class _Given:
    """What one file gives to its names: by assignments, options, defaults and loops."""

    def __init__(self, tree: ast.Module) -> None:
        self._values: dict[str, list[ast.expr]] = {}
        for node in ast.walk(tree):
            for name, value in _given_by(node):
                self._values.setdefault(name, []).append(value)

    def paths(self, node: ast.expr, depth: int = 0) -> Sequence[_Path]:
        """Give the paths that an expression may be."""
        if depth > _DEEPEST:
            return _UNKNOWN
        text = text_of(node)
        if text is not None:
            return (_Path(text, whole=True),)
        if isinstance(node, ast.IfExp):
            return self._of_each((node.body, node.orelse), depth)
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            return self._of_each(self._values.get(key_of(node) or "", ()), depth)
        if isinstance(node, ast.JoinedStr):
            parts = [
                one.value if isinstance(one, ast.FormattedValue) else one for one in node.values
            ]
            return self._joined(parts, "", depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Div)):
            joint = "/" if isinstance(node.op, ast.Div) else ""
            return self._joined([node.left, node.right], joint, depth)
        return self._of_call(node, depth) if isinstance(node, ast.Call) else _UNKNOWN

    def _of_call(self, call: ast.Call, depth: int) -> Sequence[_Path]:
        name, holder = called(call), getattr(call.func, "value", None)
        if name == "joinpath" and holder is not None:
            return self._joined([holder, *call.args], "/", depth)
        if name == "join" or (name in _SAME and len(call.args) > 1):
            return self._joined(call.args, "/", depth)
        inner = call.args[0] if call.args else holder
        return self.paths(inner, depth + 1) if name in _SAME and inner is not None else _UNKNOWN

    def _of_each(self, nodes: Iterable[ast.expr], depth: int) -> Sequence[_Path]:
        found = dict.fromkeys(path for one in nodes for path in self.paths(one, depth + 1))
        return tuple(found)[:_MOST] or _UNKNOWN

    def _joined(self, parts: Sequence[ast.expr], joint: str, depth: int) -> Sequence[_Path]:
        each = [self.paths(one, depth + 1) for one in parts]
        found: dict[_Path, None] = {}
        for chosen in product(*each):
            whole = chosen[0] if chosen else _Path()
            for one in chosen[1:]:
                whole = _behind(whole, one, joint)
            found[whole] = None
            if len(found) == _MOST:
                break
        return tuple(found) or _UNKNOWN


def _behind(front: _Path, rest: _Path, joint: str) -> _Path:
    if not rest.whole:
        return rest._replace(whole=False)
    if joint and (os.path.isabs(rest.text) or (not front.text and not front.whole)):
        return _Path(rest.text, whole=os.path.isabs(rest.text))
    if front.text or front.whole:
        between = joint if front.text and not front.text.endswith(("/", "\\")) else ""
        return _Path(front.text + between + rest.text, whole=front.whole)
    names = _WHOLE_NAMES.search(rest.text)
    return _Path(names[1]) if names else _Path()


def _given_by(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Assign):
        names = [(key_of(one), node.value) for one in node.targets]
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
        names = [(key_of(node.target), node.value)]
    elif isinstance(node, (ast.For, ast.comprehension)):
        of = node.iter.elts if isinstance(node.iter, (ast.List, ast.Tuple)) else []
        names = [(key_of(node.target), one) for one in of]
    elif isinstance(node, ast.Dict):
        names = [(text_of(key), one) for key, one in zip(node.keys, node.values, strict=True)]
    elif isinstance(node, ast.arguments):
        places = [*node.posonlyargs, *node.args]
        own = [*([None] * (len(places) - len(node.defaults))), *node.defaults, *node.kw_defaults]
        places += node.kwonlyargs
        # What a parameter is given elsewhere is not known.
        unknown = ast.Constant(None)
        names = [(one.arg, its or unknown) for one, its in zip(places, own, strict=True)]
    elif isinstance(node, ast.Call) and called(node) in _OPTIONS:
        default = next((one.value for one in node.keywords if one.arg == "default"), None)
        texts = [
            *map(text_of, node.args),
            *(text_of(one.value) for one in node.keywords if one.arg == "dest"),
        ]
        plain = (one.lstrip("-").replace("-", "_") for one in texts if one)
        names = [(one, default or ast.Constant(None)) for one in plain]
    else:
        return
    yield from ((name, value) for name, value in names if name)
