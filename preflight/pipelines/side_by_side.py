"""Finds lists of files that a data set takes by the same index, and that are out of step.

Such as images and masks of which one is missing: from there on, each image has the next one's.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

from preflight.objects.attributes import classes, own_attributes
from preflight.objects.rows_of_names import MOST, NAMED, cells
from preflight.objects.source_trees import function_tree
from preflight.pipelines.facts import Shifted

# Of fewer files, what agrees may do so by chance.
_FEWEST = 6

# The part of both lists that has to be in both, by its names.
_SHARED = 0.8

_DEEPEST, _MOST_LISTS = 6, 8
_NUMBERS = re.compile(r"[0-9]+|[^0-9]+").findall
_NUMBER_AT_END = re.compile(r"\d+$").search
_NUMBER_AT_BEGIN = re.compile(r"^\d+").search


def out_of_step(dataset: object, depth: int = 0) -> Shifted | None:
    """Say of the first two lists that are out of step how; None: none are."""
    own = own_attributes(dataset)
    for (name, one), (other_name, other) in _pairs(dataset, own):
        found = _shifted(one, other)
        if found is None and not _has_again(own, one, other):
            found = _mixed(one, other, in_rows=name not in own)
        if found is not None:
            return found._replace(one=name, other=other_name)
    several = own.get("datasets")
    inner = [own.get("dataset"), *(several if isinstance(several, (list, tuple)) else ())]
    of_torch = classes("torch.utils.data", "Dataset")
    held = (one for one in inner if depth < _DEEPEST and isinstance(one, of_torch))
    found = next(filter(None, (out_of_step(one, depth + 1) for one in held)), None)
    picked = own.get("indices")
    if found is None or not isinstance(picked, (list, range)):
        return found
    return found if any(one >= found.at for one in picked) else None


def _pairs(
    dataset: object, own: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, list[str]], tuple[str, list[str]]]]:
    """Give lists that belong together: columns of rows, and what is taken by the same index."""
    whole: dict[str, list[str]] = {}
    for name, value in itertools.islice(own.items(), 50):
        columns = _columns_of(value) if type(value) in (list, tuple) else {}
        if list(columns) == [""]:
            whole[name] = columns[""]
        named = [(f"{name}[…][{key!r}]", one) for key, one in columns.items()]
        yield from itertools.combinations(named[:_MOST_LISTS], 2)
    if len(whole) > 1:
        for one, other in itertools.combinations(list(whole)[:_MOST_LISTS], 2):
            if any({one, other} <= each for each in _taken_together(type(dataset))):
                yield (one, whole[one]), (other, whole[other])


def _taken_together(kind: type) -> Iterator[set[str]]:
    """Give the attributes that a method of a data set takes by one and the same index."""
    taken: dict[str, tuple[list[str], dict[str, set[str]], list[tuple[str, str]]]] = {}
    for name, one in {k: v for cls in reversed(kind.__mro__) for k, v in vars(cls).items()}.items():
        tree = function_tree(one) if isinstance(one, FunctionType) else None
        if tree is None:
            continue
        found: dict[str, set[str]] = {}
        calls = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Subscript) and (attribute := _of_self(node.value)):
                found.setdefault(_index(node.slice), set()).add(attribute)
            elif isinstance(node, ast.Call) and len(node.args) == 1 and _of_self(node.func):
                calls.append((_index(node.args[0]), _of_self(node.func)))
        taken[name] = [*inspect.signature(one).parameters], found, calls
    for _, found, calls in taken.values():
        for index, called in calls:
            names, inner, _ = taken.get(called, ([], {}, []))
            found.setdefault(index, set()).update(*(inner.get(one, ()) for one in names[1:2]))
        yield from (each for index, each in found.items() if index)


def _of_self(node: ast.expr) -> str:
    """Name an attribute of a variable."""
    is_one = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    return node.attr if is_one else ""  # type: ignore[attr-defined]


def _index(node: ast.expr) -> str:
    """Name the variable that is an index, also one that is wound back: `index % len(self.a)`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        node = node.left
    return node.id if isinstance(node, ast.Name) else ""


def _columns_of(rows: Sequence[Any]) -> dict[object, list[str]]:
    """Give the columns of a list that name a file in each row, by what the rows call them."""
    columns: dict[object, list[str]] = {}
    if len(rows) > MOST or not any(cells(one) for one in rows[:_FEWEST]):
        return columns
    for row in rows:
        for key, name in cells(row):
            columns.setdefault(key, []).append(name)
    named = {key: names for key, names in columns.items() if all(map(NAMED, names))}
    return {key: names for key, names in named.items() if len(names) == len(rows)}


# --- whether they are out of step -----------------------------------------------------------------


def _shifted(one: Sequence[str], other: Sequence[str]) -> Shifted | None:
    """Hold two lists against each other by the names of their files.

    Both go on in the same order; where one lacks a file, what follows is beside the next one's.
    Frames beside those behind them are the same files, or as many, and so on purpose.
    """
    named = _named_alike(one, other)
    if named is None:
        return None
    mine, others = named
    both = {*mine} & {*others}
    if [name for name in mine if name in both] != [name for name in others if name in both]:
        return None
    if mine[0] != others[0] and (len(mine) == len(others) or mine[-1] != others[-1]):
        return None
    beside = list(zip(mine, others, strict=False))
    wrong = [place for place, (a, b) in enumerate(beside) if a != b]
    apart = [at for at in wrong if beside[at][0] in both or beside[at][1] in both]
    if len(apart) < 2:
        return None
    at = wrong[0]
    lacks = mine[at] not in both
    return Shifted(
        pairs=len(beside),
        wrong=len(wrong),
        at=at,
        file=one[at],
        beside=other[at],
        alone=one[at] if lacks else other[at],
        guess=at == 0 and len(wrong) == len(beside),
    )


def _mixed(one: Sequence[str], other: Sequence[str], *, in_rows: bool) -> Shifted | None:
    """Say of two lists of the same names that they are in another order.

    One is sorted by letters and the other by numbers, or a folder gave them as they lie there.
    Files of one kind may be so on purpose, as of pictures before and after that are no pairs, and
    what stands in the rows of one list, as in a table.
    """
    named = _named_alike(one, other)
    if named is None or named[0] == named[1][::-1]:
        return None
    mine, others = named
    wrong = [at for at, (a, b) in enumerate(zip(mine, others, strict=False)) if a != b]
    both = {*mine} & {*others}
    orders = [[name for name in names if name in both] for names in named]
    if orders[0] == orders[1] or len(wrong) < _FEWEST:
        return None
    sorts = {_sorted_by(one), _sorted_by(other)} == {"letters", "numbers"}
    alike = _suffix(one[0]) == _suffix(other[0])
    if in_rows and alike and not sorts:
        return None
    return Shifted(
        pairs=min(len(mine), len(others)),
        wrong=len(wrong),
        at=wrong[0],
        file=one[wrong[0]],
        beside=other[wrong[0]],
        sorts=sorts,
        guess=not sorts and (alike or in_rows),
    )


def _named_alike(one: Sequence[str], other: Sequence[str]) -> tuple[list[str], list[str]] | None:
    """Give their names, each of them once and most of them in both; None: they are not so."""
    if min(len(one), len(other)) < _FEWEST or not {*one}.isdisjoint(other):
        return None
    for mine, others in ((_stems(one), _stems(other)), (_names(one), _names(other))):
        unique = len({*mine}) == len(mine) and len({*others}) == len(others)
        if unique and len({*mine} & {*others}) >= _SHARED * max(len(mine), len(others)):
            return mine, others
    return None


def _has_again(own: Mapping[str, Any], *lists: list[str]) -> bool:
    """Whether the data set has one of them a second time, in another order: shuffled on purpose."""
    files = [{*one} for one in lists]
    every = [_columns_of(one) for one in own.values() if type(one) in (list, tuple)]
    found = [{*columns[""]} for columns in every if "" in columns]
    return any(found.count(one) > 1 for one in files)


def _sorted_by(files: Sequence[str]) -> str:
    """Say by what they are sorted; empty: by nothing that is known."""
    if files == sorted(files):
        return "letters"
    return "numbers" if files == sorted(files, key=_by_number) else ""


def _by_number(name: str) -> list[tuple[int, str]]:
    return [(int(one), "") if one.isdigit() else (-1, one) for one in _NUMBERS(name)]


def _suffix(file: str) -> str:
    return os.path.splitext(file)[1].lower()


def _stems(files: Sequence[str]) -> list[str]:
    return [os.path.basename(one).rpartition(".")[0] for one in files]


def _names(files: Sequence[str]) -> list[str]:
    """Give the part of each name that tells it from the others: without `_mask`, or `img_`."""
    stems = _stems(files)
    prefix = os.path.commonprefix(stems)  # noqa: RUF071
    number = _NUMBER_AT_END(prefix)
    begin = number.start() if number else len(prefix)
    ends = os.path.commonprefix([one[begin:][::-1] for one in stems])[::-1]  # noqa: RUF071
    number = _NUMBER_AT_BEGIN(ends)
    end = len(ends) - (number.end() if number else 0)
    return [one[begin : len(one) - end] for one in stems]
