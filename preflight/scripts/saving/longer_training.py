"""Finds what only a longer training comes to: a checkpoint of the best score, an assert on it."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from dataclasses import replace

from preflight.scripts.facts import Raised, Rehearsal
from preflight.scripts.met.loops.counted import parsed
from preflight.scripts.met.loops.rare_tests import is_save
from preflight.users_code.facts import Frame

_ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)

# What a name or a file is like to which nothing was given.
_NO_FILE, _NO_NAME = "FileNotFoundError", re.compile(r"NameError|UnboundLocalError|.*NoneType")


def with_test(seen: Rehearsal, root: str) -> Rehearsal:
    """Add to what was raised the test of a score that a training in short may not have passed."""
    raised = seen.ended.raised
    if raised is None or not (seen.shortened and seen.steps and raised.frames):
        return seen
    test = _assert(raised.frames[-1], root) or _not_passed(raised, seen.file, root)
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


def _not_passed(raised: Raised, script: str, root: str) -> Frame | None:
    """Give the test of a score behind which is saved, or named, what was not there."""
    line = raised.frames[-1].text
    is_file = raised.error.startswith(_NO_FILE)
    if not (is_file or _NO_NAME.match(raised.error)):
        return None
    words = _saved if is_file else _named
    said = f"{line} {raised.error}" if is_file else line
    for file in dict.fromkeys([*(one.file for one in raised.frames), script]):
        tree = parsed(os.path.join(root, file))
        for node in () if tree is None else ast.walk(tree):
            if not (isinstance(node, ast.If) and _is_ordered(node.test)):
                continue
            if any(_stands(one, said) for one in words(node)):
                text = f"if {ast.unparse(node.test)}:"
                return Frame(file=file, line=node.lineno, function="", text=text)
    return None


def _is_ordered(test: ast.expr) -> bool:
    nodes = ast.walk(test)
    return any(
        isinstance(op, _ORDERED) for one in nodes if isinstance(one, ast.Compare) for op in one.ops
    )


def _stands(word: str, text: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(word)}(?!\w)", text) is not None


def _behind(node: ast.If) -> Iterator[ast.AST]:
    for part in node.body:
        yield from ast.walk(part)


def _named(node: ast.If) -> Iterator[str]:
    """Give what is assigned to behind a test."""
    for one in _behind(node):
        if isinstance(one, (ast.Name, ast.Attribute)) and isinstance(one.ctx, ast.Store):
            yield ast.unparse(one)


def _saved(node: ast.If) -> Iterator[str]:
    """Give the paths to which something is saved behind a test, as they are written there."""
    for one in _behind(node):
        if isinstance(one, ast.Call) and is_save(one):
            for path in (*one.args[-1:], *(each.value for each in one.keywords)):
                if isinstance(path, ast.Constant) and isinstance(path.value, str):
                    yield path.value
                else:
                    yield ast.unparse(path)
