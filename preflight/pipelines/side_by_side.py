"""Finds lists of files that a data set takes by the same index, and that are out of step.

Such as images and masks of which one is missing: from there on, each image has the next one's.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import os
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

from preflight.objects.attributes import classes, own_attributes
from preflight.pipelines.facts import Shifted
from preflight.pipelines.listed import MOST, NAMED, cells

# Of fewer files, what agrees may do so by chance.
_FEWEST = 6

# The part of both lists that has to be in both, by its names.
_SHARED = 0.8

_DEEPEST, _MOST_LISTS = 6, 8
_NUMBER_AT_END = re.compile(r"\d+$").search
_NUMBER_AT_BEGIN = re.compile(r"^\d+").search


def out_of_step(dataset: object, depth: int = 0) -> Shifted | None:
    """Say of the first two lists that are out of step how; None: none are."""
    own = own_attributes(dataset)
    for (name, one), (other_name, other) in _pairs(dataset, own):
        found = _shifted(one, other)
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
    own = {name: one for cls in reversed(kind.__mro__) for name, one in vars(cls).items()}
    for function in own.values():
        if not isinstance(function, FunctionType):
            continue
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        except (OSError, TypeError, SyntaxError):
            continue
        found: dict[str, set[str]] = {}
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Subscript)
                and isinstance(node.value, ast.Attribute)
                and isinstance(node.value.value, ast.Name)
                and isinstance(node.slice, ast.Name)
            ):
                found.setdefault(node.slice.id, set()).add(node.value.attr)
        yield from found.values()


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

    Both begin alike and go on in the same order; where one lacks a file, what follows is beside the
    next one's. Frames beside those behind them are the same files, and so on purpose.
    """
    if min(len(one), len(other)) < _FEWEST or not {*one}.isdisjoint(other):
        return None
    mine, others = _names(one), _names(other)
    both = {*mine} & {*others}
    unique = len({*mine}) == len(mine) and len({*others}) == len(others)
    if not unique or len(both) < _SHARED * max(len(mine), len(others)) or mine[0] != others[0]:
        return None
    if [name for name in mine if name in both] != [name for name in others if name in both]:
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
    )


def _names(files: Sequence[str]) -> list[str]:
    """Give the part of each name that tells it from the others: without `_mask`, or `img_`."""
    stems = [os.path.basename(one).rpartition(".")[0] for one in files]
    prefix = os.path.commonprefix(stems)  # noqa: RUF071
    number = _NUMBER_AT_END(prefix)
    begin = number.start() if number else len(prefix)
    ends = os.path.commonprefix([one[begin:][::-1] for one in stems])[::-1]  # noqa: RUF071
    number = _NUMBER_AT_BEGIN(ends)
    end = len(ends) - (number.end() if number else 0)
    return [one[begin : len(one) - end] for one in stems]
