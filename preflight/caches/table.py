"""What was seen of each of many cached files, in flat memory: there may be a million of them."""

from __future__ import annotations

import itertools
import json
import time
from array import array
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from preflight.cached_files.facts import BROKEN, LETTERS, ODD, TYPED, CacheFacts, CachePiece
from preflight.caches.array_names import ArrayNames
from preflight.values.stamps import FIELDS, YOUNG
from preflight.values.wire import from_wire, to_brief

DTYPES: Mapping[str, str] = {letter: dtype for dtype, letter in TYPED.items()}
"""By the letter of a whole array, its type."""

WHOLE: Mapping[str, tuple[str, bool]] = {
    **{letter: what for what, letter in LETTERS.items()},
    **dict.fromkeys(DTYPES, ("npy", False)),
}
"""By the letter of a whole file: its format, and whether its checksums were compared."""

_UNSEEN = "."

# Stands between names, which may hold anything else.
_BETWEEN = "//"


@dataclass(slots=True)
class CacheTable:
    """A row for each file, in the order of their names."""

    names: Sequence[str]
    """Below their folder."""

    seen: bytearray = field(init=False)
    """A letter for each, as `CachePiece` has them."""

    stamps: array[int] = field(init=False)
    odd: dict[int, CacheFacts] = field(default_factory=dict)
    """By their places, files of which there is something to say."""

    arrays: ArrayNames = field(init=False)

    def __post_init__(self) -> None:
        self.arrays = ArrayNames.of(len(self.names))
        self.seen = bytearray(_UNSEEN.encode() * len(self.names))
        self.stamps = array("q", bytes(8 * FIELDS * len(self.names)))

    def put(self, places: Sequence[int], piece: CachePiece) -> None:
        """Note what was seen of the files in these places."""
        stamps = array("q")
        stamps.frombytes(b64decode(piece.stamps))
        self.arrays.put(places, piece)
        if isinstance(places, range) and places.step == 1:
            self.seen[places.start : places.stop] = piece.seen.encode()
            self.stamps[FIELDS * places.start : FIELDS * places.stop] = stamps
        else:
            for at, place in enumerate(places):
                self.seen[place] = ord(piece.seen[at])
                self.stamps[FIELDS * place : FIELDS * (place + 1)] = _stamp_at(stamps, at)

    def is_whole(self, place: int) -> bool:
        """Whether a file was seen, and nothing of it by itself is damaged."""
        facts = self.odd.get(place)
        return chr(self.seen[place]) in WHOLE if facts is None else facts.damage is None

    def forget(self, place: int) -> None:
        """Take it that a file was not looked at."""
        self.seen[place] = ord(_UNSEEN)
        self.odd.pop(place, None)
        self.arrays.forget(place)

    def unseen(self) -> Sequence[int]:
        """Give the places of the files that were not looked at."""
        count = self.seen.count(_UNSEEN.encode())
        if count == len(self.seen):
            return range(count)
        return tuple(self._places(_UNSEEN)) if count else ()

    def known(self) -> Sequence[int]:
        """Give the places of all others."""
        unseen = self.unseen()
        if not unseen:
            return range(len(self.seen))
        left = set(unseen)
        return tuple(place for place in range(len(self.seen)) if place not in left)

    def places(self, letter: str, most: int | None = None) -> list[int]:
        """Give the places of the first files of a letter, or of all."""
        return list(itertools.islice(self._places(letter), most))

    def _places(self, letter: str) -> Iterator[int]:
        at = self.seen.find(letter.encode())
        while at >= 0:
            yield at
            at = self.seen.find(letter.encode(), at + 1)

    def size(self, place: int) -> int:
        """Give the bytes of a file."""
        return self.stamps[FIELDS * place]

    def written(self, place: int) -> int:
        """Say when a file was last written, in ns since the epoch."""
        return self.stamps[FIELDS * place + 1]

    def to_text(self) -> str:
        """Give all of it, but for the names that reports have for the files."""
        odd = {place: to_brief(replace(facts, file="")) for place, facts in self.odd.items()}
        plain = {
            "names": _BETWEEN.join(self.names),
            "seen": self.seen.decode(),
            "stamps": b64encode(self.stamps).decode(),
            "odd": {str(place): {**one, "file": ""} for place, one in odd.items()},
            "arrays": self.arrays.to_plain() if self.arrays.sets else {},
        }
        return json.dumps(plain)

    def take(self, text: str, stamps: array[int], *, same: bool) -> None:
        """Take over what `to_text` gave of those of the files that have not changed since."""
        said: dict[str, Any] = json.loads(text)
        odd = {int(place): one for place, one in said["odd"].items()}
        if same:
            self.seen, self.stamps = bytearray(said["seen"].encode()), stamps
            self.odd = {place: from_wire(CacheFacts, one) for place, one in odd.items()}
            self.arrays.take(said.get("arrays", {}), None)
            return
        moved: dict[int, int] = {}
        before, seen = array("q"), said["seen"]
        before.frombytes(b64decode(said["stamps"]))
        places = {name: at for at, name in enumerate(said["names"].split(_BETWEEN))}
        newest = time.time_ns() - YOUNG
        for place, name in enumerate(self.names):
            at = places.get(name)
            if at is None or seen[at] in (_UNSEEN, BROKEN):
                continue
            mark = _stamp_at(stamps, place)
            if mark == _stamp_at(before, at) and mark[1] <= newest:
                self.seen[place] = ord(seen[at])
                moved[place] = at
                self.stamps[FIELDS * place : FIELDS * (place + 1)] = mark
                if seen[at] == ODD:
                    self.odd[place] = from_wire(CacheFacts, odd[at])
        self.arrays.take(said.get("arrays", {}), moved)


def _stamp_at(stamps: array[int], place: int) -> array[int]:
    return stamps[FIELDS * place : FIELDS * (place + 1)]
