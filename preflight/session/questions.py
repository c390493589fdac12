"""Says of each target what has to be asked about it; lists folders, and opens nothing."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from preflight.cached_files.facts import CacheFacts
from preflight.caches.facts import CacheFolderFacts
from preflight.checkpoints.facts import CheckpointFacts
from preflight.datasets.facts import DatasetFacts
from preflight.findings.finding import Location
from preflight.findings.judge import Failed, Left, Look
from preflight.host.facts import HostFacts
from preflight.images.facts import FolderFacts
from preflight.images.gather import Gathering
from preflight.keys.facts import CacheKeys
from preflight.keys.gather import key_item, made_of, same_as
from preflight.ledger.recall import Memory
from preflight.loaders.facts import Loaded, Sent
from preflight.models.facts import Copied
from preflight.processes.shares import seconds_for
from preflight.session.answers import READABLE, mend, reason_of
from preflight.session.items import Item, stamp_of
from preflight.settings.job import DataSettings, Job
from preflight.shards.facts import ShardFacts
from preflight.sources.facts import SourceFacts
from preflight.targets import discover
from preflight.targets.facts import Absent
from preflight.targets.targets import (
    Built,
    CacheFolder,
    CaptionRule,
    Dataset,
    Folder,
    Host,
    Missing,
    Remote,
    Shard,
    Source,
    Target,
    Unread,
)
from preflight.targets.told_once import own_files
from preflight.targets.word import near_path
from preflight.tensors.facts import CacheContents
from preflight.users_code.facts import Unbuilt
from preflight.values.names import name_of
from preflight.values.sampling import Sample, parse_sample
from preflight.values.wire import to_exact, to_plain

if TYPE_CHECKING:
    from preflight.caches.gather import CacheGathering

KINDS: Mapping[type, tuple[type, ...]] = {
    Host: (HostFacts,),
    Source: (SourceFacts,),
    Shard: (ShardFacts, DatasetFacts),
    Folder: (FolderFacts, DatasetFacts),
    CacheFolder: (CacheFacts, CacheFolderFacts, CheckpointFacts, CacheKeys, CacheContents),
    Built: (Sent, Loaded, Copied, Unbuilt),
    Missing: (Absent,),
    Remote: (ShardFacts, FolderFacts),
    Unread: (ShardFacts, FolderFacts, CacheFacts),
}
"""The types of facts that are to be had of each type of target."""

KEY_LIST = "cache key list"
"""What is said of a cache that is not held against its samples."""


def kinds_of(target: Target) -> tuple[type, ...]:
    """Give the types of facts that are to be had of a target."""
    if isinstance(target, Built) and target.kind is not None:
        return (Sent, Loaded, Unbuilt) if target.kind == "loader" else (Copied, Unbuilt)
    return KINDS[type(target)]


class Single(NamedTuple):
    """One file that is a target or a part of one; a named tuple, since there may be very many."""

    target: Shard | CacheFolder
    path: str

    @property
    def plain(self) -> dict[str, Any]:
        """The file as a process is told of it."""
        if isinstance(self.target, Shard):
            return {"type": "Shard", "path": self.path, "captions": _plain(self.target.captions)}
        return {"type": "CacheContent", "path": self.path}


@dataclass(slots=True, kw_only=True)
class Prepared:
    """All that is to be asked."""

    items: list[Item] = field(default_factory=list)
    """Code, sources and machines."""

    singles: list[Single] = field(default_factory=list)
    """Shards, which become items when it is their turn."""

    deep: list[Single] = field(default_factory=list)
    """Cached files whose numbers are looked at, when it is their turn."""

    caches: dict[str, CacheGathering] = field(default_factory=dict)
    """By their paths, folders of cached files, which become items when it is their turn."""

    gatherings: list[Gathering] = field(default_factory=list)
    """Folders of images, whose images become items when it is their turn."""

    @property
    def files(self) -> int:
        """How many things there are."""
        return (
            len(self.items)
            + len(self.singles)
            + len(self.deep)
            + sum(one.files for one in self.gatherings)
            + sum(len(one.listing.files) for one in self.caches.values())
        )


@dataclass(slots=True, kw_only=True)
class Preparing:
    """Makes items of targets."""

    job: Job
    memory: Memory
    samples: Mapping[str, Sample]
    """By the paths of folders, how many of their images are to be looked at."""

    datasets: Iterable[Dataset] = ()
    """Data sets of the settings, of which caches may be made."""

    prepared: Prepared = field(default_factory=Prepared)

    def add(self, target: Target) -> Iterator[Look]:
        """Say what is to be asked about a target, and tell what cannot be listed."""
        name = discover.target_name(target, self.job.root)
        try:
            match target:
                case CacheFolder():
                    yield from self._add_cache(target)
                case Folder():
                    yield from self._add_folder(target)
                case Built():
                    given = {"args": to_exact(target.args), "kwargs": to_exact(target.kwargs)}
                    bare = to_plain(replace(target, args=(), kwargs={}))
                    self._add(target, {"type": "Built", **bare, **given}, name)
                case Shard():
                    self.prepared.singles.append(Single(target, target.path))
                case _:
                    self._add(target, {"type": type(target).__name__, **to_plain(target)}, name)
        except OSError as error:
            yield from self._unreadable(name, reason_of(error), kinds_of(target))

    def _add(self, target: Target, plain: Mapping[str, object], name: str) -> None:
        seconds = seconds_for(plain, self.job.root, self.job.look.depth)
        kinds = kinds_of(target)
        item = Item(plain=plain, target=target, name=name, kinds=kinds, seconds=seconds)
        self.prepared.items.append(item)

    def _add_cache(self, target: CacheFolder) -> Iterator[Look]:
        from preflight.cached_files.listing import list_cache
        from preflight.caches.gather import CacheGathering

        listing = own_files(list_cache(target.path), target)
        if not (listing.files or listing.unreadable or target.without or target.entry is not None):
            yield Left(reason="none of its files is a cached one", kinds=kinds_of(target))
            return
        if self.job.look.deep:
            self.prepared.deep += [Single(target, path) for path in listing.files]
        if target.entry is not None:
            yield from self._add_keys(target, target.entry)
        known = self.prepared.caches.get(target.path)
        if known is not None:  # two entries of the settings say the same path
            known.same_as = known.same_as or same_as(target, self.job)
            return
        self.prepared.caches[target.path] = CacheGathering(
            target=target,
            listing=listing,
            root=self.job.root,
            memory=self.memory,
            depth=self.job.look.depth,
            same_as=same_as(target, self.job),
        )
        for path, reason in listing.unreadable:
            yield from self._unreadable(name_of(path, self.job.root), reason, (CacheFacts,))

    def _add_keys(self, target: CacheFolder, index: int) -> Iterator[Look]:
        """Ask whether the entries of a cache lead back to the samples that it was made of."""
        of = made_of(index, self.datasets, self.job)
        for sample in (_sample_of(one, self.job) for one in of if one.shards):
            if sample is not None:  # what the other shards hold, only they say
                yield Left(reason=_outside(sample), kinds=(CacheKeys,), noun=KEY_LIST)
                return
        if of:
            self.prepared.items.append(key_item(target, index, of, self.job))

    def _add_folder(self, target: Folder) -> Iterator[Look]:
        from preflight.images import folder

        image = {"type": "Image"}
        gathering = Gathering(
            target=target,
            root=self.job.root,
            listing=folder.list_folder(target, self.job.root),
            memory=self.memory,
            sample=self.samples.get(target.path),
            how=self.memory.how(image) or "",
            seconds_each=seconds_for(image, self.job.root, self.job.look.depth),
        )
        self.prepared.gatherings.append(gathering)
        for path, reason in gathering.listing.unreadable:
            yield from self._unreadable(name_of(path, self.job.root), reason, (FolderFacts,))
        if gathering.left_out:
            yield Left(
                reason=_outside(gathering.sample) if gathering.sample else "",
                kinds=(FolderFacts,),
                count=gathering.left_out,
                about="image",
                noun="image",
            )

    def _unreadable(self, name: str, reason: str, kinds: tuple[type, ...]) -> Iterator[Look]:
        yield Failed(at=Location(file=name), error=reason, kinds=kinds, fix=mend(reason))


@functools.cache
def _plain(rule: CaptionRule) -> Any:
    """Give a rule as a process is told of it: the same for all shards that go by it."""
    return to_plain(rule)


def item_of(single: Single, job: Job) -> Item:
    """Make an item of a file, when it is its turn."""
    plain = single.plain
    kinds: tuple[type, ...] = (
        (ShardFacts,) if isinstance(single.target, Shard) else (CacheContents,)
    )
    size, changed = stamp_of(os.path.join(job.root, single.path))
    return Item(
        plain=plain,
        target=single.target,
        name=name_of(single.path, job.root),
        kinds=kinds,
        seconds=seconds_for(plain, job.root, job.look.depth),
        size=size,
        changed=changed,
    )


def absent(target: Missing, job: Job) -> Absent:
    """Say what is missing, and what lies beside it."""
    return Absent(
        file=name_of(target.path, job.root),
        kind=target.kind,
        pattern=target.pattern,
        named_in=target.named_in,
        named_at=target.named_at,
        near=None if target.holds or target.pattern else near_path(target.path),
        holds=target.holds,
    )


def out_of_reach(target: Remote | Unread, job: Job) -> Failed:
    """Say of data that is not here, or cannot be listed, that nobody looked at it."""
    if isinstance(target, Unread):
        place = Location(file=name_of(target.path, job.root))
        reason = "this folder cannot be listed"
        return Failed(at=place, error=reason, kinds=KINDS[Unread], fix=READABLE)
    return Failed(
        at=Location(name=target.address),
        error="data behind an address or a command is not read by this version",
        kinds=KINDS[Remote],
        fix="Copy a shard of it here and name that, or leave it out:  "
        "--may-skip shard,sample,image",
    )


def samples_of(datasets: Iterable[Dataset], job: Job) -> dict[str, Sample]:
    """Say of the folders of which only a part is looked at how much that is."""
    found = {}
    for one in datasets:
        sample = _sample_of(one, job)
        if one.folder is not None and sample is not None:
            found[one.folder] = sample
    return found


def in_no_sample(datasets: Iterable[Dataset], job: Job) -> dict[str, str]:
    """Give the paths of shards that are not looked at, each with the reason."""
    left: dict[str, str] = {}
    kept: set[str] = set()
    for one in datasets:
        sample = _sample_of(one, job)
        shards = list(dict.fromkeys(one.shards))
        drawn = sample.draw(len(shards)) if sample is not None else None
        for place, path in enumerate(shards):
            if sample is None or drawn is None or place in drawn:
                kept.add(path)
            else:
                left[path] = _outside(sample)
    return {path: reason for path, reason in left.items() if path not in kept}


def _outside(sample: Sample) -> str:
    return f"outside the sample (--sample {sample.text})"


def _sample_of(dataset: Dataset, job: Job) -> Sample | None:
    data = job.data[dataset.entry] if dataset.entry is not None else DataSettings()
    text = data.sample or job.look.sample
    return None if text is None else parse_sample(text)
