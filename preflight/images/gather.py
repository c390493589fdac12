"""Looks at a folder of images: each by itself, many at a time, and puts its facts together."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from preflight.images.damages import Damages
from preflight.images.facts import FolderFacts
from preflight.ledger.recall import Memory, facts_in
from preflight.ledger.store import mark_of
from preflight.ledger.table import Remembered
from preflight.pairing.facts import Captioned
from preflight.session.answers import facts_of
from preflight.session.items import Item, size_of
from preflight.targets.targets import Folder
from preflight.values.names import name_of
from preflight.values.sampling import Sample

if TYPE_CHECKING:
    from preflight.images.folder import FolderListing
    from preflight.pairing.folder_contents import Contents

# Images that are looked up in the ledger at once.
_MANY = 2_048


@dataclass(slots=True)
class Directory:
    """One directory of a gathering, as far as its images have been looked at."""

    contents: Contents
    names: list[str] = field(default_factory=list)
    """The images that are to be looked at, until they have been handed out."""

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


@dataclass(slots=True, kw_only=True)
class PartItem(Item):
    """One file of a gathering: a table of captions, or an image."""

    whole: Gathering


@dataclass(slots=True, kw_only=True)
class ImageItem(PartItem):
    """One image of a gathering."""

    directory: Directory


@dataclass(slots=True)
class Gathering:
    """A folder whose images are looked at one by one; its facts are put together at the end."""

    target: Folder
    listing: FolderListing
    root: str
    """The job's folder."""

    memory: Memory
    sample: Sample | None
    how: str
    seconds_each: float
    """How long a process is likely to look at one image."""

    left: int = 0
    """Images that are still to be answered, and 1 as long as some were not handed out."""

    looked_at: int = 0
    oldest: float | None = None
    """When the first of what is remembered was read, in seconds since the epoch."""

    read: bool = False
    """Whether any image was read now."""

    damages: Damages = field(default_factory=Damages)
    captioned: list[Captioned] = field(default_factory=list)
    """What tables say of the images."""

    unread_tables: list[str] = field(default_factory=list)
    """Names of tables that could not be read."""

    @property
    def images(self) -> int:
        """How many are to be looked at."""
        total = sum(one.images for one in self.listing.contents)
        return total if self.sample is None else self.sample.of(total)

    @property
    def left_out(self) -> int:
        """How many images are there, and in no sample."""
        return sum(one.images for one in self.listing.contents) - self.images

    @property
    def files(self) -> int:
        """How many files are to be looked at."""
        return self.images + len(self.listing.tables)

    def items(self, done: Callable[[int], None]) -> Iterator[PartItem]:
        """Give each table and each image that has to be read, when it is asked for.

        Args:
            done: called with the number of images that need no reading.
        """
        self.left = 1
        yield from self._tables()
        waiting: list[tuple[Directory, str]] = []
        for directory in self._unknown(done):
            for name in directory.names:
                waiting.append((directory, name))
                if len(waiting) == _MANY:
                    yield from self._hand_out(waiting, done)
                    waiting.clear()
            directory.names = []
        yield from self._hand_out(waiting, done)
        self.left -= 1

    def _tables(self) -> Iterator[PartItem]:
        """Give what has to be read before it is known which image has a caption."""
        self.left += len(self.listing.tables)
        for path in self.listing.tables:
            yield PartItem(
                plain={"type": "CaptionTable", "path": path},
                target=self.target,
                name=name_of(path, self.root),
                kinds=(FolderFacts,),
                size=size_of(path),
                whole=self,
            )

    def _unknown(self, done: Callable[[int], None]) -> Iterator[Directory]:
        """Give the directories in which something may have changed, one by one."""
        if self.sample is not None:
            yield from self._sampled(self.sample)
            return
        there = {one.path: one for one in self.listing.contents if one.images}
        last: tuple[str, list[str]] = ("", [])

        def names_in(path: str) -> list[str]:
            nonlocal last
            if path != last[0]:
                last = path, there[path].image_names()
            return last[1]

        known = self.memory.recall_folders(self.how, there, names_in)
        for path, contents in there.items():
            if path in known:
                self._take(contents, known[path])
                done(contents.images)
                continue
            found = names_in(path)
            yield Directory(
                contents=contents,
                names=found,
                left=len(found),
                mark=mark_of(path, found) if self.memory.ledger.usable else None,
            )

    def _sampled(self, sample: Sample) -> Iterator[Directory]:
        """Give the directories, each with those of its images that are in the sample."""
        drawn = sample.draw(sum(one.images for one in self.listing.contents))
        before = 0
        for contents in self.listing.contents:
            names = contents.image_names()
            if drawn is not None:
                names = [name for at, name in enumerate(names, before) if at in drawn]
            before += contents.images
            yield Directory(contents=contents, names=names, noted=False)

    def _take(self, contents: Contents, seen: Remembered) -> None:
        """Take over what is remembered of all images of a directory."""
        self.looked_at += contents.images
        self.memory.count(self.how, contents.images, seen.read_at)
        self._remember(seen.read_at)
        for name, plain in (json.loads(seen.facts) if seen.facts else {}).items():
            self.damages.add(facts_of({**plain, "name": contents.inside(name)}))

    def _hand_out(
        self, waiting: list[tuple[Directory, str]], done: Callable[[int], None]
    ) -> Iterator[ImageItem]:
        paths = [os.path.join(one.contents.path, name) for one, name in waiting]
        known = self.memory.recall(self.how, paths)
        done(len(known))
        unknown = []
        for (directory, name), path in zip(waiting, paths, strict=True):
            if path in known:
                self._remember(known[path].read_at)
                directory.begun = min(directory.begun, known[path].read_at)
                self._see(directory, name, facts_in(known[path], ""), noted=True)
            else:
                unknown.append((directory, name, path))
        self.left += len(unknown)
        for directory, name, path in unknown:
            size = self.memory.ledger.size_before(self.how, path)
            yield ImageItem(
                plain={"type": "Image", "path": path},
                target=self.target,
                name=directory.contents.inside(name),
                kinds=(FolderFacts,),
                seconds=self.seconds_each,
                size=size_of(path) if size is None else size,
                whole=self,
                directory=directory,
                how=self.how,
            )

    def answered(
        self, item: PartItem, plains: tuple[Mapping[str, Any], ...], *, noted: bool
    ) -> None:
        """Take in what was seen of a file."""
        self.left -= 1
        if not isinstance(item, ImageItem):
            self.captioned += (facts_of(plain) for plain in plains)
            return
        self.read = True
        self._see(item.directory, os.path.basename(item.plain["path"]), plains, noted=noted)

    def failed(self, item: PartItem) -> None:
        """Go on without a file."""
        self.left -= 1
        if isinstance(item, ImageItem):
            self.read = True
            item.directory.noted = False
        else:
            self.unread_tables.append(item.name)

    def _see(
        self,
        directory: Directory,
        name: str,
        plains: tuple[Mapping[str, Any], ...] | list[dict[str, Any]],
        *,
        noted: bool,
    ) -> None:
        self.looked_at += 1
        directory.left -= 1
        directory.noted &= noted
        for plain in plains:
            self.damages.add(facts_of({**plain, "name": directory.contents.inside(name)}))
            directory.damaged[name] = {**plain, "name": ""}
        if directory.left == 0 and directory.noted and directory.mark is not None:
            facts = json.dumps(directory.damaged) if directory.damaged else None
            seen = Remembered(directory.begun, facts)
            self.memory.keep_folder(self.how, directory.contents.path, directory.mark, seen)

    def _remember(self, read_at: float) -> None:
        self.oldest = read_at if self.oldest is None else min(read_at, self.oldest)

    def facts(self) -> FolderFacts:
        """Put the listing and what became of its images together."""
        from preflight.images import folder

        found = folder.folder_facts(self.listing, self.damages, self.captioned)
        unread = (*found.unread_tables, *self.unread_tables)
        return replace(found, images=self.looked_at, unread_tables=unread)
