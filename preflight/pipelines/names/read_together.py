"""Chooses files that hand something to one another, and says what their names stand for."""

from __future__ import annotations

import ast
import bisect
import os
import re
from collections.abc import Collection, Container, Iterator, Sequence
from typing import NamedTuple

from preflight.pipelines.names.command_line import StartOfScript
from preflight.pipelines.names.meanings import Meanings
from preflight.pipelines.names.standing import meanings_in
from preflight.pipelines.names.told_by_configs import LOADS, ToldByConfigs
from preflight.syntax.parsing import Parsed, nodes_of
from preflight.syntax.running import FUNCTIONS

# Files that are read together, and how far those who call are looked for.
_MOST_FILES = 100
_ROUNDS = 3
_OPTIONS = r"add_argument\(|@(?:dataclasses\.)?dataclass|\.option\("
_HANDED = re.compile(rf"{_OPTIONS}|{LOADS.pattern}")


class ReadTogether(NamedTuple):
    """Files that were read together."""

    files: Sequence[str]
    trees: Sequence[ast.Module]
    meanings: Meanings
    configs: tuple[str, ...] = ()
    """Files of settings that they read, too."""


def read_together(
    each: Sequence[tuple[str, Parsed]], holders: Container[str], start: StartOfScript
) -> ReadTogether:
    """Read some files with what may hand something to them, of all that belong together."""
    those = _beside(each, holders)
    files, trees = [name for name, _ in those], [one.tree for _, one in those]
    meanings, configs = meanings_in(trees, start.words), tuple[str, ...]()
    if start.folders and any(one.lines_of(LOADS) for _, one in those):
        paths = [os.path.join(start.folders[0], one) for one in files]
        configs = ToldByConfigs(meanings, paths, start.folders).tell(trees)
    return ReadTogether(files, trees, meanings, configs)


def _beside(
    each: Sequence[tuple[str, Parsed]], holders: Container[str]
) -> list[tuple[str, Parsed]]:
    """Choose the files that may hand something to those with pipelines."""
    names = {n.name for name, one in each if name in holders for n in _definitions(one.tree)}
    others = {name for name, one in each if name in holders or one.lines_of(_HANDED)}
    those = list[tuple[str, Parsed]]()
    for _ in range(_ROUNDS):
        found = [one for one in each if one[0] in others or not names.isdisjoint(one[1].words)]
        if those and len(found) > _MOST_FILES:
            break  # of those who call from further away, none is better than any
        those = found
        names |= {n for _, one in those for n in _using(one, names & one.words)}
    kept = [one for one in those if one[0] in holders]
    return [*kept, *(one for one in those if one[0] not in holders)][: max(_MOST_FILES, len(kept))]


def _using(parsed: Parsed, names: Collection[str]) -> Iterator[str]:
    """Name the functions and classes in which some names stand: who calls these hands it on."""
    if not names:
        return
    lines = parsed.lines_of(re.compile(rf"(?:{'|'.join(sorted(names))})\b"))
    for one in _definitions(parsed.tree):
        place = bisect.bisect_right(lines, one.lineno)
        if place < len(lines) and lines[place] <= (one.end_lineno or one.lineno):
            yield one.name


def _definitions(
    tree: ast.Module,
) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Give what others may call by its name; `__init__` is called by that of its class."""
    those = (n for n in nodes_of(tree) if isinstance(n, (*FUNCTIONS, ast.ClassDef)))
    return (one for one in those if not one.name.startswith("__"))
