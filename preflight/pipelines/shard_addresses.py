"""Reads addresses, and arguments, off a source: as texts, lists, patterns, and what makes these."""

from __future__ import annotations

import ast
import itertools
import os
from collections import ChainMap
from collections.abc import Iterable, Iterator
from typing import Any

from preflight.syntax.surroundings import called
from preflight.syntax.written_texts import WrittenTexts
from preflight.targets.words.braces import TooManyError, expand

_MOST = 10_000

# Lists of lists, and names that stand for themselves.
_DEEPEST = 8

# They make a list of a list; texts of paths; names of a pattern, and of braces.
_AS_IT_IS = frozenset({"sorted", "list", "tuple", "natsorted"})
_TEXT = frozenset({"str", "fspath"})
_GLOBS = frozenset({"glob", "iglob"})
_BRACES = frozenset({"braceexpand", "expand_urls", "expand_source"})


class _Unwritten:
    """Stands for a value that only a run knows."""


def one_by_one(
    given: Iterable[ast.expr], texts: WrittenTexts, depth: int = 0
) -> Iterator[ast.expr]:
    """Give arguments one by one, also those that a list hands over as such."""
    for one in given:
        several = texts.meant(one.value) if isinstance(one, ast.Starred) else None
        if isinstance(several, ast.BinOp) and isinstance(several.op, ast.Add):
            each = [ast.Starred(part, ast.Load()) for part in (several.left, several.right)]
            several = ast.List(list(each), ast.Load())
        if isinstance(several, (ast.List, ast.Tuple)) and depth < _DEEPEST:
            yield from one_by_one(several.elts, texts, depth + 1)
        else:
            yield one


def expanded(text: str | None) -> tuple[str, ...]:
    """Give what a text with braces stands for; of too many nothing."""
    try:
        names = () if text is None else expand(text)
    except TooManyError:
        return ()
    return tuple(itertools.islice(names, _MOST))


def several_of(node: ast.expr, texts: WrittenTexts, depth: int = 0) -> list[str] | None:
    """Give the addresses of a list, each written out; None where they are not."""
    if depth > _DEEPEST:
        return None
    match node:
        case ast.List(elts=each) | ast.Tuple(elts=each):
            return _all(texts.only(one) for one in one_by_one(each, texts))
        case ast.BinOp(left=one, op=ast.Add(), right=other):
            parts = [several_of(texts.meant(part), texts, depth + 1) for part in (one, other)]
            return None if None in parts else [name for part in parts for name in part or ()]
        case (
            ast.ListComp(elt=one, generators=[over]) | ast.GeneratorExp(elt=one, generators=[over])
        ) if not over.ifs and isinstance(over.target, ast.Name):
            name = texts.key(over.target) or ""
            numbers, given = _range(texts.meant(over.iter)), dict(texts.values)
            with_each = (WrittenTexts(ChainMap({name: [n]}, given), texts.key) for n in numbers)
            return _all(each.only(one) for each in with_each) or None
        case ast.Call(args=[inner]) if called(node) in _BRACES:
            return list(expanded(texts.only(inner))) or None
        case ast.Call(args=[inner, *_]) if called(node) in _AS_IT_IS:
            return several_of(texts.meant(inner), texts, depth + 1)
    return None


def _all(each: Iterable[str | None]) -> list[str] | None:
    names: list[str] = []
    for one in each:
        if one is None:
            return None
        names.append(one)
    return names


def _range(node: ast.expr) -> list[ast.Constant]:
    """Give the numbers of `range(8)`; none where it is no such thing, or too many."""
    if not isinstance(node, ast.Call) or called(node) != "range":
        return []
    given = [value_of(one) for one in node.args]
    if not all(type(one) is int for one in given):
        return []
    if not 0 < len(given) < 4 or given[2:] == [0]:
        return []
    numbers = range(*given)
    return [ast.Constant(one) for one in numbers] if len(numbers) <= _MOST else []


def pattern_of(node: ast.expr, texts: WrittenTexts, depth: int = 0) -> str | None:
    """Give what `sorted(glob.glob("d/*.tar"))` looks for, also by way of `str(one) for one in`."""
    if depth > _DEEPEST:
        return None
    match node:
        case ast.Call(args=[inner, *_]) if called(node) in _AS_IT_IS:
            return pattern_of(texts.meant(inner), texts, depth + 1)
        case (
            ast.ListComp(elt=one, generators=[over]) | ast.GeneratorExp(elt=one, generators=[over])
        ) if not over.ifs:
            same = one.args[0] if isinstance(one, ast.Call) and called(one) in _TEXT else one
            is_same = isinstance(same, ast.Name) and same.id == getattr(over.target, "id", "")
            return pattern_of(texts.meant(over.iter), texts, depth + 1) if is_same else None
        case ast.Call(args=[inner], keywords=[], func=callee) if called(node) in _GLOBS:
            holder = getattr(callee, "value", None)
            if isinstance(holder, ast.Name) and holder.id == "glob":
                holder = None
            parts = [texts.only(one) for one in (holder, inner) if one is not None]
            text = None if None in parts else os.path.join(*filter(None, parts))
            return None if text is None or "**" in text else text
    return None


def value_of(node: ast.expr) -> Any:
    """Give the value that is written out, or a thing that stands for none."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _Unwritten()
