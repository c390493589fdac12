"""Chooses files that hand something to one another, and says what their names stand for."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

from preflight.pipelines.names.command_line import StartOfScript
from preflight.pipelines.names.meanings import Meanings
from preflight.pipelines.names.standing import meanings_in
from preflight.pipelines.names.told_by_configs import LOADS, ToldByConfigs
from preflight.syntax.parsing import Parsed
from preflight.syntax.running import FUNCTIONS

# Files that are read together, and how far those who call are looked for.
_MOST_FILES = 100
_ROUNDS = 3
_OPTIONS = r"add_argument\(|@(?:dataclasses\.)?dataclass|\.option\("


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
    names = {n for name, one in each if name in holders for n in _defined(one.tree)}
    for _ in range(_ROUNDS):
        own = "|".join(map(re.escape, sorted(names)))
        words = re.compile(rf"\b(?:{own})\b|{_OPTIONS}|{LOADS.pattern}")
        those = [(name, one) for name, one in each if name in holders or one.lines_of(words)]
        more = {n for _, one in those[:_MOST_FILES] for n in _defined(one.tree)} - names
        if len(those) > _MOST_FILES or not more:
            break
        names |= more
    kept = [one for one in those if one[0] in holders]
    return [*kept, *(one for one in those if one[0] not in holders)][: max(_MOST_FILES, len(kept))]


def _defined(tree: ast.Module) -> Iterator[str]:
    return (n.name for n in ast.walk(tree) if isinstance(n, (*FUNCTIONS, ast.ClassDef)))
