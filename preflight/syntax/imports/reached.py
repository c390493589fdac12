"""Says which lines of a script and its modules a run comes to, whatever its flags are.

A function counts where something that is come to names it, with no test around; methods where their
class does. Whoever stands behind a test may be come to or not, and does not count.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from preflight.syntax.bodies import DEFINITIONS
from preflight.syntax.imports.needed_modules import NeededModules
from preflight.syntax.parsing import Parsed
from preflight.syntax.running import last_name
from preflight.syntax.surroundings import Around, walk

# Methods that those call who are handed the object: Python itself, and trainers.
_HOOKS = frozenset({"setup", "prepare_data", "train_dataloader", "val_dataloader"})


_WORD = re.compile(r"[^\W\d]\w*")


_Place = tuple[str, ...]
"""What has to be called, or made, so that a piece of code is come to."""


@dataclass(slots=True)
class Reached:
    """What is come to of the sources that a script needs; of these, as little is read as can be."""

    each: Sequence[tuple[str, Parsed]]
    entry: str
    way: NeededModules
    named_at: dict[str, list[_Place]] = field(default_factory=dict)
    """Where each name is read without a test around it, as far as was asked for."""

    def is_come_to(self, file: str, line: int) -> bool:
        """Whether a call is made in every run, by the line on which its name ends."""
        calls = (
            place
            for name, parsed in self.each
            if name == file
            for place in self._places(name, parsed, [line], partial(_calls, line))
        )
        place = next(calls, None)
        return place is not None and self._called(place).issuperset(place)

    def _called(self, names: Iterable[str]) -> set[str]:
        """Name what is called, or handed to somebody, in every run, of all that these depend on."""
        waiting = set(names)
        while new := waiting - self.named_at.keys():
            self._look_for(new)
            waiting |= {holder for one in new for at in self.named_at[one] for holder in at}
        found: set[str] = set()
        while True:
            each = ((name, self.named_at[name]) for name in waiting)
            reached = {name for name, at in each if any(found.issuperset(one) for one in at)}
            if not reached:
                return found
            found |= reached
            waiting -= reached

    def _look_for(self, names: set[str]) -> None:
        """Look where some names are read, in the files that hold their words."""
        self.named_at |= {one: [] for one in names}
        for file, parsed in self.each:
            for name in sorted(names & parsed.words):
                lines = parsed.lines_of(re.compile(rf"{name}\b"))
                self.named_at[name] += self._places(file, parsed, lines, partial(_reads, name))

    def _places(
        self, file: str, parsed: Parsed, lines: Sequence[int], is_one: Callable[[ast.AST], bool]
    ) -> Iterator[_Place]:
        """Give the places of some code in some lines of a file, where no test stands around it."""
        own = file == self.entry or file in self.way.started
        classes: list[tuple[int, int, str]] = []
        bases: dict[int, str] = {}
        for node, around in walk(parsed.tree, lines):
            if isinstance(node, ast.ClassDef):
                classes.append((node.lineno, node.end_lineno or node.lineno, node.name))
                bases |= {id(base): node.name for base in node.bases}
            if not (is_one(node) and _is_sure(around, as_main=own)):
                continue
            place = tuple(_holders(node.lineno, around, classes))
            place += (bases[id(node)],) if id(node) in bases else ()  # it is made where that is
            if place or file not in self.way.lazy:
                yield place


def _calls(line: int, node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and (node.func.end_lineno or node.lineno) == line


def _reads(name: str, node: ast.AST) -> bool:
    return (
        isinstance(node, (ast.Name, ast.Attribute))
        and isinstance(node.ctx, ast.Load)
        and last_name(node) == name
    )


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
