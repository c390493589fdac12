"""Looks at folders of images: each image by itself, and puts what is seen of a folder together."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Any

from preflight.findings.finding import Location
from preflight.findings.looks import Left, Look, Looked
from preflight.formats.pictures.shape import Shape
from preflight.images.caption_reading import CaptionReading
from preflight.images.facts import FolderFacts, Picture, Pictures
from preflight.images.folder import folder_facts, list_folder
from preflight.images.images_so_far import Directory, Images, ReadPart, captions_of, sampled
from preflight.images.kind import CAPTIONS, IMAGE, TABLE
from preflight.images.needed_beside import NeededBeside
from preflight.images.undecoded import not_decoded, not_seen
from preflight.kinds.gather import Gather, Run, unreadable
from preflight.kinds.kind import Kind
from preflight.kinds.question import Question, stamp_of
from preflight.kinds.rooms import facts_of
from preflight.kinds.target import Target
from preflight.ledger.recall import facts_in
from preflight.ledger.rows import Remembered
from preflight.ledger.store import mark_of
from preflight.pairing.folder_contents import FolderContents
from preflight.targets.sampled import DrawnSamples, outside
from preflight.targets.targets import Folder, Source
from preflight.values.names import name_of, shown
from preflight.values.wire import from_wire, to_brief

# Images that are looked up in the ledger at once.
_MANY = 2_048

# Folders below one of which some images are asked whether they are in memory.
_FOLDERS = 16


class Folders(Gather):
    """All folders of images of a run."""

    def __init__(self, kind: Kind, run: Run) -> None:
        super().__init__(kind, run)
        self._folders: list[Images] = []
        self._samples = DrawnSamples(run.job, run.targets)
        self._memory = run.memory
        self._captions = CaptionReading(run, self)
        self._held: list[tuple[Images, FolderFacts, float | None]] = []  # until sources are read
        self._uses: dict[str, str] = {}
        self._needed = NeededBeside()
        self._nameless: list[str] = []
        self._how = self._memory.how(IMAGE.name, {})
        self._seconds_each = IMAGE.seconds({}, run.job.root, run.job.look.depth)

    # --- what is to be asked

    def add(self, target: Folder) -> Iterator[Look]:
        """List a folder."""
        job = self.run.job
        sample = self._samples.of_folder(target.path)
        one = Images(
            target=target,
            listing=list_folder(target, job.root),
            sample=sample,
            captioned_by_texts=job.look.depth != "index",
        )
        self._folders.append(one)
        for path, reason in one.listing.facts.unreadable:
            place = Location(file=name_of(path, job.root))
            yield unreadable(place, reason, (FolderFacts,))
        if sample is not None and one.there > one.images:
            yield Left(
                reason=outside(sample),
                kinds=(FolderFacts,),
                count=one.there - one.images,
                about="image",
                noun="image",
                target=target,
            )

    @property
    def things(self) -> int:
        """How many files are to be looked at."""
        return sum(one.images + len(one.listing.tables) + captions_of(one) for one in self._folders)

    def seconds(self) -> float:
        """How long processes are likely to look at the images, their captions and tables."""
        captions = CAPTIONS.seconds({"names": range(sum(map(captions_of, self._folders)))}, "", "")
        paths = (path for one in self._folders for path in one.listing.tables)
        tables = sum(_seconds_of(path, self.run.job.root) for path in paths)
        images = sum(one.images for one in self._folders) * self._seconds_each
        return captions + tables + images

    def some_paths(self, most: int) -> Iterator[str]:
        """Give the paths of some images; none where an earlier run has seen most of them."""
        if self._memory.ledger.holds_something:
            return
        for one in self._folders:
            for contents in one.listing.contents[:_FOLDERS]:
                for name in contents.image_names()[:most]:
                    yield os.path.join(contents.path, name)

    def questions(self) -> Iterator[Question]:
        """Give each table and each image that has to be read, when it is asked for."""
        for one in self._folders:
            one.left = 1
            yield from self._tables(one)
            yield from self._captions.ask(one)
            yield from self._images(one)
            one.left -= 1
            self._complete(one)

    def _tables(self, one: Images) -> Iterator[Question]:
        """Ask about what has to be read before it is known which image has a caption."""
        one.left += len(one.listing.tables)
        for path in one.listing.tables:
            yield Question(
                kind=TABLE,
                wire={"path": path},
                target=one.target,
                at=Location(file=name_of(path, self.run.job.root)),
                gives=(FolderFacts,),
                gather=self,
                whole=(one, None),
                seconds=_seconds_of(path, self.run.job.root),
                size=stamp_of(path)[0],
            )

    def _images(self, one: Images) -> Iterator[Question]:
        every = ((directory, name) for directory, names in self._unknown(one) for name in names)
        while waiting := list(islice(every, _MANY)):
            yield from self._hand_out(one, waiting)

    def _unknown(self, one: Images) -> Iterator[tuple[Directory, Sequence[str]]]:
        """Give the directories in which something may have changed, with the images to look at."""
        if one.sample is not None:
            yield from sampled(one, one.sample)
            return
        there = {contents.path: contents for contents in one.listing.contents if contents.images}
        names_in = lru_cache(maxsize=1)(lambda path: there[path].image_names())
        known = self._memory.ledger.recall_folders(self._how, there, names_in)
        for path, contents in there.items():
            if path in known:
                self._take(one, contents, known[path])
                continue
            found = names_in(path)
            mark = mark_of(path, found) if self._memory.ledger.usable else None
            yield Directory(contents=contents, left=len(found), mark=mark), found

    def _take(self, one: Images, contents: FolderContents, seen: Remembered) -> None:
        self.run.passed(contents.images)
        one.looked_at += contents.images
        self._memory.count(IMAGE.noun, contents.images, seen.read_at, of=contents.images)
        one.remember(seen.read_at)
        of_all = json.loads(seen.facts or "{}")
        one.pictures.merge(from_wire(Pictures, of_all.get("pictures", {})), contents.inside)
        for name, plain in of_all.get("damaged", {}).items():
            one.damages.add(facts_of({**plain, "name": contents.inside(name)}))

    def _hand_out(self, one: Images, waiting: list[tuple[Directory, str]]) -> Iterator[Question]:
        paths = [os.path.join(directory.contents.path, name) for directory, name in waiting]
        known = self._memory.recall(IMAGE.noun, self._how, paths)
        self.run.passed(len(known))
        unknown = []
        for (directory, name), path in zip(waiting, paths, strict=True):
            if path in known:
                one.remember(known[path].read_at)
                directory.begun = min(directory.begun, known[path].read_at)
                self._see(one, directory, name, facts_in(known[path], ""), noted=True)
            else:
                unknown.append((directory, name, path))
        one.left += len(unknown)
        for directory, name, path in unknown:
            size = self._memory.ledger.size_before(self._how, path)
            yield Question(
                kind=IMAGE,
                wire={"path": path},
                target=one.target,
                at=Location(file=directory.contents.inside(name)),
                gives=(FolderFacts,),
                gather=self,
                whole=(one, directory),
                seconds=self._seconds_each,
                size=stamp_of(path)[0] if size is None else size,
                how=self._how,
            )

    # --- what comes of it

    def heard(self, question: Question, told: tuple[Mapping[str, Any], ...]) -> Iterator[Look]:
        """Take in what was seen of a file."""
        one, directory = question.whole
        one.left -= 1
        one.read |= directory is not None
        if isinstance(directory, ReadPart):
            self._captions.keep(one, directory, [facts_of(plain) for plain in told])
        elif directory is None:
            one.captioned += map(facts_of, told)
        else:
            path = question.wire["path"]
            noted = self._memory.keep(self._how, path, told)
            self._see(one, directory, os.path.basename(path), told, noted=noted)
        self._complete(one)
        yield from ()

    def _see(
        self,
        one: Images,
        directory: Directory,
        name: str,
        told: Iterable[Mapping[str, Any]],
        *,
        noted: bool,
    ) -> None:
        one.looked_at += 1
        directory.left -= 1
        directory.noted &= noted
        inside = directory.contents.inside(name)
        for plain in told:
            if plain["type"] == Picture.__name__:
                shape = Shape(*plain["shape"])
                undecoded = plain.get("undecoded", "")
                one.pictures.add(inside, shape, undecoded)
                if directory.mark is not None:
                    directory.pictures.add(name, shape, undecoded)
                continue
            one.damages.add(facts_of({**plain, "name": inside}))
            directory.damaged[name] = {**plain, "name": ""}
        if directory.left == 0 and directory.noted and directory.mark is not None:
            pictures = to_brief(directory.pictures.told())
            facts = json.dumps({"pictures": pictures, "damaged": directory.damaged})
            seen = Remembered(directory.begun, facts)
            self._memory.ledger.remember_folder(
                self._how, directory.contents.path, directory.mark, seen
            )

    def failed(self, question: Question, error: str, fix: str | None) -> Iterator[Look]:
        """Go on without a file."""
        yield from super().failed(question, error, fix)
        self._without(question)

    def left_out(self, question: Question, reason: str) -> Iterator[Look]:
        """Go on without a file that nobody came to."""
        yield from super().left_out(question, reason)
        self._without(question)

    def _without(self, question: Question) -> None:
        one, directory = question.whole
        one.left -= 1
        if question.kind is TABLE:
            one.unread_tables.append(self.file_of(question))
        one.read |= question.kind is not TABLE
        if isinstance(directory, Directory):
            directory.noted = False
        self._complete(one)

    def _complete(self, one: Images) -> None:
        if one.left:
            return
        found = folder_facts(one.listing, one.damages, one.captioned)
        pictures = one.pictures.told()
        unread = (*found.unread_tables, *one.unread_tables)
        captions = one.captions.told()
        found = replace(found, images=one.looked_at, pictures=pictures, captions=captions)
        found = replace(found, unread_tables=unread)
        self._nameless += found.nameless_tables if not found.pairing.whole else ()
        read_at = None if one.read else one.oldest
        if found.asks_sources:
            self._held.append((one, found, read_at))
        else:
            self.come.append(Looked(facts=found, target=one.target, read_at=read_at))
        self.come += not_seen(found)
        self.come += not_decoded(found.file, pictures, FolderFacts, one.target)

    def remarks(self) -> Iterator[str]:
        """Name tables beside images that name none of them."""
        for name in self._nameless:
            said = "has no file_name, and so names no image"
            yield f"{shown(name)} {said}: nothing of it was held against the images."

    def needs(self, target: Target) -> bool:
        """Whether it is a source, which may say what becomes of an image without a caption."""
        return isinstance(target, Source)

    def hear(self, target: Target, facts: object) -> None:
        """Take in what sources do with the names of files."""
        for one in getattr(facts, "uses", ()) if isinstance(target, Source) else ():
            line = f"{one.at.file}:{one.at.line}"
            self._uses.setdefault(one.how, line)
            self._needed.hear(one, line)

    def finish(self) -> Iterator[Look]:
        """Give what waited for sources."""
        lists, asks, spares = (self._uses.get(how, "") for how in ("lists", "asks", "spares"))
        for one, found, read_at in self._held:
            left = 0 if spares and not lists else found.left_behind
            facts = replace(found, left_behind=left, listed_by=lists, asked_by=asks)
            facts = replace(facts, beside=self._needed.said_of(found.beside))
            facts = replace(facts, taken_by=self._uses.get("takes", ""))
            yield Looked(facts=facts, target=one.target, read_at=read_at)


def _seconds_of(table: str, root: str) -> float:
    return TABLE.seconds({"path": table}, root, "")
