"""Tells pictures that a repository brings along from data, where nobody has named either."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice

from preflight.formats.suffixes.images import is_image
from preflight.kinds.target import Target
from preflight.targets.folders import walk
from preflight.targets.repository import ICON, are_captioned, is_repository
from preflight.targets.targets import Folder
from preflight.values.listing import list_names
from preflight.values.names import name_of
from preflight.values.small_files import OddFileError, read_small

_FEW = 100
"""Images that somebody may have put beside code to show something; more are a data set."""

# Folders that are called as data is, and those whose files only show what there is to see.
_DATA = re.compile(r".*data(?:_?sets?)?|train\w*|val\w*|test\w?", re.IGNORECASE)
_SHOWS = re.compile(
    r".*(?:example|sample|demo|tutorial|record|result|output|conditioning).*", re.IGNORECASE
)

# Where a job says what it reads, and how: `root="photos"`, `ImageFolder("./photos/")`.
_SAY = (".py", ".yaml", ".yml", ".toml", ".json")
CODE = (".py", ".ts", ".tsx", ".js", ".go", ".rs", ".cpp")
"""How files of code end, beside which pictures are part of a program."""

_OURS = "preflight.toml"  # where `init` has named them, in a comment
_MOST_TEXTS, _LONGEST_TEXT = 500, 1 << 18
_NAMES = rb"[\"'\s=](?:\./)?(%s)/?(?:\*[^\"'\n]{0,80})?(?:[\"']|[ \t]*$)"
_READS = re.compile(rb"root|dir|path|folder|data|glob|source", re.IGNORECASE)
_BEFORE = 80
"""Bytes of a line before a name, in which stands what is done with it."""


def may_only_show(targets: Iterable[Target], top: str) -> tuple[Folder, ...]:
    """Give the folders of images around of which nothing says that a job trains on them.

    They lie beside code, are few and without captions, in no folder that is called as data is, and
    no source and no settings file of the job names one of their folders as what it reads.
    """
    folders = [one for one in targets if isinstance(one, Folder)]
    try:
        if not folders or not is_repository(list_names(top)):
            return ()
    except OSError:
        return ()
    few = {one: places for one in folders if (places := _few_in(one.path, top)) is not None}
    if not few:
        return ()
    read = set(_read_by_sources({name for places in few.values() for name in places}, top))
    return tuple(one for one, places in few.items() if read.isdisjoint(places))


def _few_in(folder: str, top: str) -> frozenset[str] | None:
    """Name the folders of few pictures, and those above them; None where they are data.

    Those that only show something by their names are left out, and those above that hold code: who
    reads `toolkit` means what lies beside its modules.
    """
    number = captioned = 0
    places, above, of_code = set[str](), set[str](), set[str]()
    for place, listed in walk(folder):
        if any(name.endswith(CODE) for name in listed.names):
            of_code.add("" if place == top else name_of(place, top))
        images = [one for one in listed.names if is_image(one) and not ICON.search(one)]
        if not images:
            continue
        number += len(images)
        captioned += len(images) if are_captioned(images, listed.names) else 0
        parts = [] if place == top else name_of(place, top).split("/")
        if any(map(_SHOWS.fullmatch, parts)):
            continue
        if any(map(_DATA.fullmatch, parts)):
            return None
        above |= {"/".join(parts[: end + 1]) for end in range(len(parts) - 1)}
        places |= {"/".join(parts)}
    is_data = number > _FEW or 0 < number <= 2 * captioned
    return None if is_data else frozenset(places | above - of_code)


def _read_by_sources(names: set[str], top: str) -> Iterator[str]:
    """Give the folders, by their paths below the top, which some source or settings file reads."""
    if not names:
        return
    said = b"|".join(sorted(re.escape(name).encode() for name in names))
    named = re.compile(_NAMES % said, re.MULTILINE)
    for text in islice(_texts(top), _MOST_TEXTS):
        for found in named.finditer(text):
            before = text[max(found.start() - _BEFORE, 0) : found.start()]
            if _READS.search(before.rpartition(b"\n")[2]):
                yield found[1].decode()


def _texts(top: str) -> Iterator[bytes]:
    for place, listed in walk(top):
        for name in listed.files:
            path = os.path.join(place, name)
            try:
                if name.endswith(_SAY) and name != _OURS and os.path.getsize(path) <= _LONGEST_TEXT:
                    yield read_small(path)
            except (OSError, OddFileError):
                continue
