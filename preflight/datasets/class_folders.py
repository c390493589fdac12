"""Looks at folders that hold one for each class, by names alone, as ImageFolder reads them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator, Sequence

from preflight.datasets.class_facts import ClassFolder, ClassFolders, OtherNumbers, SplitClasses
from preflight.datasets.split_folders import SPLIT, TRAIN, splits_in
from preflight.findings.looks import Look, Looked
from preflight.formats.suffixes.images import is_image
from preflight.kinds.gather import Gather, Run
from preflight.kinds.kind import Kind
from preflight.kinds.target import Target
from preflight.objects.facts import Definition
from preflight.pipelines.facts import Reads, ReadsClasses
from preflight.sources.facts import SourceFacts
from preflight.sources.mentions import trains
from preflight.targets.targets import Built, Folder, Loader, Source
from preflight.values.names import name_of

# Of torchvision.datasets.folder.
_TAKEN = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")

# Whoever says where captions are has no classes.
_UNSAID = frozenset({"auto", "none"})

_ATTRIBUTES = b"\x00\x05\x16\x07"


class Classes(Gather):
    """All folders of a run that are read so."""

    def __init__(self, kind: Kind, run: Run) -> None:
        super().__init__(kind, run)
        self._heard: list[tuple[Source, SourceFacts]] = []
        self._loaders: list[Reads] = []
        """Those that list files."""

        self._seen: dict[str, tuple[tuple[ClassFolder, ...], int, tuple[str, ...]]] = {}

    def needs(self, target: Target) -> bool:
        """Whether it is a source, which may have a folder read so, or a loader."""
        return type(target) in (Loader, Built) or (
            isinstance(target, Source) and not target.implied
        )

    def hear(self, target: Target, facts: object) -> None:
        """Take in what sources have read, and which labels loaders give."""
        if isinstance(facts, Reads) and facts.files:
            self._loaders.append(facts)
        if isinstance(facts, SourceFacts) and isinstance(target, Source) and not target.implied:
            self._heard.append((target, facts))

    def finish(self) -> Iterator[Look]:
        """Give what is in each of these folders, and which of them are splits of one another.

        The labels that live loaders give overrule what sources say of them.
        """
        live = [one for one in self._loaders if one.numbers]
        for numbers in otherwise_numbered(live):
            yield Looked(facts=numbers)
        told: dict[tuple[str, str | None], ClassFolders] = {}
        unplaced: list[ReadsClasses] = []
        for target, facts in self._heard:
            for reads in facts.class_folders:
                is_started = not facts.is_folder or _is_started(reads.at.file or "", facts)
                folders = tuple(self._folders(target, reads))
                unplaced += () if folders else (reads,)
                for path, is_whole in folders:
                    found = self._look(path, reads, sure=is_started and is_whole and reads.sure)
                    key = found.file, reads.at.file
                    if key not in told or (found.sure and not told[key].sure):
                        told[key] = found
        for found in told.values():
            yield Looked(facts=found)
        known = {*map(self._name_of_all, live)}
        for one in _splits_of(told.values()):
            if not {one.train.file, one.other.file} <= known:
                yield Looked(facts=one)
        if unplaced or not self._heard:
            placed = {one.file for one in told.values()}
            yield from self._laid_out(unplaced, placed)

    def _laid_out(
        self, unplaced: Sequence[ReadsClasses], placed: Collection[str]
    ) -> Iterator[Look]:
        """Give splits that nobody names, and that one of these lines may read, or no source at all.

        What is missing in one of them, or empty, is told by that which has it.
        """
        reads = unplaced[0] if unplaced else ReadsClasses(at=Definition())
        reads = reads._replace(relabels=any(one.relabels for one in unplaced))
        known = {*placed, *map(self._name_of_all, self._loaders)}
        images = (one for one in self.run.targets if isinstance(one, Folder))
        root = os.path.abspath(self.run.job.root)
        tops = [os.path.join(root, one.path) for one in images if one.captions.rule in _UNSAID]
        for splits in splits_in(tops):
            names = {name_of(one, root) for one in splits[:2]}
            if (splits.listed and not unplaced) or known & names:
                continue
            train, other = (self._look(one, reads, sure=False) for one in splits[:2])
            yield Looked(facts=SplitClasses(train=train, other=other))
            for one, its in ((train, other), (other, train)) if not reads.allow_empty else ():
                full = {each.name for each in its.classes if each.images}
                if any(each.name in full and not each.images for each in one.classes):
                    yield Looked(facts=one)

    def _name_of_all(self, reads: Reads) -> str:
        """Name the folder in which all files of a loader lie."""
        try:
            return name_of(os.path.commonpath(reads.files), self.run.job.root)
        except ValueError:  # on several drives of Windows
            return ""

    # --- which folders

    def _folders(self, target: Source, reads: ReadsClasses) -> Iterator[tuple[str, bool]]:
        """Give the folders that are there, and whether a path that is written out names each."""
        root = os.path.abspath(self.run.job.root)
        full = os.path.join(root, target.path)
        bases = [root, full if os.path.isdir(full) else os.path.dirname(full)]
        bases.append(os.path.join(root, os.path.dirname(reads.at.file or "")))
        found: dict[str, bool] = {}
        for path in reads.paths:
            each = (os.path.normpath(os.path.join(at, os.path.expanduser(path))) for at in bases)
            there = next(filter(os.path.isdir, each), None)
            if there is not None:
                found[there] = True
        for ending in reads.endings:
            ends = {
                one for at in self._around(root) if os.path.isdir(one := os.path.join(at, ending))
            }
            if len(ends) == 1:  # of several nobody knows which
                found.setdefault(os.path.normpath(ends.pop()), False)
        yield from found.items()

    def _around(self, root: str) -> set[str]:
        """Give the folders of images of the run, and what they lie in."""
        found: set[str] = set()
        for one in self.run.targets:
            at = self.run.full(one.path) if isinstance(one, Folder) else root
            while at.startswith(root) and at not in found:
                found.add(at)
                at = os.path.dirname(at)
        return found

    # --- what is in them

    def _look(self, path: str, reads: ReadsClasses, *, sure: bool) -> ClassFolders:
        if path not in self._seen:
            self._seen[path] = _classes_in(path)
        classes, loose, splits = self._seen[path]
        return ClassFolders(
            reads=reads,
            file=name_of(path, self.run.job.root),
            classes=classes,
            loose=loose,
            splits=splits,
            sure=sure,
        )


def _splits_of(folders: Collection[ClassFolders]) -> Iterator[SplitClasses]:
    """Put those together that lie side by side, are called as splits, and are read by one file."""
    for train in folders:
        above, name = os.path.split(train.file)
        for other in folders if TRAIN.match(name) else ():
            its = os.path.split(other.file)
            same = other.reads.at.file == train.reads.at.file and its[0] == above
            if same and SPLIT.fullmatch(its[1]) and not TRAIN.match(its[1]):
                yield SplitClasses(train=train, other=other)


def otherwise_numbered(loaders: list[Reads]) -> Iterator[OtherNumbers]:
    """Hold each loader against the first, or the one that trains, where both have some folders."""
    if not loaders:
        return
    names = [one.name.rpartition(":")[2].lower() for one in loaders]
    train = loaders[next((at for at, name in enumerate(names) if "train" in name), 0)]
    its, above = dict(train.numbers), _above(train)
    for one in loaders:
        shared = [(name, here, its[name]) for name, here in one.numbers if name in its]
        moved = tuple(three for three in shared if three[1] != three[2])
        if one is not train and shared:
            yield OtherNumbers(
                name=one.name,
                train=train.name,
                shared=len(shared),
                moved=moved,
                apart=_above(one) != above,
                defined=one.defined,
            )


def _above(reads: Reads) -> str:
    """Give the folder in which the folder of all of its files lies."""
    try:
        return os.path.dirname(os.path.commonpath(reads.files))
    except ValueError:  # on several drives of Windows, or none at all
        return ""


def _is_started(file: str, facts: SourceFacts) -> bool:
    """Whether a file of a folder is taken for what is started."""
    return file in facts.entries if facts.entries else trains(file)


def _classes_in(path: str) -> tuple[tuple[ClassFolder, ...], int, tuple[str, ...]]:
    try:
        with os.scandir(path) as entries:
            every = sorted(entries, key=lambda one: one.name)
    except OSError:
        return (), 0, ()  # that it cannot be listed is told of the folder itself
    folders = [one for one in every if one.is_dir()]
    loose = sum(is_image(one.name) for one in every if one.name[0] != "." and not one.is_dir())
    classes = tuple(_class_in(one.path, one.name) for one in folders)
    splits = [one.name for one in folders if SPLIT.fullmatch(one.name) and _has_classes(one.path)]
    return classes, loose, tuple(splits)


def _has_classes(path: str) -> bool:
    """Whether images lie in folders in it, and none beside them."""
    try:
        with os.scandir(path) as entries:
            every = list(entries)
    except OSError:
        return False
    folders = [one for one in every if one.is_dir()]
    return len(folders) > 1 and not any(one.name.lower().endswith(_TAKEN) for one in every)


def _class_in(path: str, name: str) -> ClassFolder:
    images = left = attributes = 0
    left_suffix = attributes_name = ""
    met: set[tuple[int, int]] = set()
    for folder, folders, files in os.walk(path, followlinks=True):
        with contextlib.suppress(OSError):  # it went away meanwhile
            here = os.stat(folder)
            if here.st_ino and (here.st_dev, here.st_ino) in met:
                folders.clear()
                continue
            met.add((here.st_dev, here.st_ino))
        for file in files:
            if file.lower().endswith(_TAKEN):
                images += 1
                if file.startswith("._") and _is_attributes(os.path.join(folder, file)):
                    attributes += 1
                    attributes_name = attributes_name or os.path.relpath(
                        os.path.join(folder, file), path
                    )
            elif file[0] != "." and is_image(file):
                left += 1
                left_suffix = left_suffix or os.path.splitext(file)[1]
    return ClassFolder(name, images, left, left_suffix, attributes, attributes_name)


def _is_attributes(path: str) -> bool:
    try:
        with open(path, "rb") as stream:
            return stream.read(len(_ATTRIBUTES)) == _ATTRIBUTES
    except OSError:
        return False
