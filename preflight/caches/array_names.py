"""Which arrays, tensors or keys each of many files holds, and those of which one is lacking.

Names that many files share are held once: by a letter for each file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from preflight.cached_files.facts import MOST_SETS, CachePiece
from preflight.file_access.facts import Damage
from preflight.tensors.facts import Content
from preflight.tensors.neighbours import contents_of
from preflight.values.names import counted, shown

_NOUNS = {"npz": "array", "safetensors": "tensor"}
_UNKNOWN, _FIRST = ord("."), ord("0")


@dataclass(slots=True)
class ArrayNames:
    """The names of the arrays of each file, where it has names for them."""

    letters: bytearray
    sets: list[tuple[str, ...]] = field(default_factory=list)

    @classmethod
    def of(cls, count: int) -> ArrayNames:
        """Make one of so many files of which nothing is known."""
        return cls(bytearray([_UNKNOWN]) * count)

    def put(self, places: Sequence[int], piece: CachePiece) -> None:
        """Note what was seen of the files in these places."""
        own = [self._letter(names) for names in piece.sets]
        for place, letter in zip(places, piece.arrays, strict=False):
            at = ord(letter) - _FIRST
            self.letters[place] = own[at] if at >= 0 else _UNKNOWN

    def forget(self, place: int) -> None:
        """Take it that a file was not looked at."""
        self.letters[place] = _UNKNOWN

    def is_known(self, place: int) -> bool:
        """Whether the names of a file are held against those of others."""
        return self.letters[place] != _UNKNOWN

    def places(self) -> Iterator[int]:
        """Give the places of all of which this is so."""
        return (at for at, one in enumerate(self.letters) if one != _UNKNOWN)

    def to_plain(self) -> dict[str, Any]:
        """Give all of it as JSON has it."""
        return {"letters": self.letters.decode(), "sets": self.sets}

    def take(self, said: Mapping[str, Any], moved: Mapping[int, int] | None) -> None:
        """Take over what `to_plain` gave, of all files or by their places now and then."""
        if not said:
            return
        self.sets = [tuple(one) for one in said["sets"]]
        letters = said["letters"].encode()
        if moved is None:
            self.letters = bytearray(letters)
        for place, at in (moved or {}).items():
            self.letters[place] = letters[at]

    def lacking(self, names: Sequence[str]) -> dict[int, Damage]:
        """Give the places of files that lack an array which those beside them have."""
        if len(self.sets) < 2 or len(self.sets) >= MOST_SETS:
            return {}
        places = {names[at]: at for at in self.places()}
        held = (
            Content(file=name, kind="dict", keys=self.sets[self.letters[at] - _FIRST])
            for name, at in places.items()
        )
        odd = (one for one in contents_of("", held).odd if one.kind == "missing-key")
        return {
            places[one.file]: Damage(
                kind="lacking",
                text=f"holds no {_noun(one.file)} {shown(one.path)}, which each of "
                f"{counted(one.count, 'file')} beside it holds",
                member=one.path,
            )
            for one in odd
        }

    def _letter(self, names: tuple[str, ...]) -> int:
        if names not in self.sets:
            if len(self.sets) >= MOST_SETS:
                return _UNKNOWN
            self.sets.append(names)
        return _FIRST + self.sets.index(names)


def _noun(file: str) -> str:
    return _NOUNS.get(file.rpartition(".")[2].lower(), "key")
