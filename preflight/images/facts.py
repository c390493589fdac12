"""What a folder of images holds, and what is wrong with its images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from preflight.formats.pictures.shape import Shape
from preflight.pairing.facts import Captioned, CaptionLengths, Pairing, SideFolder


class Picture(NamedTuple):
    """An image that was looked at."""

    name: str
    shape: Shape
    undecoded: str = ""
    """Its format, where nothing here decodes it."""


class ImageDamage(NamedTuple):
    """An image that does not decode, or only in part."""

    name: str
    """The file, or the member of a shard."""

    kind: str
    """`empty`, `cut`, `foreign`, `not-fetched`, `zeros`, `undecodable`, `leftover`, `huge`,
    `frames` (a later picture of several is cut)."""

    text: str
    """As a predicate with its numbers: `stops before its end marker`."""

    bytes: int
    format: str = ""
    """What its first bytes say that it is, such as `PNG image`."""

    raises: str = ""
    """What Pillow raises when it loads it; empty where it gives a picture."""

    fetch: str | None = None
    """As of `Damage`."""


class Size(NamedTuple):
    """A width and a height, and how many images are of just these."""

    width: int
    height: int
    images: int
    names: tuple[str, ...] = ()
    """Of the first few; only of the smallest, the largest, the narrowest and the widest sizes."""


class Undecoded(NamedTuple):
    """Images that nothing here decodes, and that nobody has looked at for that reason."""

    format: str
    """`HEIF`, `JPEG XL`, as their first bytes say it."""

    suffix: str
    """Of their names, with its dot, in small letters."""

    images: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """What the images of a shard or folder are, and how large, as far as that was seen.

    Sizes are in pixels as they are stored: an image that EXIF says is to be turned is not. With
    `--depth index` only the first bytes of each are looked at, and fewer sizes are known.
    """

    images: int = 0
    formats: Mapping[str, int] = field(default_factory=dict)
    """How many are of each: `JPEG`, `PNG`, `WebP`; of none where nothing says what it is."""

    modes: Mapping[str, int] = field(default_factory=dict)
    """How many are of each of Pillow's modes (`RGB`, `L`, `CMYK`), where that was seen."""

    sizes: tuple[Size, ...] = ()
    """From the shortest side up: the first thousand, and behind them a few of other extremes."""

    others: int = 0
    """Images of further sizes, which are not told."""

    unsized: int = 0
    """Images whose size was not seen."""

    unsized_names: tuple[str, ...] = ()
    """Of the first few of them."""

    undecoded: tuple[Undecoded, ...] = ()
    """Images that were counted and not looked at, since nothing here decodes them."""

    @property
    def smallest(self) -> Size | None:
        """The size of the shortest side."""
        return self.sizes[0] if self.sizes else None

    @property
    def largest(self) -> Size | None:
        """The size of the most pixels."""
        return min(self.sizes, key=most_pixels, default=None)

    @property
    def narrowest(self) -> Size | None:
        """The size of the least width for its height."""
        return min(self.sizes, key=least_ratio, default=None)

    @property
    def widest(self) -> Size | None:
        """The size of the most width for its height."""
        return min(self.sizes, key=most_ratio, default=None)


def shortest_side(size: Sequence[Any]) -> tuple[int, int, int]:
    """Put sizes in order by their shorter sides."""
    width, height = size[:2]
    return (width, height, width) if width < height else (height, width, width)


def most_pixels(size: Sequence[Any]) -> tuple[int, int]:
    """Put sizes in order by their pixels, the most first."""
    return -size[0] * size[1], size[0]


def least_ratio(size: Sequence[Any]) -> tuple[float, int]:
    """Put sizes in order by width to height, the narrowest first."""
    return size[0] / size[1], size[0]


def most_ratio(size: Sequence[Any]) -> tuple[float, int]:
    """Put sizes in order by width to height, the widest first."""
    return -size[0] / size[1], size[0]


class CaptionsSeen(NamedTuple):
    """Some of the captions of a folder."""

    lengths: CaptionLengths


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderFacts:
    """A folder of images and captions, with all below it."""

    file: str
    files: int
    pairing: Pairing
    images: int
    """Images that were looked at, as deep as the job has it."""

    videos: int = 0
    """Videos in it, which are not read."""

    sounds: int = 0
    """Audio files in it, which are not read; none where there is anything to be seen."""

    damaged_images: tuple[ImageDamage, ...] = ()
    """Of each kind, the first ten thousand."""

    more_damaged: int = 0
    """How many more there are."""

    pictures: Pictures = field(default_factory=Pictures)
    """What the images are that were looked at, and how large."""

    unreadable: tuple[tuple[str, ...], ...] = ()
    """Files and folders that could not be opened: (name, reason)."""

    beside: tuple[SideFolder, ...] = ()
    """Folders in it that have something for each image of another one, or for most."""

    left_behind: int = 0
    """What macOS has put beside images (`._dog.jpg`), and is none."""

    left_behind_name: str = ""
    """The first of them."""

    foreign: tuple[str, ...] = ()
    """The few files that stand alone among images and are none, such as `Thumbs.db`."""

    taken_by: str = ""
    """The line of a source that takes every file of a folder for an image."""

    listed_by: str = ""
    """The line of a source that takes all names of a folder, these too: `train.py:9`."""

    asked_by: str = ""
    """The line of a source that asks whether an image has its caption."""

    tables: tuple[Captioned, ...] = ()
    """What each table (metadata.jsonl, metadata.csv) in it says."""

    unread_tables: tuple[str, ...] = ()
    """Other tables that may hold captions, and are not read."""

    captions: CaptionLengths = field(default_factory=CaptionLengths)
    """How long those beside images are, and what is wrong with them; not of tables."""

    @property
    def nameless_tables(self) -> list[str]:
        """Tables that hold rows, none of which names an image."""
        return [one.file for one in self.tables if one.rows and not (one.captioned or one.empty)]

    @property
    def asks_sources(self) -> bool:
        """Whether sources decide on how grave something of it is."""
        told = self.left_behind, self.foreign, self.beside, self.pairing.unpaired, self.pairing.few
        return any(told)
