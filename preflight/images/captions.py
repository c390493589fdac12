"""Reads the captions that lie beside images, many of a directory at once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice

from preflight.images.facts import CaptionsSeen
from preflight.images.folder import FolderListing
from preflight.kinds.asked import Asked
from preflight.pairing.folder_contents import FolderContents, split
from preflight.pairing.lengths import LONGEST, Lengths
from preflight.pairing.rules import TABLE

# Captions that are read for one answer.
_MANY = 1_024


def look(asked: Asked) -> Iterator[CaptionsSeen]:
    """Read the captions that are asked about, all of one directory."""
    folder, place = asked.wire["folder"], asked.wire["place"]
    lengths = Lengths()
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


def in_parts(
    listing: FolderListing, images: Sequence[tuple[FolderContents, Sequence[str]]] | None
) -> Iterator[tuple[FolderContents, tuple[str, ...]]]:
    """Give the captions of a folder, so many at a time; of these images alone where some are given.

    Captions are the texts beside images that the data set's rule takes for such.
    """
    pairing = listing.facts.pairing
    extensions = frozenset(pairing.looks_for) - {"json", TABLE}
    literal = pairing.rule != "auto"
    drawn = None if images is None else {one.path: names for one, names in images}
    for one in listing.contents if extensions else ():
        names = one.beside_an_image(extensions, literal=literal)
        if drawn is not None:
            stems = {split(name)[0] for name in drawn.get(one.path, ())}
            names = (name for name in names if split(name)[0] in stems)
        while part := tuple(islice(names, _MANY)):
            yield one, part
