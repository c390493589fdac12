"""Reads lists of images (CSV, JSON, JSON Lines, texts, Parquet), and looks for what they name.

Where such names begin is not known: one is there if an image is that its path ends in.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from preflight.datasets.facts import NamedColumn, NamesSeen
from preflight.datasets.split_folders import folders_of_lists
from preflight.formats.list_damage import damage_of
from preflight.formats.list_rows import Row, rows_of
from preflight.formats.suffixes.images import is_image
from preflight.kinds.asked import Asked
from preflight.targets.folders import walk
from preflight.values.names import name_of

SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".txt", ".lst", ".parquet")

MOST_BYTES = 16 << 20
"""Of a larger list, nothing is known but its ends."""

_MOST_IMAGES = 500_000
_OFTEN = 1024
"""Rows after which it is said again that work goes on."""

_FEWEST = 4
_NAMED = 5
_LONGEST = 200

# The part of a column that has to name images, and of names that has to be there.
_MOSTLY = 0.9
_THERE = 0.1

_KINDS = 10
_PLACES = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:").match
_OF_LISTS = re.compile(
    r"(?i:annotations?|annos?|labels?|lists?|splits?|captions?|instances)"
).fullmatch


def look(asked: Asked) -> Iterator[NamesSeen]:
    """Read each list that is asked about."""
    there = _Images(asked.wire["folders"], asked)
    own = folders_of_lists(asked.wire["paths"], there.folders())
    for path in asked.wire["paths"] if there.count <= _MOST_IMAGES else ():
        asked.alive(name_of(path, asked.root))
        try:
            damage, is_large = damage_of(path), os.path.getsize(path) > MOST_BYTES
        except OSError:
            continue  # it went away meanwhile
        if damage:
            yield NamesSeen(name_of(path, asked.root), damage=damage)
        if damage or is_large:
            continue
        rows = list(_told(rows_of(path), asked.alive))
        columns = tuple(_columns(rows, path, there, asked.wire.get("others"), own.get(path, "")))
        if columns:
            yield NamesSeen(name_of(path, asked.root), columns)


def _told(rows: Iterator[Row], alive: Callable[[], None]) -> Iterator[Row]:
    for number, row in enumerate(rows):
        if not number % _OFTEN:
            alive()
        yield row


class _Images:
    """All images in some folders, and the folders in which each name stands."""

    def __init__(self, folders: Sequence[str], asked: Asked) -> None:
        self.tops = folders
        self.count = 0
        self.root = asked.root
        self.alive = asked.alive
        self._places: dict[str, list[str]] = {}
        self._stems: dict[str, list[str]] = {}
        for top in folders:
            for place, listed in walk(top):
                asked.alive()
                inside = place.replace(os.sep, "/")
                for name in filter(is_image, listed.files):
                    self.count += 1
                    self._places.setdefault(name, []).append(inside)
                    self._stems.setdefault(name.rpartition(".")[0], []).append(inside)
                if self.count > _MOST_IMAGES:
                    return

    def folders(self) -> set[str]:
        """Give all folders with images, and those above them."""
        places = {place for each in self._places.values() for place in each}
        tops = {top.replace(os.sep, "/") for top in self.tops}
        found = set[str]()
        while places:
            found |= places
            places = {one.rpartition("/")[0] for one in places - tops} - found - {""}
        return found

    def hold_in(self, folder: str, names: Collection[str]) -> Callable[[str], bool] | None:
        """Say how it is known whether an image lies there, where the names tell no folders.

        None where most lie elsewhere, so that the list is of other images.
        """

        def is_there(name: str) -> bool:
            places = self._places.get(name, ())
            return any(f"{one}/".startswith(f"{folder}/") for one in places)

        is_its = folder and 2 * sum(map(is_there, names)) >= len(names)
        return is_there if is_its and not any("/" in one for one in names) else None

    def hold(self, name: str) -> bool:
        """Whether an image is there whose path ends in this one."""
        return _ends_in(name, self._places)

    def hold_stem(self, name: str) -> bool:
        """Whether an image has this name, but for its extension."""
        return name.rpartition("/")[2] in self._stems

    def hold_stem_there(self, name: str) -> bool:
        """Whether an image is there whose path ends in this one, but for its extension."""
        return _ends_in(name, self._stems)

    def found(self, name: str) -> str:
        """Say where an image of this name is, in whatever folder; empty: nowhere."""
        base = name.replace("\\", "/").rpartition("/")[2]
        places = self._places.get(base, ())
        return name_of(os.path.join(places[0], base), self.root) if places else ""

    def lie(self, name: str, folder: str) -> bool:
        """Whether a file is there by this name, from wherever it may be meant."""
        bases = (folder, os.path.dirname(folder), self.root, *self.tops)
        return any(os.path.lexists(os.path.join(one, name)) for one in bases)


def _ends_in(name: str, places: Mapping[str, Sequence[str]]) -> bool:
    above, _, base = posixpath.normpath(name.replace("\\", "/")).rpartition("/")
    above = above.replace("../", "").strip("./")
    return any(not above or f"/{one}".endswith(f"/{above}") for one in places.get(base, ()))


# --- columns --------------------------------------------------------------------------------------


def _columns(
    rows: Sequence[Row], path: str, there: _Images, others: object, its: str
) -> Iterator[NamedColumn]:
    """Give columns that name images; where `others` is true, also such of which few are there.

    `its` is the folder that is called as the list is.
    """
    folder = os.path.dirname(path)
    keys = list(dict.fromkeys(key for row in rows[:100] for key in row))
    paths = [key for key in keys if _share(rows, key, is_image) >= _MOSTLY]
    for key in paths or keys:
        there.alive()
        is_stem = not paths
        told = (row[key] for row in rows if row.get(key))
        names = list(dict.fromkeys(one for one in told if is_stem or is_image(one)))
        unique = not is_stem or len(names) == sum(key in row for row in rows)
        if len(names) < _FEWEST or not unique or any(map(_PLACES, names)):
            continue
        held: Callable[[str], bool] = there.hold_stem if is_stem else there.hold
        if is_stem and 2 * sum(map(there.hold_stem_there, names)) >= len(names):
            held = there.hold_stem_there  # `r_3` in another folder is another image
        within = None if is_stem else there.hold_in(its, names)
        held = within or held
        gone = {one for one in names if not held(one)}
        is_other = len(names) - len(gone) < max(2, (0.5 if is_stem else _THERE) * len(names))
        if is_other and (is_stem or not others):
            continue  # a list of other images
        gone = {one for one in gone if is_stem or within or not there.lie(one, folder)}
        if is_other and len(names) - len(gone) >= _THERE * len(names):
            continue  # they lie where nobody has looked for images
        yield NamedColumn(
            name=key[:_LONGEST],
            names=len(names),
            missing=len(gone),
            stems=is_stem,
            first=tuple(one[:_LONGEST] for one in names if one in gone)[:_NAMED],
            apart=_apart(rows, key, gone),
            within=name_of(its, there.root) if within else "",
            others=is_other,
            here=next(filter(None, map(there.found, names)), "") if is_other else "",
            empty=_empty_for(path, names[0], there) if is_other else "",
        )


def _empty_for(path: str, name: str, there: _Images) -> str:
    """Name the folder without a file that is called as a list is, or is where it has its first."""
    folder, above = os.path.dirname(path), posixpath.dirname(name.replace("\\", "/"))
    stem = os.path.basename(path).rpartition(".")[0]
    words = (stem, *re.split(r"[^A-Za-z0-9]+", stem)[::-1])
    told = filter(None, (above, *(one for one in words if not _OF_LISTS(one))))
    bases = dict.fromkeys((folder, os.path.dirname(folder), *there.tops))
    places = (os.path.join(base, one) for one in told for base in bases)
    return next((name_of(one, there.root) for one in places if _holds_nothing(one)), "")


def _holds_nothing(place: str) -> bool:
    """Whether a folder is there, and nothing in it or below but what keeps it there for git."""
    if not os.path.isdir(place):
        return False
    return all(name.startswith(".") for _, _, files in os.walk(place) for name in files)


def _share(rows: Sequence[Row], key: str, is_one: Any) -> float:
    values = [row[key] for row in rows if row.get(key)]
    return sum(map(is_one, values)) / len(values) if values else 0.0


def _apart(rows: Sequence[Row], key: str, gone: set[str]) -> str:
    """Name what sets the rows apart that name what is not there: `split = test`."""
    for other in rows[0] if gone else ():
        lacking = {row.get(other, "") for row in rows if row.get(key) in gone}
        rest = {row.get(other, "") for row in rows if row.get(key) not in gone}
        most = min(_KINDS, len(rows) / 2)  # of what numbers the rows, each value is another one
        if other != key and lacking.isdisjoint(rest) and len(lacking | rest) <= most and rest:
            return f"{other} = {' or '.join(sorted(lacking))}"[:_LONGEST]
    return ""
