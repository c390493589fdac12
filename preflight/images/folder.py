"""Looks at a folder of images: what is in it, how it pairs, and each image by itself."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from preflight.images.facts import FolderFacts, ImageDamage, Picture
from preflight.images.pictures import Damages
from preflight.kinds.asked import Asked
from preflight.pairing.beside_images import beside_images, kinds_in
from preflight.pairing.facts import Captioned, Pairing
from preflight.pairing.folder_contents import FolderContents, Stems, list_all, split
from preflight.pairing.folder_pairing import pair_contents
from preflight.targets.file_types.suffixes import TABLES
from preflight.targets.targets import CaptionRule, Folder
from preflight.values.names import name_of

if TYPE_CHECKING:
    from preflight.images.read import ImageSeen

_TABLED = frozenset({"auto", "json", "table"})
"""Rules by which a table may caption images."""

# What systems, browsers and people leave in a folder.
_NO_IMAGES = frozenset(
    {"db", "ini", "txt", "md", "csv", "json", "xml", "log", "html", "url", "lnk", "part", "zip"}
)
_FEW = 20
"""Where there are more than one to so many images, they belong there."""

_CAPTIONS = frozenset({"metadata", "captions", "caption", "prompts"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageListing:
    """A folder as its names tell it, no file of it opened."""

    facts: FolderFacts
    """With all of its images, and nothing of what is in them."""

    contents: tuple[FolderContents, ...]
    """What is in it and in each folder below it, in the order of their names."""

    captions: CaptionRule
    """Where the captions of this data set are."""

    tables: tuple[str, ...] = ()
    """Paths of the tables that may hold captions and can be read, where the rule has it so."""


def list_folder(folder: Folder, root: str) -> ImageListing:
    """List a folder with all below it; hidden files and folders are left alone.

    A single image takes the place of a folder, too; it has nothing to pair with.

    Raises:
        OSError: the folder itself cannot be listed.
    """
    top = os.path.join(root, folder.path)
    file = name_of(folder.path, root)
    if os.path.isfile(top):
        parent, name = os.path.split(top)
        stem, suffix = split(name)
        place = name_of(os.path.dirname(folder.path), root)
        stems: Stems = {(suffix,): stem}
        alone = FolderContents(path=parent, place=place, files=1, images=1, stems=stems, alone=name)
        pairing = Pairing(rule="none", samples=1, images=1, captions=0)
        facts = FolderFacts(file=file, files=1, pairing=pairing, images=1)
        return ImageListing(facts=facts, contents=(alone,), captions=folder.captions)
    with os.scandir(top):
        pass  # what is wrong with the folder that was named goes up
    extension = folder.captions.extension or ""
    longer = extension if "." in extension else ""
    contents = tuple(list_all(top, root, longer, below=folder.captions.subfolders))
    pairing = pair_contents(contents, folder.captions)
    unreadable: list[tuple[str, ...]] = [
        (one.place, one.error) for one in contents if one.error is not None
    ]
    unreadable += (told for one in contents for told in one.unopenable(pairing))
    images = sum(one.images for one in contents)
    videos = sum(one.videos() for one in contents)
    tabled = folder.captions.rule in _TABLED
    left_behind = [(one, name) for one in contents for name in one.left_behind]
    facts = FolderFacts(
        file=file,
        files=sum(one.files for one in contents),
        pairing=pairing,
        images=images,
        videos=videos,
        sounds=0 if images or videos else sum(one.sounds() for one in contents),
        unreadable=tuple(unreadable),
        beside=tuple(beside_images(contents)),
        left_behind=len(left_behind),
        left_behind_name=next((one.inside(name) for one, name in left_behind), ""),
        foreign=tuple(_foreign(contents)),
        unread_tables=tuple(_unread(contents)) if tabled else (),
    )
    tables = tuple(_tables(contents)) if tabled else ()
    return ImageListing(facts=facts, contents=contents, captions=folder.captions, tables=tables)


def _foreign(contents: Iterable[FolderContents]) -> Iterator[str]:
    """Name the few files that stand alone among images, and that nobody would take for one."""
    for one in contents:
        if one.images and not kinds_in(os.path.basename(one.place)):
            names = [
                f"{stem}.{suffixes[0]}"
                for suffixes, stems in one.stems.items()
                if len(suffixes) == 1 and suffixes[0].lower() in _NO_IMAGES
                for stem in stems.split("/")
            ]
            if len(names) <= max(1, one.images // _FEW):
                yield from map(one.inside, sorted(names))


def _tables(contents: Iterable[FolderContents]) -> Iterator[str]:
    for one in contents:
        for name in TABLES:
            stem, _, suffix = name.partition(".")
            if stem in one.holding(suffix) and name not in one.no_files:
                yield os.path.join(one.path, name)


def _unread(contents: Iterable[FolderContents]) -> Iterator[str]:
    for one in contents:
        for suffix in ("csv", "tsv", "parquet"):
            for stem in sorted(one.holding(suffix)):
                name = f"{stem}.{suffix}"
                if (stem.lower() in _CAPTIONS or suffix == "parquet") and name not in TABLES:
                    yield one.inside(name)


def look_at_image(asked: Asked) -> Iterator[Picture | ImageDamage]:
    """Look at the image that is asked about: what it is, and what is wrong with it if anything."""
    seen = read_image_file(asked.wire["path"], asked.root, asked.depth)
    yield Picture(name="", shape=seen.shape, undecoded=seen.undecoded)
    if seen.damage is not None:
        yield seen.damage


def read_image_file(path: str, root: str, depth: str = "bytes") -> ImageSeen:
    """Look at one image file, as deep as the job has it.

    Raises:
        OSError: it cannot be opened or read.
    """
    from preflight.file_access.lfs import refined
    from preflight.file_access.opened import reading
    from preflight.formats.bytes.window import Window
    from preflight.images.read import look_into_image

    with open(path, "rb", buffering=0) as stream:
        size = os.fstat(stream.fileno()).st_size
        seen = look_into_image(Window(reading(stream), size), name_of(path, root), depth)
    return seen if seen.damage is None else seen._replace(damage=refined(seen.damage, path))


def folder_facts(
    listing: ImageListing, damages: Damages, captioned: Sequence[Captioned] = ()
) -> FolderFacts:
    """Put the listing, what is wrong with its images, and what its tables say together."""
    facts = listing.facts
    if captioned:
        paired = pair_contents(listing.contents, listing.captions, captioned)
        facts = replace(facts, pairing=paired, tables=tuple(captioned))
    told = tuple(sorted(damages.told, key=lambda one: one.name))
    return replace(facts, damaged_images=told, more_damaged=damages.more)
