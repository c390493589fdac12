"""Looks at all targets: says what processes are to be asked, and makes facts of their answers."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from preflight import asking, discover, facts
from preflight.check import Check
from preflight.facts import (
    Absent,
    CacheFacts,
    Copied,
    Facts,
    FolderFacts,
    HostFacts,
    ImageDamage,
    Loaded,
    Sent,
    ShardFacts,
    SourceFacts,
    Unbuilt,
)
from preflight.finding import Finding, Location
from preflight.job import Job
from preflight.ledger import Remembered
from preflight.memory import Memory, facts_in
from preflight.names import name_of
from preflight.plain import from_plain, to_exact, to_plain
from preflight.processes import Question
from preflight.runner import Cleared, Failed, Left, Look, Looked
from preflight.shares import seconds_for, shares
from preflight.targets import (
    Built,
    CacheFolder,
    Folder,
    Host,
    Missing,
    MistypedError,
    Remote,
    Shard,
    Source,
    Target,
    Unread,
)
from preflight.words import near_path

if TYPE_CHECKING:
    from preflight.readers import folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run has come."""

    done: int
    total: int
    name: str
    """What was looked at last."""


Watch: TypeAlias = Callable[[Progress | Finding], None]
"""Called with each step forward and with each finding, as it comes."""

KINDS: Mapping[type, tuple[type, ...]] = {
    Host: (HostFacts,),
    Source: (SourceFacts,),
    Shard: (ShardFacts,),
    Folder: (FolderFacts,),
    CacheFolder: (CacheFacts,),
    Built: (Sent, Loaded, Copied, Unbuilt),
    Missing: (Absent,),
    Remote: (ShardFacts, FolderFacts),
    Unread: (ShardFacts, FolderFacts, CacheFacts),
}
"""The types of facts that are to be had of each type of target."""


@dataclass(slots=True)
class _Item:
    """One thing that a process is asked about."""

    plain: Mapping[str, Any]
    target: Target
    name: str
    kinds: tuple[type, ...]
    part_of: _Gathering | None = None
    how: str | None = None
    """How its file is read, where what is seen in it may be remembered."""


@dataclass(slots=True)
class _Gathering:
    """A folder whose images are looked at one by one; its facts are put together at the end."""

    target: Folder
    listing: folder.FolderListing
    left: int
    """Images that are still to be read."""

    remembered: float | None = None
    """When the oldest of what is remembered was read, where all images are remembered."""

    damaged: list[ImageDamage] = field(default_factory=list)
    broken: list[Failed] = field(default_factory=list)


@dataclass(slots=True)
class Survey:
    """Looks at all targets, for the facts that some check wants."""

    job: Job
    checks: Mapping[str, Check]
    watch: Watch
    steps: dict[str, float] = field(default_factory=dict)
    """Seconds that single steps took, such as `import torch`."""

    seen: dict[str, Counter[str]] = field(default_factory=dict)
    """What was counted of each target that was asked about, by its repr: images, samples, files."""

    gave: dict[str, set[type]] = field(default_factory=dict)
    """The types of facts that came of each target, by its repr."""

    memory: Memory = field(init=False)
    """What earlier runs have seen."""

    def __post_init__(self) -> None:
        """Find what earlier runs have left."""
        self.memory = Memory(job=self.job)

    def looks(
        self, targets: Iterable[Target], *, meanwhile: Callable[[], None]
    ) -> Generator[Look, None, None]:
        """Give each look as it comes, and end every process when closed.

        Args:
            targets: all of them.
            meanwhile: called once, when the first processes are at work.
        """
        items: list[_Item] = []
        for target in targets:
            if isinstance(target, Missing):
                yield Looked(facts=self._absent(target))
                continue
            yield Cleared(kinds=(Absent,))
            if isinstance(target, Remote):
                yield self._remote(target)
            elif isinstance(target, Unread):
                place = Location(file=name_of(target.path, self.job.root))
                reason = "this folder cannot be listed"
                yield Failed(at=place, error=reason, kinds=KINDS[Unread], fix=_READABLE)
            elif self._wanted(target):
                self.seen[repr(target)] = Counter()
                yield from self._prepare(target, items)
        if self.job.launch.elsewhere:
            yield Left(reason="the job will run on another machine", kinds=(HostFacts,))
        try:
            left = yield from self._recall(items)
            yield from self._ask(left, meanwhile)
        finally:
            self.memory.ledger.write()

    def _wanted(self, target: Target) -> bool:
        """Whether a selected check is over facts that this target gives."""
        kinds = set(self._kinds(target))
        return any(not kinds.isdisjoint(one.over) for one in self._asking())

    def _asking(self) -> list[Check]:
        """Give the checks for whose sake a target is looked at: the selected ones."""
        selected = [one for one in self.checks.values() if not one.always]
        return selected or list(self.checks.values())

    def _kinds(self, target: Target) -> tuple[type, ...]:
        if isinstance(target, Built) and target.kind is not None:
            return (Sent, Loaded, Unbuilt) if target.kind == "loader" else (Copied, Unbuilt)
        return KINDS[type(target)]

    def _prepare(self, target: Target, items: list[_Item]) -> Iterator[Look]:
        """Say what has to be asked about a target; listing a folder is done here."""
        name = discover.target_name(target, self.job.root)
        kinds = self._kinds(target)
        try:
            match target:
                case CacheFolder():
                    yield from self._prepare_cache(target, items)
                case Folder():
                    yield from self._prepare_folder(target, items)
                case Built():
                    given = {"args": to_exact(target.args), "kwargs": to_exact(target.kwargs)}
                    bare = to_plain(replace(target, args=(), kwargs={}))
                    plain = {"type": "Built", **bare, **given}
                    items.append(_Item(plain=plain, target=target, name=name, kinds=kinds))
                case _:
                    plain = {"type": type(target).__name__, **to_plain(target)}
                    items.append(_Item(plain=plain, target=target, name=name, kinds=kinds))
        except OSError as error:
            reason = _reason(error)
            yield Failed(at=Location(file=name), error=reason, kinds=kinds, fix=_mend(reason))

    def _prepare_cache(self, target: CacheFolder, items: list[_Item]) -> Iterator[Look]:
        from preflight.readers import cache

        listing = cache.list_cache(target.path)
        for path in listing.files:
            plain = {"type": "CacheFile", "path": path}
            name = name_of(path, self.job.root)
            items.append(_Item(plain=plain, target=target, name=name, kinds=(CacheFacts,)))
        for path, reason in listing.unreadable:
            place = Location(file=name_of(path, self.job.root))
            yield Failed(at=place, error=reason, kinds=(CacheFacts,), fix=_mend(reason))

    def _prepare_folder(self, target: Folder, items: list[_Item]) -> Iterator[Look]:
        from preflight.readers import folder

        listing = folder.list_folder(target, self.job.root)
        how = self.memory.how({"type": "Image"}) or ""
        images = dict(listing.named_images())
        known = self.memory.recall(how, images)
        unknown = [path for path in images if path not in known]
        gathering = _Gathering(target=target, listing=listing, left=len(unknown))
        gathering.damaged += self._damaged(known)
        if known and not unknown:
            gathering.remembered = self.memory.oldest
        items += (
            _Item(
                plain={"type": "Image", "path": path},
                target=target,
                name=images[path],
                kinds=(FolderFacts,),
                part_of=gathering,
                how=how,
            )
            for path in unknown
        )
        for path, reason in listing.unreadable:
            place = Location(file=name_of(path, self.job.root))
            yield Failed(at=place, error=reason, kinds=(FolderFacts,), fix=_mend(reason))
        if not unknown:
            yield from self._gathered(gathering)

    def _absent(self, target: Missing) -> Absent:
        return Absent(
            file=name_of(target.path, self.job.root),
            kind=target.kind,
            pattern=target.pattern,
            named_in=target.named_in,
            named_at=target.named_at,
            near=None if target.holds or target.pattern else near_path(target.path),
            holds=target.holds,
        )

    def _remote(self, target: Remote) -> Failed:
        return Failed(
            at=Location(name=target.address),
            error="data behind an address or a command is not read by this version",
            kinds=KINDS[Remote],
            fix="Copy a shard of it here and name that, or leave it out:  "
            "--may-skip shard,sample,image",
        )

    # --- remembering

    def _recall(self, items: list[_Item]) -> Generator[Look, None, list[_Item]]:
        """Give what is remembered of single files, and return what has to be asked about."""
        by_how: dict[str, dict[str, _Item]] = {}
        for item in items:
            item.how = item.how or self.memory.how(item.plain)
            if item.how is not None and item.part_of is None:
                by_how.setdefault(item.how, {})[self._path(item)] = item
        known: set[int] = set()
        for how, files in by_how.items():
            for path, remembered in self.memory.recall(how, files).items():
                item = files[path]
                known.add(id(item))
                plains = facts_in(remembered, item.name)
                yield from self._answered(item, plains, read_at=remembered.read_at)
        return [item for item in items if id(item) not in known]

    def _damaged(self, known: Mapping[str, Remembered]) -> Iterator[ImageDamage]:
        """Give what is remembered of images that are not whole."""
        for path, remembered in known.items():
            if remembered.facts is not None:
                plains = facts_in(remembered, name_of(path, self.job.root))
                yield from map(_facts_of, plains)

    def _path(self, item: _Item) -> str:
        """Give the path of an item's file, as it can be opened."""
        return os.path.join(self.job.root, item.plain["path"])

    # --- asking

    def _ask(self, items: list[_Item], meanwhile: Callable[[], None]) -> Iterator[Look]:
        """Ask processes about all items, and give what they say."""
        jobs = self.job.look.jobs or _processors()
        total, done = len(items), 0
        batches = _batches(items, self.job, self._wants(), jobs)
        timeout = self.job.look.timeout

        def both() -> None:
            meanwhile()
            self.memory.ledger.prepare()

        for result in asking.ask(batches, jobs=jobs, timeout=timeout, meanwhile=both):
            match result:
                case asking.Took():
                    self.steps[result.step] = round(
                        self.steps.get(result.step, 0.0) + result.seconds, 3
                    )
                case asking.Answer():
                    done += 1
                    item = items[result.key]
                    self.watch(Progress(done=done, total=total, name=item.name))
                    if item.how is not None:
                        self.memory.keep(item.how, self._path(item), result.facts)
                    yield from self._answered(item, result.facts)
                case asking.Fault():
                    done += 1
                    yield from self._failed(items[result.key], result)

    def _wants(self) -> tuple[str, ...]:
        """Name the types of facts that a selected check is over."""
        return tuple({kind.__name__ for one in self._asking() for kind in one.over})

    def _answered(
        self, item: _Item, plains: Iterable[Mapping[str, Any]], *, read_at: float | None = None
    ) -> Iterator[Look]:
        found = [_facts_of(plain) for plain in plains]
        if item.part_of is not None:
            item.part_of.damaged += found
            yield from self._one_less(item.part_of)
            return
        for one in found:
            self._see(item.target, one)
            yield from _unparsable(item, one) or [Looked(facts=one, read_at=read_at)]
        if isinstance(item.target, Built) and not any(isinstance(one, Unbuilt) for one in found):
            yield Cleared(kinds=(Unbuilt,))

    def _failed(self, item: _Item, fault: asking.Fault) -> Iterator[Look]:
        if fault.mistyped:
            raise MistypedError(fault.error)
        in_code = isinstance(item.target, (Built, Host))
        place = Location(name=item.name) if in_code else Location(file=item.name)
        failed = Failed(at=place, error=fault.error, kinds=item.kinds, fix=fault.fix)
        if item.part_of is None:
            yield failed
            return
        item.part_of.broken.append(failed)
        yield failed
        yield from self._one_less(item.part_of)

    def _one_less(self, gathering: _Gathering) -> Iterator[Look]:
        gathering.left -= 1
        if gathering.left == 0:
            yield from self._gathered(gathering)

    def _gathered(self, gathering: _Gathering) -> Iterator[Look]:
        damaged = tuple(sorted(gathering.damaged, key=lambda one: one.name))
        from preflight.readers import folder

        found = folder.folder_facts(gathering.listing, damaged)
        self._see(gathering.target, found)
        yield Looked(facts=found, read_at=gathering.remembered)

    def _see(self, target: Target, found: Facts) -> None:
        """Count what was seen of a target."""
        counter = self.seen[repr(target)]
        self.gave.setdefault(repr(target), set()).add(type(found))
        match found:
            case ShardFacts():
                counter["shard"] += 1
                counter["sample"] += found.samples
            case FolderFacts():
                counter["image"] += found.pairing.images
                counter["caption"] += found.pairing.captions
            case SourceFacts() | CacheFacts():
                counter["file"] += getattr(found, "files", 1)
            case Sent():
                counter["worker"] += found.num_workers
            case Copied():
                counter["parameter"] += found.parameters


def _unparsable(item: _Item, found: Facts) -> list[Look]:
    """Say of a single source that it could not be read; of a folder it may hold other languages."""
    if not isinstance(found, SourceFacts) or found.is_folder or not found.unreadable:
        return []
    if isinstance(item.target, Source) and item.target.implied:
        return [Left(reason="cannot be parsed, as its import says", kinds=item.kinds)]
    return [
        Failed(
            at=Location(file=file, line=int(line) if line else None),
            error=reason,
            kinds=item.kinds,
            fix="Mend it, or look with the job's own interpreter:  preflight run --python EXE",
        )
        for file, line, reason in found.unreadable
    ]


def _facts_of(plain: Mapping[str, Any]) -> Any:
    """Build the facts that a process gave as plain values."""
    kind = getattr(facts, plain["type"])
    return from_plain(kind, {key: value for key, value in plain.items() if key != "type"})


def _batches(items: list[_Item], job: Job, wants: tuple[str, ...], jobs: int) -> list[asking.Batch]:
    """Put items together into questions: the user's code first, since it takes longest to start."""
    options = {**discover.plain_options(job), "wants": wants}
    code = [key for key, item in enumerate(items) if isinstance(item.target, Built)]
    light = [key for key, item in enumerate(items) if isinstance(item.target, (Host, Source))]
    apart = {*code, *light}
    batches = []
    folders = dict.fromkeys(_folder_of(items[key]) for key in code)
    for place in folders:
        keys = [key for key in code if _folder_of(items[key]) == place]
        question = Question(
            items=tuple(items[key].plain for key in keys),
            options=options,
            python=job.python,
            folder=place,
            starts_others=True,
        )
        batches.append(asking.Batch(question=question, keys=tuple(keys)))
    files = [key for key in range(len(items)) if key not in apart] + light
    seconds = [seconds_for(items[key].plain, job.root, job.look.depth) for key in files]
    for share in shares(seconds, jobs):
        keys = [files[index] for index in share]
        question = Question(
            items=tuple(items[key].plain for key in keys), options={**options, "limited": True}
        )
        batches.append(asking.Batch(question=question, keys=tuple(keys)))
    return batches


def _folder_of(item: _Item) -> str | None:
    return item.target.folder if isinstance(item.target, Built) else None


def _processors() -> int:
    """Cores that we may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_READABLE = "Give the user that runs the job the right to read it."


def _mend(reason: str) -> str:
    """Say what to do about a file that cannot be read."""
    if "ermission" in reason:
        return _READABLE
    return "Put back what it should be, or take it out of the folder."


def _reason(error: OSError) -> str:
    return f"{error.strerror or error} ({type(error).__name__})"
