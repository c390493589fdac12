"""Finds what only a longer training comes to: a checkpoint of the best score, an assert on it."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from preflight.scripts.facts import Raised, Rehearsal
from preflight.scripts.met.lines.counted import parsed
from preflight.syntax.running import last_name
from preflight.users_code.facts import Frame

_ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_OF_SCORE = re.compile(r"(?i)best|better|improve")

# What is raised where a file, or a name, was given nothing.
_NO_FILE = re.compile(r"FileNotFoundError\b.*'([^']*)'$", re.DOTALL)
_NO_NAME = re.compile(r"NameError|UnboundLocalError|.*NoneType")

_WRITES = re.compile(r"(?i)save|checkpoint|ckpt|copy|dump|write|rename|replace|move")
_PATHS = frozenset({"join", "Path", "joinpath", "str", "fspath"})
_ANY = ".*"


def with_test(seen: Rehearsal, root: str) -> Rehearsal:
    """Add to what was raised the test of a score that a training in short may not have passed."""
    raised = seen.ended.raised
    if raised is None or not (seen.shortened and seen.steps and raised.frames):
        return seen
    if seen.is_certain:
        return seen
    test = _assert(raised.frames[-1], root) or _not_passed(raised, seen, root)
    if test is None:
        return seen
    return replace(seen, ended=replace(seen.ended, raised=replace(raised, not_passed=test)))


def _assert(inner: Frame, root: str) -> Frame | None:
    """Give an assert on the order of two values."""
    tree = parsed(os.path.join(root, inner.file))
    for node in () if tree is None else ast.walk(tree):
        if isinstance(node, ast.Assert) and node.lineno <= inner.line <= (node.end_lineno or 0):
            return inner if _is_ordered(node.test) else None
    return None


def _not_passed(raised: Raised, seen: Rehearsal, root: str) -> Frame | None:
    """Give the test of a score behind which is saved, or named, what was not there."""
    lacking = _NO_FILE.match(raised.error)
    if lacking is None and not _NO_NAME.match(raised.error):
        return None
    met = (one.at.file for one in seen.met if one.at is not None)
    for file in dict.fromkeys([*(one.file for one in raised.frames), seen.file, *met]):
        tree = parsed(os.path.join(root, file))
        given = {} if tree is None else _given(tree)
        texts = set() if tree is None else _texts(tree, raised.frames[-1], file)
        for node in () if tree is None else ast.walk(tree):
            if not isinstance(node, ast.If) or not _is_of_score(node.test, given):
                continue
            if lacking is None:
                is_its = any(_stands(one, raised.frames[-1].text) for one in _named(node))
            else:
                is_its = _saves(node, re.split(r"[\\/]", lacking[1])[-1], given, texts)
            if is_its:
                text = f"if {ast.unparse(node.test)}:"
                return Frame(file=file, line=node.lineno, function="", text=text)
    return None


def _given(tree: ast.AST) -> dict[str, list[ast.expr]]:
    """Give what names and attributes of a file are given."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Name, ast.Attribute)):
            found.setdefault(ast.unparse(node.targets[0]), []).append(node.value)
    return found


def _is_of_score(test: ast.expr, given: Mapping[str, list[ast.expr]]) -> bool:
    """Whether it asks which of two is larger, also by a name: `if is_best:`."""
    names = [one for one in ast.walk(test) if isinstance(one, (ast.Name, ast.Attribute))]
    values = (value for one in names for value in given.get(ast.unparse(one), ()))
    by_name = isinstance(test, (ast.Name, ast.Attribute)) and _OF_SCORE.search(last_name(test))
    return _is_ordered(test) or bool(by_name) or any(map(_is_ordered, values))


def _is_ordered(test: ast.expr) -> bool:
    nodes = ast.walk(test)
    return any(
        isinstance(op, _ORDERED) for one in nodes if isinstance(one, ast.Compare) for op in one.ops
    )


def _stands(word: str, text: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(word)}(?!\w)", text) is not None


def _behind(node: ast.If) -> Iterator[ast.AST]:
    for part in (*node.body, *node.orelse):
        yield from ast.walk(part)


def _named(node: ast.If) -> Iterator[str]:
    """Give what is assigned to behind a test."""
    for one in _behind(node):
        if isinstance(one, (ast.Name, ast.Attribute)) and isinstance(one.ctx, ast.Store):
            yield ast.unparse(one)


# --- paths ----------------------------------------------------------------------------------------


def _texts(tree: ast.AST, but: Frame, file: str) -> set[str]:
    """Give the last parts of paths that stand in a file, but for the line that found none there."""
    return {
        node.value.rpartition("/")[2]
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if (file, node.lineno) != (but.file, but.line)
    }


def _saves(node: ast.If, name: str, given: Mapping[str, list[ast.expr]], texts: set[str]) -> bool:
    """Whether a file of this name is written behind a test.

    Of one whose name nobody can read there, it has to stand elsewhere, as what is handed over.
    """
    for one in _behind(node):
        if isinstance(one, ast.Call) and _WRITES.search(last_name(one.func)):
            for word in (*one.args[-1:], *(each.value for each in one.keywords)):
                for pattern in (one.rpartition("/")[2] for one in _patterns(word, given)):
                    is_read = bool(pattern.replace(_ANY, ""))
                    if re.fullmatch(pattern, name) if is_read else name in texts:
                        return True
    return False


def _patterns(path: ast.expr, given: Mapping[str, list[ast.expr]]) -> Iterator[str]:
    """Give what a path matches, as it is written: where it is a name, as that was given."""
    values = given.get(ast.unparse(path), []) if isinstance(path, (ast.Name, ast.Attribute)) else []
    yield from map(_pattern, values or [path])


def _pattern(path: ast.expr) -> str:
    match path:
        case ast.Constant(value=str(text)):
            return re.escape(text)
        case ast.JoinedStr(values=parts):
            return "".join(map(_pattern, parts))
        case ast.BinOp(op=ast.Div(), right=right):
            return f"/{_pattern(right)}"
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return _pattern(left) + _pattern(right)
        case ast.Call(func=func, args=[*_, last]) if last_name(func) in _PATHS:
            return f"/{_pattern(last)}"
    return _ANY
