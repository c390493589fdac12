"""What a pickle is read into: a stack and a memo of stand-ins, and what was noted on the way."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from preflight.formats.torch.pickle_globals import is_by_all, is_dangerous, refused
from preflight.values.names import shown

LONGEST_TEXT = 256
"""Characters of a text or name that are kept; longer texts are left out, longer names cut."""

_LONGEST_GLOBAL = 200

MOST_GLOBALS = 20
"""Globals that are named."""

MOST_DANGEROUS = 200
"""As long as they are fewer, those that can do harm are named all the same."""

# Globals that are kept of those that some versions of torch take, and others not.
_MOST_TAKEN = 200


class Name(NamedTuple):
    """A class or function that the pickle names; nobody looks for it."""

    text: str
    """Module and name, with a space between them."""


class Storage(NamedTuple):
    """One tensor storage, as torch names it in a persistent id."""

    key: str
    kind: str
    """`FloatStorage`, `UntypedStorage`, …"""

    elements: int
    """Elements; bytes of an `UntypedStorage`."""

    device: str = "cpu"
    """On which it was, and to which torch.load brings it unless it is told otherwise."""


class Rebuilt(NamedTuple):
    """A tensor, by the function that torch makes it with again and what that is given."""

    by: str
    """As of `Name`."""

    storage: Storage
    given: tuple[Value, ...]
    """All but the storage."""


class MadeObject:
    """A dict or another object that a pickle makes, for whoever wants to know what it is given."""

    __slots__ = ("given", "of")

    def __init__(self, of: str) -> None:
        self.of = of
        self.given: dict[str, Value] = {}
        """By the key or the attribute."""


# What is kept of a value: enough for persistent ids, and None for all else.
Atom: TypeAlias = "str | int | Name | Storage | Rebuilt | MadeObject | None"
Value: TypeAlias = "Atom | tuple[Value, ...]"


class Machine:
    """The stack and memo of a pickle, holding stand-ins only."""

    __slots__ = (
        "framed",
        "globals",
        "marks",
        "memo",
        "stack",
        "storages",
        "taken",
        "tensors",
        "texts",
    )

    def __init__(self) -> None:
        self.stack: list[Value] = []
        self.marks: list[int] = []
        self.memo: dict[int, Value] = {}
        self.storages: list[Storage] = []
        self.tensors: list[Rebuilt] = []
        self.texts: list[str] = []
        self.globals: list[str] = []
        self.taken: list[str] = []
        self.framed = False

    def held(self) -> int:
        """Count the values that are held."""
        parts = (self.stack, self.marks, self.memo, self.storages, self.tensors, self.texts)
        return sum(len(part) for part in parts)

    def to_mark(self) -> list[Value]:
        """Take off all that lies above the last mark, and the mark."""
        mark = self.marks.pop()
        above = self.stack[mark:]
        del self.stack[mark:]
        return above

    def note(self, module: str, name: str) -> None:
        """Keep the name of a global that torch.load would refuse, once, as it may be shown.

        What it takes is kept apart, where not every torch does.
        """
        full = refused(module, name)
        if full is None:
            taken = f"{'builtins' if module == '__builtin__' else module}.{name}"
            if taken not in self.taken and not is_by_all(taken) and len(self.taken) < _MOST_TAKEN:
                self.taken.append(taken)
            return
        most = MOST_DANGEROUS if is_dangerous(full) else MOST_GLOBALS
        if len(self.globals) < most:
            text = shown(full[:_LONGEST_GLOBAL])
            if text not in self.globals:
                self.globals.append(text)
