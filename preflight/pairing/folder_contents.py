"""Lists what is in a folder and in all below it, by names alone.

A folder may hold a hundred thousand files: their stems are kept as one text for each set of
suffixes.
"""

from __future__ import annotations

import os
import stat
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from preflight.formats.suffixes.images import is_beside_an_image, is_image
from preflight.formats.suffixes.recordings import is_sound, is_video
from preflight.pairing.facts import Pairing
from preflight.pairing.rules import is_image_suffix
from preflight.values.listing import leads_to_system, list_names
from preflight.values.names import name_of

Stems: TypeAlias = dict[tuple[str, ...], str]
"""Stems of files, by the suffixes that they have; joined by slashes, which no name has."""

_FOLDER = "is a folder"


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderContents:
    """What is in one folder."""

    path: str
    place: str
    """The folder, as reports name it."""

    files: int = 0
    images: int = 0
    stems: Stems = field(default_factory=dict)
    no_files: Mapping[str, str] = field(default_factory=dict)
    """What has a name and is no file to be opened, and why not; among the stems, too."""

    beside_images: frozenset[str] = frozenset()
    """Those of them that stand beside an image of the same stem."""

    left_behind: tuple[str, ...] = ()
    """What macOS has put beside images: `._dog.jpg`."""

    error: str | None = None
    """Why it could not be listed."""

    alone: str = ""
    """The one image of it that was named, which may be called as no image is."""

    def image_names(self) -> list[str]:
        """Give the names of the images in order."""
        if self.alone:
            return [self.alone]
        return sorted(
            name
            for suffixes, stems in self.stems.items()
            for suffix in suffixes
            if is_image_suffix(suffix)
            for name in f"{stems}.{suffix}".replace("/", f".{suffix}/").split("/")
            if name not in self.no_files
        )

    def beside_an_image(self, extensions: Collection[str], *, literal: bool) -> Iterator[str]:
        """Give the files of these extensions, in small letters or else as they are written.

        Only those that stand beside an image of the same stem, and can be opened.
        """
        for suffixes, stems in self.stems.items():
            if any(map(is_image_suffix, suffixes)):
                for suffix in suffixes:
                    if (suffix if literal else suffix.lower()) in extensions:
                        names = (f"{stem}.{suffix}" for stem in stems.split("/"))
                        yield from (one for one in names if one not in self.no_files)

    def captions(self, extensions: Collection[str], *, literal: bool) -> int:
        """Count the files that `beside_an_image` gives, and those that cannot be opened."""
        return sum(
            (stems.count("/") + 1)
            * sum((suffix if literal else suffix.lower()) in extensions for suffix in suffixes)
            for suffixes, stems in self.stems.items()
            if any(map(is_image_suffix, suffixes))
        )

    def unopenable(self, pairing: Pairing) -> Iterator[tuple[str, str]]:
        """Give the images and captions that are no files, and why not."""
        captions = {one.lower() for one in pairing.looks_for}
        for name, why in self.no_files.items():
            is_caption = name in self.beside_images and any(
                name.lower().endswith(f".{one}") for one in captions
            )
            if is_caption or is_image(name):
                yield self.inside(name), why

    def holding(self, suffix: str) -> Iterator[str]:
        """Give the stems of the files that have this suffix, as it is written."""
        for suffixes, stems in self.stems.items():
            if suffix in suffixes:
                yield from stems.split("/")

    def videos(self) -> int:
        """Count the videos in it."""
        return count_of(self.stems, is_video)

    def sounds(self) -> int:
        """Count the audio files in it."""
        return count_of(self.stems, is_sound)

    def inside(self, name: str) -> str:
        """Name a file in it, as reports do."""
        return name if self.place == "." else f"{self.place}/{name}"


def split(name: str, longer: str = "") -> tuple[str, str]:
    """Split a file's name into its stem and its suffix, without the dot.

    A suffix of several parts (`cap.txt`) is one where it is the one that is asked for.
    """
    if longer and name.endswith(f".{longer}"):
        return name[: -len(longer) - 1], longer
    stem, dot, suffix = name.rpartition(".")
    return (stem, suffix) if dot else (name, "")


def count_of(stems: Stems, is_one: Callable[[str], bool]) -> int:
    """Count the files whose suffixes are of one kind."""
    return sum(
        (joined.count("/") + 1) * sum(map(is_one, suffixes)) for suffixes, joined in stems.items()
    )


def list_all(
    top: str, root: str, longer: str = "", *, below: bool = True
) -> Iterator[FolderContents]:
    """Give what is in each folder; `longer` is a suffix of several parts that files may have.

    Where what lies `below` does not count, only the first folder is given.

    Links are followed; a folder that was met before, by whatever path, is not entered again.
    """
    waiting = [(top, name_of(top, root))]
    met: set[tuple[int, int]] = set()
    while waiting:
        path, place = waiting.pop()
        try:
            here = os.stat(path)
            if here.st_ino and (here.st_dev, here.st_ino) in met:
                continue
            met.add((here.st_dev, here.st_ino))  # some file systems of Windows number nothing
            files, others, left_behind = _entries(path)
        except OSError as error:
            yield FolderContents(path=path, place=place, error=error.strerror or str(error))
            continue
        folders = sorted((one for one, why in others.items() if why == _FOLDER), reverse=True)
        no_files = {one: others[one] for one in sorted(others) if _is_none(one, others[one], place)}
        found = replace(
            _contents(path, place, files, no_files, longer), left_behind=tuple(left_behind)
        )
        paths = ((os.path.join(path, one), found.inside(one)) for one in folders)
        waiting += (one for one in paths if below and not leads_to_system(one[0]))
        yield found


def _entries(path: str) -> tuple[list[str], dict[str, str], list[str]]:
    """List a folder: its files, what else has a name, with what it is, and what macOS left."""
    listed = list_names(path)
    hidden = {name for name in listed.files if name[0] == "."}
    left_behind = sorted(filter(is_beside_an_image, hidden))
    names = [name for name in listed.files if name not in hidden] if hidden else listed.files
    others = [*(one.name for one in listed.folders), *listed.others]
    told = {name: _why_no_file(os.path.join(path, name)) for name in others if name[0] != "."}
    names += (name for name, why in told.items() if why is None)
    return names, {name: why for name, why in told.items() if why is not None}, left_behind


def _is_none(name: str, why: str, place: str) -> bool:
    """Whether a job that goes by names would take it for a file.

    A Synology NAS keeps a folder of the same name for each image, in one that nobody trains on.
    """
    return why != _FOLDER or (is_image(name) and place.rpartition("/")[2] != "@eaDir")


def _contents(
    path: str, place: str, files: list[str], no_files: dict[str, str], longer: str
) -> FolderContents:
    count = len(files)
    files += no_files
    kinds: dict[tuple[int, str], int] = {}  # each: another (0: none) with a suffix more
    held: dict[str, int] = {}
    while files:  # each is let go of when its stem is held: a folder may be all that fits
        stem, suffix = split(files.pop(), longer)
        held[stem] = kinds.setdefault((held.get(stem, 0), suffix), len(kinds) + 1)
    made_of = [(0, ""), *kinds]

    def suffixes_of(kind: int) -> Iterator[str]:
        while kind:
            kind, suffix = made_of[kind]
            yield suffix

    beside_images = frozenset(
        one
        for one in no_files
        if any(map(is_image_suffix, suffixes_of(held[split(one, longer)[0]])))
    )
    alike: defaultdict[int, list[str]] = defaultdict(list)
    while held:
        stem, kind = held.popitem()
        alike[kind].append(stem)
    stems: Stems = {}
    for kind, those in alike.items():
        put(stems, tuple(sorted(set(suffixes_of(kind)))), those)
    return FolderContents(
        path=path,
        place=place,
        files=count,
        images=count_of(stems, is_image_suffix) - sum(map(is_image, no_files)),
        stems=stems,
        no_files=no_files,
        beside_images=beside_images,
    )


def _why_no_file(path: str) -> str | None:
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return "is a link that leads nowhere"
    except OSError as error:
        return f"cannot be reached: {error.strerror or error}"
    if stat.S_ISREG(mode):
        return None
    if stat.S_ISDIR(mode):
        return _FOLDER
    return "is a pipe" if stat.S_ISFIFO(mode) else "is no regular file"


def put(stems: Stems, suffixes: tuple[str, ...], those: list[str]) -> None:
    """Add stems to those that have the same suffixes."""
    if those:
        before = stems.get(suffixes)
        stems[suffixes] = "/".join(those if before is None else [before, *those])
