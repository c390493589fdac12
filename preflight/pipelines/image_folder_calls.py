"""Finds where a source has torchvision's ImageFolder read a folder, and which folder that is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from preflight.objects.facts import Definition
from preflight.pipelines.facts import ReadsClasses
from preflight.syntax.full_names import full_name, imported
from preflight.syntax.given_values import OPTIONS, given_by
from preflight.syntax.parsing import Parsed
from preflight.syntax.running import key_of, last_name
from preflight.syntax.surroundings import always_runs, called, walk
from preflight.syntax.written_texts import WrittenTexts

_CLASSES = ("torchvision.datasets.ImageFolder", "torchvision.datasets.folder.ImageFolder")
_OWN = frozenset({"__init__", "find_classes", "_find_classes", "make_dataset"})
"""With one of these, a class that is made of it goes by a rule of its own."""

_RELABELS = frozenset({"samples", "targets", "imgs"})

# Places of `target_transform` and `is_valid_file` among its arguments.
_TARGET = 2
_VALID = 4


def class_folders_in(parsed: Parsed, file: str) -> tuple[ReadsClasses, ...]:
    """Give each call of ImageFolder, with the folders that it may be given."""
    names = _names_of(parsed.tree)
    texts = WrittenTexts(_given_in(parsed.tree), key=key_of)
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
        if not isinstance(node, ast.Call) or full_name(node.func, names) not in _CLASSES:
            continue
        words = {one.arg: one.value for one in node.keywords}
        root = node.args[0] if node.args else words.get("root")
        if root is None or None in words or around.rehearsed:
            continue
        paths = [one for one in texts.of(root) if one.text]
        at = Definition(
            file=file, line=node.lineno, line_text=parsed.lines[node.lineno - 1].strip()
        )
        found.append(
            ReadsClasses(
                at=at,
                paths=tuple(one.text for one in paths if one.whole),
                endings=tuple(one.text for one in paths if not one.whole),
                sure=always_runs(around) and all(one.whole for one in paths),
                allow_empty=_is_true(words.get("allow_empty")),
                own_rule="is_valid_file" in words or len(node.args) > _VALID,
                relabels=relabels or "target_transform" in words or len(node.args) > _TARGET,
                labels_unused=thrown,
            )
        )
    return tuple(sorted(found, key=lambda one: one.at.line or 0))


def _is_true(node: ast.expr | None) -> bool:
    return node is not None and not (isinstance(node, ast.Constant) and not node.value)


def _names_of(tree: ast.Module) -> dict[str, str]:
    """Say what names stand for, by the imports of a file and the classes that it defines."""
    nodes = [*ast.walk(tree)]
    names = imported(nodes)
    for node in (one for one in nodes if isinstance(one, ast.ClassDef)):
        own = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
        of = full_name(node.bases[0], names) if len(node.bases) == 1 else ""
        names.pop(node.name, None)
        if of in _CLASSES and own.isdisjoint(_OWN):
            names[node.name] = of
    return names


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


def _given_in(tree: ast.Module) -> dict[str, list[ast.expr]]:
    """Collect what one file gives to its names: by assignments, options, defaults and loops."""
    values: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called(node) not in OPTIONS:
            continue  # what a function is told is not what another one's parameter is
        for name, value in (*given_by(node), *_looped(node)):
            values.setdefault(name, []).append(value or ast.Constant(None))
    return values


def _looped(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, (ast.For, ast.comprehension)) and (name := key_of(node.target)):
        several = node.iter.elts if isinstance(node.iter, (ast.List, ast.Tuple)) else ()
        yield from ((name, one) for one in several)
