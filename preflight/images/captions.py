"""Reads the captions that lie beside images, many of a directory at once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import count, islice
from typing import NamedTuple

from preflight.images.facts import CaptionsSeen
from preflight.images.folder import ImageListing
from preflight.kinds.asked import Asked
from preflight.pairing.folder_contents import FolderContents, split
from preflight.pairing.lengths import LONGEST, Lengths
from preflight.pairing.rules import NO_CHANCE, TABLE, TEXTS

# Captions that are read for one answer.
_MANY = 1_024

FLAWED = 1_000
"""Captions of each flaw that are named: each is a file, which may be moved aside."""


def look(asked: Asked) -> Iterator[CaptionsSeen]:
    """Read the captions that are asked about, all of one directory."""
    folder, place = asked.wire["folder"], asked.wire["place"]
    lengths = Lengths(flawed=FLAWED)
    for name in asked.wire["names"]:
        asked.alive()
        told = name if place == "." else f"{place}/{name}"
        with open(os.path.join(folder, name), "rb", buffering=0) as file:
            content = file.read(LONGEST + 1) or b""
        if len(content) > LONGEST:
            lengths.unread += 1
        else:
            lengths.read(content, told)
    yield CaptionsSeen(lengths=lengths.told())


class CaptionPart(NamedTuple):
    """Some of the captions of one directory."""

    contents: FolderContents
    place: int
    """Which part of the directory it is, counted from 0."""

    names: tuple[str, ...]


def in_parts(
    listing: ImageListing, images: Sequence[tuple[FolderContents, Sequence[str]]] | None
) -> Iterator[CaptionPart]:
    """Give the captions of a folder, so many at a time; of these images alone where some are given.

    Captions are the texts beside images that the data set's rule takes for such.
    """
    extensions, literal = _looked_for(listing)
    drawn = None if images is None else {one.path: names for one, names in images}
    for one in listing.contents if extensions else ():
        names = one.beside_an_image(extensions, literal=literal)
        if drawn is not None:
            stems = {split(name)[0] for name in drawn.get(one.path, ())}
            names = (name for name in names if split(name)[0] in stems)
        for place in count():
            part = tuple(islice(names, _MANY))
            if not part:
                break
            yield CaptionPart(one, place, part)


def how_many(listing: ImageListing) -> int:
    """Count the captions of a folder."""
    extensions, literal = _looked_for(listing)
    return sum(one.captions(extensions, literal=literal) for one in listing.contents)


def _looked_for(listing: ImageListing) -> tuple[frozenset[str], bool]:
    """Give the extensions of captions; where no rule is known and some have one, the usual ones."""
    pairing = listing.facts.pairing
    is_by_guess = not pairing.looks_for and pairing.few >= max(1, NO_CHANCE * pairing.images)
    known = TEXTS if is_by_guess else pairing.looks_for
    return frozenset(known) - {"json", TABLE}, pairing.rule != "auto"
