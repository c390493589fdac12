"""Looks at a folder of images: what is in it, how it pairs, and each image by itself."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from preflight.facts import FolderFacts, ImageDamage, Pairing
from preflight.formats.images import is_image
from preflight.names import name_of
from preflight.readers.images import look_at_image
from preflight.readers.pairing import Group, pair
from preflight.targets import Folder

_FOLDER = "is a folder"


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderListing:
    """A folder as its names tell it, no file of it opened."""

    file: str
    """The folder, as reports name it."""

    files: int
    images: tuple[str, ...]
    """Paths of the images, to be opened as they are, in the order of their names."""

    pairing: Pairing
    unreadable: tuple[tuple[str, ...], ...] = ()
    """Folders that cannot be listed, images and captions that are no files: (name, reason)."""


class _Found(NamedTuple):
    """What is in one folder."""

    path: str
    names: list[str]
    """Of its files, in order."""

    folders: list[str]
    """Paths of the folders in it, in order."""

    no_files: dict[str, str]
    """What has a name and is no file to be opened, and why not."""

    error: str | None = None
    """Why it could not be listed."""


def list_folder(folder: Folder, root: str) -> FolderListing:
    """List a folder with all below it; hidden files and folders are left alone.

    A single image takes the place of a folder, too; it has nothing to pair with.

    Raises:
        OSError: the folder itself cannot be listed.
    """
    top = os.path.join(root, folder.path)
    if os.path.isfile(top):
        return FolderListing(
            file=name_of(folder.path, root),
            files=1,
            images=(top,),
            pairing=Pairing(rule="none", samples=1, images=1, captions=0),
        )
    with os.scandir(top):
        pass  # what is wrong with the folder that was named goes up
    groups: list[Group] = []
    images: list[str] = []
    unreadable: list[tuple[str, ...]] = []
    no_files: list[tuple[str, str]] = []
    files = 0
    for found in _folders(top):
        place = name_of(found.path, root)
        if found.error is not None:
            unreadable.append((place, found.error))
        files += len(found.names)
        images += (os.path.join(found.path, name) for name in found.names if is_image(name))
        # A caption whose image is a link that leads nowhere does not lack its image.
        groups += _groups(place, [*found.names, *found.no_files])
        no_files += ((_inside(place, name), why) for name, why in found.no_files.items())
    pairing = pair(groups, folder.captions, shard=False)
    captions = _captions(groups, pairing)
    unreadable += ((name, why) for name, why in no_files if is_image(name) or name in captions)
    return FolderListing(
        file=name_of(folder.path, root),
        files=files,
        images=tuple(images),
        pairing=pairing,
        unreadable=tuple(unreadable),
    )


def read_image_file(path: str, root: str) -> ImageDamage | None:
    """Read and decode one image file; None where nothing is wrong with it.

    Raises:
        OSError: it cannot be opened or read.
    """
    with open(path, "rb") as stream:
        data = stream.read()
    return look_at_image(data, name_of(path, root))


def folder_facts(listing: FolderListing, damaged: Iterable[ImageDamage]) -> FolderFacts:
    """Put the listing and what became of its images together."""
    return FolderFacts(
        file=listing.file,
        files=listing.files,
        pairing=listing.pairing,
        images=len(listing.images),
        damaged_images=tuple(sorted(damaged, key=lambda one: one.name)),
        unreadable=listing.unreadable,
    )


def _folders(top: str) -> Iterator[_Found]:
    """Give what is in each folder.

    Links are followed; a folder that was met before, by whatever path, is not entered again.
    """
    waiting = [top]
    met: set[tuple[int, int]] = set()
    while waiting:
        path = waiting.pop()
        try:
            here = os.stat(path)
            if here.st_ino and (here.st_dev, here.st_ino) in met:
                continue
            met.add((here.st_dev, here.st_ino))  # some file systems of Windows number nothing
            found = _list(path)
        except OSError as error:
            yield _Found(path, [], [], {}, error.strerror or str(error))
            continue
        waiting += reversed(found.folders)
        yield found


def _list(path: str) -> _Found:
    names, folders, no_files = [], [], {}
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            why = _why_no_file(entry)
            if why is None:
                names.append(entry.name)
            elif why != _FOLDER:
                no_files[entry.name] = why
            else:
                folders.append(entry.path)
                if is_image(entry.name):
                    no_files[entry.name] = why
    return _Found(path, sorted(names), sorted(folders), dict(sorted(no_files.items())))


def _why_no_file(entry: os.DirEntry[str]) -> str | None:
    """Say what this is, where it is no file; mostly known without a look at the disk."""
    try:
        if entry.is_file():
            return None
        if entry.is_dir():
            return _FOLDER
        pipe = stat.S_ISFIFO(entry.stat().st_mode)
    except FileNotFoundError:
        return "is a link that leads nowhere"
    except OSError as error:
        return f"cannot be reached: {error.strerror or error}"
    return "is a pipe" if pipe else "is no regular file"


def _groups(folder: str, names: list[str]) -> list[Group]:
    """Put the names of one folder together by their stems."""
    stems: dict[str, list[str]] = {}
    for name in names:
        stem, extension = os.path.splitext(name)
        stems.setdefault(stem, []).append(extension[1:])
    return [Group(_inside(folder, stem), tuple(suffixes)) for stem, suffixes in stems.items()]


def _inside(folder: str, name: str) -> str:
    return name if folder == "." else f"{folder}/{name}"


def _captions(groups: Iterable[Group], pairing: Pairing) -> frozenset[str]:
    """Name the captions of images, where captions are looked for."""
    return frozenset(
        f"{one.key}.{suffix}"
        for one in groups
        if pairing.looks_for and any(is_image(f"x.{suffix}") for suffix in one.suffixes)
        for suffix in one.suffixes
        if suffix.lower() in map(str.lower, pairing.looks_for)
    )
