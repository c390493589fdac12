"""Finds where a source has ImageFolder of torchvision, or timm, read a folder, and which one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from preflight.objects.facts import Definition
from preflight.pipelines.facts import ReadsClasses
from preflight.pipelines.names.command_line import StartOfScript
from preflight.pipelines.names.read_together import read_together
from preflight.syntax.full_names import full_name, imported
from preflight.syntax.given_values import OPTIONS, given_by
from preflight.syntax.parsing import Parsed
from preflight.syntax.running import key_of, last_name, text_of
from preflight.syntax.surroundings import Around, always_runs, called, walk
from preflight.syntax.written_texts import WrittenTexts

_CLASSES = ("torchvision.datasets.ImageFolder", "torchvision.datasets.folder.ImageFolder")
# What is called of timm, which reads a folder with one for a class, where it is told no other kind.
_OF_TIMM = re.compile(r"timm\..*\b(create_dataset|ImageDataset)")
_OTHER_KINDS = ("torch/", "hfds/", "hfids/", "tfds/", "wds/")

_OWN = frozenset({"__init__", "find_classes", "_find_classes", "make_dataset"})
"""With one of these, a class that is made of it goes by a rule of its own."""

_RELABELS = frozenset({"samples", "targets", "imgs"})

# Places of `target_transform` and `is_valid_file` among its arguments.
_TARGET = 2
_VALID = 4


def class_folders_in(parsed: Parsed, file: str) -> tuple[ReadsClasses, ...]:
    """Give each call of ImageFolder, with the folders that it may be given, and each of timm's."""
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
        name = full_name(node.func, names) if isinstance(node, ast.Call) else ""
        if not isinstance(node, ast.Call) or not name or around.rehearsed:
            continue
        at = Definition(
            file=file, line=node.lineno, line_text=parsed.lines[node.lineno - 1].strip()
        )
        one = _of_timm(node, at) if _OF_TIMM.fullmatch(name) else None
        if name in _CLASSES:
            one = _of_torchvision(node, at, texts, always_runs=always_runs(around))
        if one is not None:
            found.append(one._replace(relabels=relabels or one.relabels, labels_unused=thrown))
    return tuple(sorted(found, key=lambda one: one.at.line or 0))


def with_told_folders(
    found: Sequence[ReadsClasses], each: Sequence[tuple[str, Parsed]], start: StartOfScript
) -> tuple[ReadsClasses, ...]:
    """Add the folders that other files say, or files of settings, where the own one does not."""
    places = {(one.at.file or "", one.at.line) for one in found if not one.paths}
    if not places:
        return tuple(found)
    files, trees, meanings, _ = read_together(each, {file for file, _ in places}, start)
    told: dict[tuple[str, int | None], ReadsClasses] = {
        (one.at.file or "", one.at.line): one for one in found
    }
    for file, tree in zip(files, trees, strict=True):
        for node, around in _calls_of(tree):
            root, place = _root_of(node), (file, node.lineno)
            text = None if root is None else meanings.texts.only(root)
            if root is not None and text and place in places:
                sure = always_runs(around) and not meanings.assumed(root)
                told[place] = told[place]._replace(paths=(text,), endings=(), sure=sure)
    return tuple(told.values())


def _calls_of(tree: ast.Module) -> Iterator[tuple[ast.Call, Around]]:
    names = _names_of(tree)
    for node, around in walk(tree):
        if isinstance(node, ast.Call) and full_name(node.func, names) in _CLASSES:
            yield node, around


def _root_of(call: ast.Call) -> ast.expr | None:
    words = {one.arg: one.value for one in call.keywords}
    return None if None in words else call.args[0] if call.args else words.get("root")


def _of_torchvision(
    node: ast.Call, at: Definition, texts: WrittenTexts, *, always_runs: bool
) -> ReadsClasses | None:
    words = {one.arg: one.value for one in node.keywords}
    root = _root_of(node)
    if root is None:
        return None
    paths = [one for one in texts.of(root) if one.text]
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
