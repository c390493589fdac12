"""Looks for the files that live loaders list, and at the images and captions among them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from preflight.cached_files.facts import CacheFacts
from preflight.datasets.facts import Gone, Listed
from preflight.findings.finding import Location
from preflight.findings.looks import Left, Look, Looked
from preflight.formats.pictures.shape import Shape
from preflight.formats.suffixes.images import is_image
from preflight.images.facts import CaptionsSeen, FolderFacts, Picture
from preflight.images.kind import CAPTIONS, IMAGE
from preflight.images.pictures import Damages, PictureCounts
from preflight.images.undecoded import not_decoded
from preflight.kinds.gather import Gather, Run
from preflight.kinds.kind import Kind
from preflight.kinds.question import Question, stamp_of
from preflight.kinds.rooms import facts_of
from preflight.kinds.target import Target
from preflight.ledger.recall import facts_in
from preflight.pairing.facts import Pairing
from preflight.pairing.lengths import Lengths
from preflight.pairing.listed_texts import (
    are_captions,
    has_cached_suffix,
    is_left_over,
    is_read,
    is_text,
    suffix_of,
)
from preflight.pairing.listed_texts import is_image as is_image_of_list
from preflight.pipelines.facts import Reads
from preflight.targets.sampled import outside
from preflight.targets.targets import CacheFolder, Folder
from preflight.values.names import first_of, name_of
from preflight.values.sampling import parse_sample

_NAMES = 5

_AT_ONCE = 1_024
"""Captions that are read for one answer."""


@dataclass(slots=True, kw_only=True)
class _List:
    """What one loader lists, as far as it was looked at."""

    target: Target
    reads: Reads
    there: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    images: int = 0
    captions: int = 0
    are_captions: bool = True
    """Whether its texts belong to something; else they are the samples themselves."""

    cached: list[str] = field(default_factory=list)
    """Names of files with the suffix of a cached one that lie in no cache which is named."""

    damages: Damages = field(default_factory=Damages)
    pictures: PictureCounts = field(default_factory=PictureCounts)
    lengths: Lengths = field(default_factory=Lengths)


class ListedFiles(Gather):
    """All loaders of a run whose data sets list files."""

    def __init__(self, kind: Kind, run: Run) -> None:
        super().__init__(kind, run)
        self._lists: list[_List] = []
        self._asked: set[str] = set()
        self._cached: dict[str, bool] = {}
        """Whether each of those was read as one."""

    def hear(self, target: Target, facts: object) -> None:
        """Take in what a loader says."""
        if isinstance(facts, Reads) and (facts.files or facts.columns or facts.lost or facts.made):
            self._lists.append(_List(target=target, reads=facts))
        elif isinstance(facts, CacheFacts) and facts.file in self._cached:
            self._cached[facts.file] = True

    def then_questions(self) -> Iterator[Question]:
        """Ask about images and captions that lie in no folder which is looked at anyway."""
        job = self.run.job
        folders = (one.path for one in self.run.targets if isinstance(one, Folder))
        seen = tuple(
            os.path.join(os.path.abspath(os.path.join(job.root, at)), "") for at in folders
        )
        for one in self._lists:
            for path in one.reads.files:
                (one.there if os.path.isfile(path) else one.gone).append(path)
            one.cached = self._cached_beside(one.there)
            self._cached |= dict.fromkeys(one.cached, False)
            if not self.run.wants(FolderFacts):
                continue
            # What macOS left beside images is looked at in no folder, and this loader opens it.
            fresh = (path for path in one.there if not path.startswith(seen) or is_left_over(path))
            paths = [path for path in fresh if path not in self._asked]
            self._asked.update(paths)
            paths = self._sampled(paths)
            yield from self._images(one, [path for path in paths if is_image_of_list(path)])
            one.are_captions = are_captions(one.reads.files)
            if job.look.depth != "index" and one.are_captions:
                yield from self._captions(one, filter(is_text, paths))

    def _sampled(self, paths: list[str]) -> list[str]:
        text = self.run.job.look.sample
        drawn = parse_sample(text).draw(len(paths)) if text else None
        if drawn is None:
            return paths
        reason, count = outside(parse_sample(text or "")), len(paths) - len(drawn)
        if count:
            self.come.append(Left(reason=reason, kinds=(Listed,), count=count, noun="file"))
        return [path for at, path in enumerate(paths) if at in drawn]

    def _images(self, one: _List, paths: list[str]) -> Iterator[Question]:
        memory = self.run.memory
        how = memory.how(IMAGE.name, {})
        known = memory.recall(IMAGE.noun, how, paths)
        for path in paths:
            if path in known:
                self._see(one, path, facts_in(known[path], ""))
                continue
            yield Question(
                kind=IMAGE,
                wire={"path": path},
                target=one.target,
                at=Location(file=name_of(path, self.run.job.root)),
                gives=(FolderFacts,),
                gather=self,
                whole=one,
                size=stamp_of(path)[0],
                how=how,
            )

    def _captions(self, one: _List, paths: Iterable[str]) -> Iterator[Question]:
        by_folder: dict[str, list[str]] = {}
        for path in paths:
            folder, name = os.path.split(path)
            by_folder.setdefault(folder, []).append(name)
        for folder, names in by_folder.items():
            place, rest = name_of(folder, self.run.job.root), iter(names)
            while part := tuple(islice(rest, _AT_ONCE)):
                yield Question(
                    kind=CAPTIONS,
                    wire={"folder": folder, "place": place, "names": part},
                    target=one.target,
                    at=Location(file=place),
                    gives=(FolderFacts,),
                    gather=self,
                    whole=one,
                )

    def heard(self, question: Question, told: tuple[Mapping[str, Any], ...]) -> Iterator[Look]:
        """Take in what was seen of an image, or of captions."""
        one: _List = question.whole
        if question.kind is IMAGE:
            path = question.wire["path"]
            self.run.memory.keep(question.how or "", path, told)
            self._see(one, path, told)
        for facts in map(facts_of, told if question.kind is CAPTIONS else ()):
            assert isinstance(facts, CaptionsSeen)  # noqa: S101  for the type checker
            one.captions += len(question.wire["names"])
            one.lengths.merge([facts.lengths])
        yield from ()

    def _see(self, one: _List, path: str, told: Iterable[Mapping[str, Any]]) -> None:
        one.images += 1
        name = name_of(path, self.run.job.root)
        for plain in told:
            if plain["type"] == Picture.__name__:
                one.pictures.add(name, Shape(*plain["shape"]), plain.get("undecoded", ""))
            else:
                one.damages.add(facts_of({**plain, "name": name}))

    def finish(self) -> Iterator[Look]:
        """Give, of each loader, what it lists, and what was seen of images and captions in it."""
        for one in self._lists:
            yield Looked(facts=self._listed(one), target=one.target)
            yield from self._not_read(one)
            if one.images or one.captions:
                facts = self._folder(one)
                yield Looked(facts=facts)
                yield from not_decoded(facts.file, facts.pictures, FolderFacts)

    def _listed(self, one: _List) -> Listed:
        root, reads = self.run.job.root, one.reads
        suffixes = Counter(map(suffix_of, reads.files))
        gone = []
        for what, is_one in (("image", is_image), ("text", is_text)):
            names = [name_of(path, root) for path in one.gone if is_one(path)]
            of = len(names) + sum(map(is_one, one.there))
            if names and not (self.run.job.launch.elsewhere and len(names) == of):
                gone.append(Gone(what, len(names), of, tuple(sorted(names)[:_NAMES])))
        return Listed(
            name=reads.name,
            defined=reads.defined,
            files=reads.listed,
            looked_for=len(reads.files),
            suffixes=tuple(suffixes.most_common(_NAMES)),
            gone=tuple(gone),
            images=one.images,
            captions=one.captions,
            cached=sum(map(self._cached.__getitem__, one.cached)),
            columns=reads.columns,
            rows=reads.rows,
        )

    def _not_read(self, one: _List) -> Iterator[Left]:
        """Say what of it nobody has looked at."""
        reads = one.reads
        unread = {name for name in one.cached if not self._cached[name]}
        other = Counter(
            suffix_of(path)
            for path in one.there
            if name_of(path, self.run.job.root) in unread
            or not is_read(path)
            or (not one.are_captions and is_text(path))
        )
        reasons = {
            f"{reads.name} lists it, and {suffix} of a loader is not read": count
            for suffix, count in other.items()
        }
        more = reads.listed - len(reads.files)
        reasons[f"{reads.name} lists {reads.listed:,}, of which some from all over are read"] = more
        if self.run.job.launch.elsewhere and one.gone and not one.there:
            reasons[f"{reads.name} lists it, and it is not on this machine"] = len(one.gone)
        reasons[f"{reads.name} lists it, and the script itself makes it"] = reads.made
        for reason, count in reasons.items():
            if count:
                yield Left(reason=reason, kinds=(Listed,), count=count, noun="file")
        if reads.lost:  # by themselves they are names, and of what files nobody knows
            such = first_of(reads.lost_names, 1, most=1)
            reason = (
                f"what {reads.name} lists leads to no file by itself, such as {such}; "
                "its code may put a folder before it"
            )
            yield Left(reason=reason, kinds=(Listed,), count=reads.lost, noun="name")

    def _cached_beside(self, paths: Iterable[str]) -> list[str]:
        wanted = self.run.wants(CacheFacts)
        every = (one.path for one in self.run.targets if isinstance(one, CacheFolder) and wanted)
        named = [os.path.abspath(self.run.full(one)) for one in every]
        inside = tuple(os.path.join(one, "") for one in named)
        beside = (one for one in paths if not (one in named or one.startswith(inside)))
        return [name_of(one, self.run.job.root) for one in beside if has_cached_suffix(one)]

    def _folder(self, one: _List) -> FolderFacts:
        """Lay out what was seen as of a folder, in which nothing is to be paired."""
        place = os.path.dirname(one.there[0])
        try:
            place = os.path.commonpath([place, os.path.dirname(one.there[-1])])
        except ValueError:  # on several drives of Windows
            place = os.path.dirname(one.there[0])
        many = one.images + one.captions
        empty = FolderFacts(
            file=name_of(place, self.run.job.root),
            files=many,
            pairing=Pairing(rule="none", samples=many, images=one.images, captions=0),
            images=one.images,
        )
        return replace(
            empty,
            damaged_images=tuple(sorted(one.damages.told, key=lambda two: two.name)),
            more_damaged=one.damages.more,
            pictures=one.pictures.told(),
            captions=one.lengths.told(),
        )
