"""Looks at a folder of images: what is in it, how it pairs, and each image by itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from preflight.images.damages import Damages
from preflight.images.facts import FolderFacts, ImageDamage, Picture, Pictures
from preflight.kinds.asked import Asked
from preflight.pairing.facts import Captioned, Pairing
from preflight.pairing.folder_contents import FolderContents, list_all, split
from preflight.pairing.folder_pairing import pair_contents
from preflight.targets.targets import CaptionRule, Folder
from preflight.values.names import name_of

if TYPE_CHECKING:
    from preflight.images.read import ImageSeen

_TABLED = frozenset({"auto", "json", "table"})
"""Rules by which a table may caption images."""

_TABLE = "metadata"
_OTHER_TABLES = frozenset({"metadata", "captions", "caption", "prompts"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderListing:
    """A folder as its names tell it, no file of it opened."""

    file: str
    """The folder, as reports name it."""

    files: int
    contents: tuple[FolderContents, ...]
    """What is in it and in each folder below it, in the order of their names."""

    pairing: Pairing
    unreadable: tuple[tuple[str, ...], ...] = ()
    """Folders that cannot be listed, images and captions that are no files: (name, reason)."""

    captions: CaptionRule = field(default_factory=CaptionRule)
    """Where the captions of this data set are."""

    tables: tuple[str, ...] = ()
    """Paths of the tables that may hold captions and can be read, where the rule has it so."""

    unread_tables: tuple[str, ...] = ()
    """Names of other tables that may hold captions."""

    @property
    def images(self) -> tuple[str, ...]:
        """Paths of the images, to be opened as they are, in the order of their names."""
        return tuple(path for path, _ in self.named_images())

    def named_images(self) -> Iterator[tuple[str, str]]:
        """Give the path of each image, and its name in reports."""
        for one in self.contents:
            for name in one.image_names():
                yield os.path.join(one.path, name), one.inside(name)


def list_folder(folder: Folder, root: str) -> FolderListing:
    """List a folder with all below it; hidden files and folders are left alone.

    A single image takes the place of a folder, too; it has nothing to pair with.

    Raises:
        OSError: the folder itself cannot be listed.
    """
    top = os.path.join(root, folder.path)
    if os.path.isfile(top):
        parent, name = os.path.split(top)
        stem, suffix = split(name)
        place = name_of(os.path.dirname(folder.path), root)
        return FolderListing(
            file=name_of(folder.path, root),
            files=1,
            contents=(
                FolderContents(
                    path=parent, place=place, files=1, images=1, stems={(suffix,): stem}
                ),
            ),
            pairing=Pairing(rule="none", samples=1, images=1, captions=0),
        )
    with os.scandir(top):
        pass  # what is wrong with the folder that was named goes up
    contents = tuple(list_all(top, root))
    pairing = pair_contents(contents, folder.captions)
    unreadable: list[tuple[str, ...]] = [
        (one.place, one.error) for one in contents if one.error is not None
    ]
    unreadable += (told for one in contents for told in one.unopenable(pairing))
    return FolderListing(
        file=name_of(folder.path, root),
        files=sum(one.files for one in contents),
        contents=contents,
        pairing=pairing,
        unreadable=tuple(unreadable),
        captions=folder.captions,
        tables=tuple(_tables(contents)) if folder.captions.rule in _TABLED else (),
        unread_tables=tuple(_unread(contents)) if folder.captions.rule in _TABLED else (),
    )


def _tables(contents: Iterable[FolderContents]) -> Iterator[str]:
    """Give the paths of the tables that are read."""
    for one in contents:
        if _TABLE in one.holding("jsonl") and f"{_TABLE}.jsonl" not in one.no_files:
            yield os.path.join(one.path, f"{_TABLE}.jsonl")


def _unread(contents: Iterable[FolderContents]) -> Iterator[str]:
    """Name the tables that are not read."""
    for one in contents:
        for suffix in ("csv", "tsv", "parquet"):
            for stem in sorted(one.holding(suffix)):
                if stem.lower() in _OTHER_TABLES or suffix == "parquet":
                    yield one.inside(f"{stem}.{suffix}")


def look_at_image(asked: Asked) -> Iterator[Picture | ImageDamage]:
    """Look at the image that is asked about: what it is, and what is wrong with it if anything."""
    seen = read_image_file(asked.wire["path"], asked.root, asked.depth)
    yield Picture(name="", shape=seen.shape)
    if seen.damage is not None:
        yield seen.damage


def read_image_file(
    path: str,
    root: str,
    depth: str = "bytes",
    *,
    name: str | None = None,
    tell: Callable[[], object] | None = None,
) -> ImageSeen:
    """Look at one image file.

    Args:
        path: where it is.
        root: the job's folder.
        depth: how deep to look: `index`, `bytes` or `decode`, as the job has it.
        name: its name in reports; None: made of its path.
        tell: called before a decoder is asked.

    Raises:
        OSError: it cannot be opened or read.
    """
    from preflight.file_access.lfs import refined
    from preflight.file_access.opened import reading
    from preflight.formats.bytes.window import Window
    from preflight.images.read import look_into_image

    with open(path, "rb", buffering=0) as stream:
        size = os.fstat(stream.fileno()).st_size
        window = Window(reading(stream), size)
        seen = look_into_image(window, name or name_of(path, root), depth, tell=tell)
    return seen if seen.damage is None else seen._replace(damage=refined(seen.damage, path))


def folder_facts(
    listing: FolderListing,
    damages: Damages,
    captioned: Sequence[Captioned] = (),
    pictures: Pictures | None = None,
) -> FolderFacts:
    """Put the listing, what became of its images, and what its tables say together.

    Args:
        listing: of the folder.
        damages: what is wrong with its images.
        captioned: of each of its tables that could be read.
        pictures: what its images are, as far as they were looked at.
    """
    pairing = listing.pairing
    if captioned:
        pairing = pair_contents(listing.contents, listing.captions, captioned)
    images = sum(one.images for one in listing.contents)
    videos = sum(one.videos() for one in listing.contents)
    return FolderFacts(
        file=listing.file,
        files=listing.files,
        pairing=pairing,
        images=images,
        videos=videos,
        sounds=0 if images or videos else sum(one.sounds() for one in listing.contents),
        damaged_images=tuple(sorted(damages.told, key=lambda one: one.name)),
        more_damaged=damages.more,
        pictures=pictures or Pictures(),
        unreadable=listing.unreadable,
        tables=tuple(captioned),
        unread_tables=listing.unread_tables,
    )
