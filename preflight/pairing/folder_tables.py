"""Holds what tables (metadata.jsonl) name against what lies in the folders below them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from preflight.pairing.facts import Captioned, Unpaired
from preflight.pairing.folder_contents import FolderContents, Stems, put
from preflight.pairing.rules import TABLE, is_image_suffix

Told: TypeAlias = dict[str, dict[str, bool]]
"""By folder, the files that tables name and that were not met yet; whether they are captioned."""


def by_folder(captioned: Iterable[Captioned]) -> Told:
    """Put the files that tables name together by their folders."""
    told: Told = {}
    for table in captioned:
        captions = bool(table.captioned)
        for files in (table.captioned, table.empty):
            for name in _names(files):
                place, slash, base = name.rpartition("/")
                here = told.setdefault(place or ("/" if slash else "."), {})
                here[base] = captions or here.get(base, False)
    return told


def _names(joined: str) -> Iterator[str]:
    """Give one name after the other: all at once take five times the memory of their text."""
    at = 0
    while at < len(joined):
        end = joined.find("\0", at)
        end = len(joined) if end < 0 else end
        yield joined[at:end]
        at = end + 1


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
        for files in (table.captioned, table.empty):
            for name in _names(files):
                place, slash, base = name.rpartition("/")
                left = told.get(place or ("/" if slash else "."), {})
                if base not in left or name.startswith(closed):
                    continue
                del left[base]
                below = name if top.place == "." else name[len(top.place) + 1 :]
                if not os.path.lexists(os.path.join(top.path, below)):  # hidden ones are not listed
                    yield Unpaired(
                        name=name, lacks="image", expected=name, because="row", table=table.file
                    )
