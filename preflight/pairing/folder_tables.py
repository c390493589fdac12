"""Holds what tables (metadata.jsonl, …) name against what lies in the folders below them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from preflight.pairing.facts import Captioned, Unpaired
from preflight.pairing.folder_contents import FolderContents, Stems, put
from preflight.pairing.rules import TABLE, is_image_suffix

_NAME = re.compile("[^\0]+")

Told: TypeAlias = dict[str, dict[str, bool]]
"""By folder, the files that tables name and that were not met yet; whether they are captioned."""


def by_folder(captioned: Iterable[Captioned]) -> Told:
    """Put the files that tables name together by their folders."""
    told: Told = {}
    for table in captioned:
        captions = bool(table.captioned)
        for place, base in map(_split, _names(table)):
            here = told.setdefault(place, {})
            here[base] = captions or here.get(base, False)
    return told


def _names(table: Captioned) -> Iterator[str]:
    """Give one name after the other: all at once take five times the memory of their text."""
    for joined in (table.captioned, table.empty):
        yield from (found[0] for found in _NAME.finditer(joined))


def _split(name: str) -> tuple[str, str]:
    place, slash, base = name.rpartition("/")
    return place or ("/" if slash else "."), base


def tabled(stems: Stems, told: dict[str, bool]) -> Stems:
    """Mark the images that a table captions, and take off its list what is there."""
    found: Stems = {}
    for suffixes, joined in stems.items():
        marked: list[str] = []
        others: list[str] = []
        for stem in joined.split("/"):
            named = [told.pop(f"{stem}.{two}" if two else stem, None) for two in suffixes]
            (marked if any(named) and any(map(is_image_suffix, suffixes)) else others).append(stem)
        put(found, suffixes, others)
        put(found, (*suffixes, TABLE), marked)
    return found


def missing(
    captioned: Iterable[Captioned], told: Told, contents: Sequence[FolderContents]
) -> Iterator[Unpaired]:
    """Tell the files that a table names and that are not there, each once."""
    if not any(told.values()):
        return
    top = contents[0]
    closed = tuple(one.inside("") for one in contents if one.error is not None)
    for table in captioned:
        for name in _names(table):
            place, base = _split(name)
            left = told.get(place, {})
            if base not in left or name.startswith(closed):
                continue
            del left[base]
            below = name if top.place == "." else name[len(top.place) + 1 :]
            if not os.path.lexists(os.path.join(top.path, below)):  # hidden ones are not listed
                yield Unpaired(
                    name=name, lacks="image", expected=name, because="row", table=table.file
                )
