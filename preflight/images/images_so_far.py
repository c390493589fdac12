"""A folder of images, as far as it has been looked at."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from preflight.images.captions import FLAWED, CaptionPart, how_many, in_parts
from preflight.images.folder import ImageListing
from preflight.images.pictures import Damages, PictureCounts
from preflight.pairing.facts import Captioned
from preflight.pairing.folder_contents import FolderContents
from preflight.pairing.lengths import Lengths
from preflight.targets.targets import Folder
from preflight.values.sampling import Sampling


@dataclass(slots=True)
class Directory:
    """One directory of a folder, as far as its images have been looked at."""

    contents: FolderContents
    left: int = 0
    """Images that were not answered."""

    mark: str | None = None
    """What tells this content of all its images from another, before the first was read."""

    begun: float = field(default_factory=time.time)
    """When the first of its images was read, in seconds since the epoch."""

    noted: bool = True
    """Whether each of its images was remembered by itself."""

    damaged: dict[str, Any] = field(default_factory=dict)
    """By their names, the plain facts of images that are not whole."""

    pictures: PictureCounts = field(default_factory=PictureCounts)


class ReadPart(NamedTuple):
    """Captions that are being read."""

    part: CaptionPart
    how: str
    mark: str | None
    """What tells their content from another, before the first was read."""

    begun: float


@dataclass(slots=True)
class Images:
    """A folder, as far as its images have been looked at."""

    target: Folder
    listing: ImageListing
    sample: Sampling | None
    left: int = 0
    """Questions that are still to be answered, and 1 as long as some were not asked."""

    looked_at: int = 0
    oldest: float | None = None
    """When the first of what is remembered was read, in seconds since the epoch."""

    read: bool = False
    """Whether any image was read now."""

    damages: Damages = field(default_factory=Damages)
    pictures: PictureCounts = field(default_factory=PictureCounts)
    captioned: list[Captioned] = field(default_factory=list)
    """What tables say of the images."""

    unread_tables: list[str] = field(default_factory=list)
    """Names of tables that could not be read."""

    captions: Lengths = field(default_factory=lambda: Lengths(flawed=FLAWED))
    """What the captions are that were read."""

    captioned_by_texts: bool = True
    """Whether captions are read at this depth."""

    @property
    def there(self) -> int:
        """How many images there are."""
        return self.listing.facts.images

    @property
    def images(self) -> int:
        """How many are to be looked at."""
        return self.there if self.sample is None else self.sample.of(self.there)

    def remember(self, read_at: float) -> None:
        """Take in that something was read at a time, in an earlier run."""
        self.oldest = read_at if self.oldest is None else min(read_at, self.oldest)


def captions_of(one: Images) -> int:
    """Count the captions that are to be read."""
    if not one.captioned_by_texts:
        return 0
    if one.sample is None:
        return how_many(one.listing)
    return sum(len(part.names) for part in in_parts(one.listing, drawn_of(one)))


def drawn_of(one: Images) -> list[tuple[FolderContents, Sequence[str]]] | None:
    """Give the images that are in the sample, by directory; None where all are."""
    if one.sample is None:
        return None
    return [(directory.contents, names) for directory, names in sampled(one, one.sample)]


def sampled(one: Images, sample: Sampling) -> Iterator[tuple[Directory, Sequence[str]]]:
    """Give the directories, each with those of its images that are in the sample."""
    drawn = sample.draw(one.there)
    before = 0
    for contents in one.listing.contents:
        names = contents.image_names()
        if drawn is not None:
            names = [name for at, name in enumerate(names, before) if at in drawn]
        before += contents.images
        yield Directory(contents=contents, noted=False), names
