"""Says which lines of a script and its modules a run comes to, whatever its flags are.

A function counts where something that is come to names it, with no test around; methods where their
class does. Whoever stands behind a test may be come to or not, and does not count.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from preflight.syntax.bodies import DEFINITIONS
from preflight.syntax.imports.needed_modules import NeededModules
from preflight.syntax.parsing import Parsed
from preflight.syntax.running import last_name
from preflight.syntax.surroundings import Around, walk

# Methods that those call who are handed the object: Python itself, and trainers.
_HOOKS = frozenset({"setup", "prepare_data", "train_dataloader", "val_dataloader"})


_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(slots=True)
class Reached:
    """What is come to of the sources that a script needs."""

    entry: str
    started: frozenset[str]
    lazy: frozenset[str]
    """Files that are imported inside functions only."""

    named_at: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)
    """What has to be called where each name is read without a test around it."""

    lines: dict[tuple[str, int], tuple[str, ...]] = field(default_factory=dict)
    """And what for calls that no test stands around, by the line of their names."""

    def is_come_to(self, file: str, line: int) -> bool:
        """Whether a call is made in every run."""
        place = self.lines.get((file, line))
        return place is not None and self._called().issuperset(place)

    def _called(self) -> set[str]:
        """Name the functions and classes that are called, or handed to somebody, in every run."""
        places = [*self.lines.values(), *(one for each in self.named_at.values() for one in each)]
        waiting = {name for one in places for name in one}
        found: set[str] = set()
        while True:
            each = ((name, self.named_at.get(name, ())) for name in waiting)
            new = {name for name, at in each if any(found.issuperset(one) for one in at)}
            if not new:
                return found
            found |= new
            waiting -= new

    def read(self, file: str, parsed: Parsed) -> None:
        """Take in what one of the files names, and what it calls."""
        tree = parsed.tree
        own = file == self.entry or file in self.started
        classes = [
            (node.lineno, node.end_lineno or node.lineno, node.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef)
        ]
        bases = {
            id(base): one.name
            for one in ast.walk(tree)
            if isinstance(one, ast.ClassDef)
            for base in one.bases
        }
        for node, around in walk(tree):
            if not _is_sure(around, as_main=own):
                continue
            place = tuple(_holders(node.lineno, around, classes))
            place += (bases[id(node)],) if id(node) in bases else ()  # it is made where that is
            if file in self.lazy and not place:
                continue
            if isinstance(node, ast.Call):
                line = node.func.end_lineno or node.lineno
                self.lines.setdefault((file, line), place)
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                self.named_at.setdefault(last_name(node), []).append(place)


def reached(each: Iterable[tuple[str, Parsed]], entry: str, way: NeededModules) -> Reached:
    """Look through the sources that a script needs, each with its name."""
    found = Reached(entry=entry, started=way.started, lazy=way.lazy)
    for file, parsed in each:
        found.read(file, parsed)
    return found


class Unnamed(NamedTuple):
    """A function or class of which nothing speaks that runs."""

    name: str
    first: int
    last: int
    """Its lines."""


def unnamed(parsed: Parsed, called: Iterable[str]) -> Iterator[Unnamed]:
    """Give what of a file nothing comes to that is called, or that runs when it is imported.

    Whoever is in doubt is believed: any word counts that could be a name, also in a text; and a
    decorator, or the class that one inherits from, may hand it on.
    """
    spoken = [set(map(str, called))]
    plain: dict[str, list[tuple[Unnamed, set[str]]]] = {}
    for node in parsed.tree.body:
        first, last = node.lineno, node.end_lineno or node.lineno
        words = set(_WORD.findall("\n".join(parsed.lines[first - 1 : last])))
        if isinstance(node, DEFINITIONS) and not (
            node.decorator_list or getattr(node, "bases", None)
        ):
            plain.setdefault(node.name, []).append((Unnamed(node.name, first, last), words))
        else:
            spoken.append(words)
    while spoken:
        those = [plain.pop(word) for word in spoken.pop() if word in plain]
        spoken += (words for each in those for _, words in each)
    yield from (one for each in plain.values() for one, _ in each)


def _is_sure(around: Around, *, as_main: bool) -> bool:
    """Whether nothing around a piece of code keeps a run from it, but that it is the main file."""
    if around.rehearsed is not None:
        return False
    tests = [ast.unparse(one.test) for one in around.passed if one.holds]
    if len(tests) < len(around.passed) or not all("__main__" in one for one in tests):
        return False
    return as_main if tests else not around.conditional


def _holders(line: int, around: Around, classes: Iterable[tuple[int, int, str]]) -> Iterator[str]:
    """Name what has to be called, or made, so that a line is come to."""
    inside = [name for begin, end, name in classes if begin < line <= end]
    yield from inside
    for number, name in enumerate((around.inside or "").split(".")):
        is_hook = name in _HOOKS or (name.startswith("__") and name.endswith("__"))
        if name and name != "lambda" and not (is_hook and inside and not number):
            yield name
