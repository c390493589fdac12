"""Looks at all targets: asks processes about them, and makes facts of their answers."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from preflight.cached_files.facts import CacheFacts
from preflight.datasets.facts import DatasetFacts
from preflight.datasets.gather import Collector
from preflight.findings.check import Check, Facts
from preflight.findings.finding import Location
from preflight.findings.judge import Cleared, Failed, Left, Look, Looked
from preflight.host.facts import HostFacts
from preflight.images.facts import FolderFacts
from preflight.images.gather import Gathering, PartItem
from preflight.ledger.recall import NOUNS, Memory, facts_in
from preflight.processes import ask as asking
from preflight.processes.shares import processors, seconds_for, workers_for
from preflight.session.answers import facts_of, unparsable, unread_videos
from preflight.session.counts import Seen
from preflight.session.items import CachePart, Item, about_code, about_files
from preflight.session.progress import Account, Watch
from preflight.session.questions import (
    KEY_LIST,
    Preparing,
    Single,
    absent,
    in_no_sample,
    item_of,
    kinds_of,
    out_of_reach,
    samples_of,
)
from preflight.settings.job import Job
from preflight.shards.facts import ShardFacts
from preflight.targets import discover
from preflight.targets.facts import Absent
from preflight.targets.targets import (
    Built,
    CacheFolder,
    Dataset,
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
from preflight.tensors.facts import CacheContents, Content
from preflight.users_code.facts import Unbuilt

# Files that are looked up in the ledger at once.
_AT_ONCE = 1_024

# Seconds that the import of torch takes, about.
_TORCH = 1.5

# Folders of images of which some are asked whether they are in memory.
_FOLDERS = 16


@dataclass(slots=True)
class Survey:
    """Looks at all targets, for the facts that some check wants."""

    job: Job
    checks: Mapping[str, Check]
    watch: Watch
    steps: dict[str, float] = field(default_factory=dict)
    """Seconds that single steps took, such as `import torch`."""

    seen: Seen = field(default_factory=Seen)
    """What was counted of each target that was asked about."""

    memory: Memory = field(init=False)
    """What earlier runs have seen."""

    _preparing: Preparing = field(init=False)
    _collector: Collector = field(init=False)
    _account: Account = field(init=False)
    _come: list[Look] = field(default_factory=list)
    """Looks that came while questions were made."""

    def __post_init__(self) -> None:
        """Find what earlier runs have left."""
        self.memory = Memory(job=self.job)

    def looks(
        self, targets: Iterable[Target], *, datasets: Iterable[Dataset] = ()
    ) -> Generator[Look, None, None]:
        """Give each look as it comes, and end every process when closed.

        Args:
            targets: all of them.
            datasets: which of them belong together.
        """
        datasets = tuple(datasets)
        self._collector = Collector(datasets if self._wanted(DatasetFacts) else ())
        self._preparing = Preparing(
            job=self.job,
            memory=self.memory,
            samples=samples_of(datasets, self.job),
            datasets=datasets,
        )
        yield from self._prepare(targets, in_no_sample(datasets, self.job))
        if self.job.launch.elsewhere:
            yield Left(reason="the job will run on another machine", kinds=(HostFacts,))
        prepared = self._preparing.prepared
        self._account = Account(total=prepared.files, watch=self.watch)
        try:
            singles = yield from self._recall(prepared.singles)
            yield from self._recall_caches()
            deep = yield from self._recall(prepared.deep if self._wanted(CacheContents) else [])
            yield from self._ask(singles, deep)
            yield from self._put_together()
        finally:
            for cache in prepared.caches.values():
                cache.keep()
            self.memory.ledger.write()

    def _wanted(self, *kinds: type) -> bool:
        """Whether a selected check is over one of these types of facts."""
        return any(not set(kinds).isdisjoint(one.over) for one in self._asking())

    def _asking(self) -> list[Check]:
        """Give the checks for whose sake a target is looked at: the selected ones."""
        selected = [one for one in self.checks.values() if not one.always]
        return selected or list(self.checks.values())

    def _prepare(self, targets: Iterable[Target], left_out: Mapping[str, str]) -> Iterator[Look]:
        """Say what has to be asked, and tell what nobody can be asked about."""
        for target in targets:
            if isinstance(target, Missing):
                yield Looked(facts=absent(target, self.job), count=1 + target.more)
                continue
            yield Cleared(kinds=(Absent,))
            if isinstance(target, (Remote, Unread)):
                yield out_of_reach(target, self.job)
            elif self._wanted(*kinds_of(target)) or self._tells_of_data(target):
                self.seen.begin(target)
                if isinstance(target, Shard) and target.path in left_out:
                    reason = left_out[target.path]
                    yield Left(reason=reason, kinds=(ShardFacts,), noun="shard")
                else:
                    yield from self._preparing.add(target)

    def _tells_of_data(self, target: Target) -> bool:
        """Whether it is a source that may say how the shards of a data set are drawn."""
        return isinstance(target, Source) and any(one.dataset.shards for one in self._collector.all)

    # --- remembering

    def _recall(self, singles: list[Single]) -> Generator[Look, None, list[Single]]:
        """Give what is remembered of single files, and return those that have to be read."""
        if not self.memory.ledger.holds_something:
            self._account.expected += sum(map(self._seconds, singles))
            return singles
        left: list[Single] = []
        for begin in range(0, len(singles), _AT_ONCE):
            items: dict[str, dict[str, tuple[Item, Single]]] = {}
            for single in singles[begin : begin + _AT_ONCE]:
                item = item_of(single, self.job)
                how = self.memory.how(item.plain) or ""
                items.setdefault(how, {})[self._path(item)] = item, single
            for how, files in items.items():
                known = self.memory.recall(how, files, expect=False)
                for path, (item, single) in files.items():
                    if path not in known:
                        left.append(single)
                        self._account.expected += item.seconds
                        continue
                    self._account.passed(1)
                    plains = facts_in(known[path], item.name)
                    yield from self._answered(item, plains, read_at=known[path].read_at)
        return left

    def _recall_caches(self) -> Iterator[Look]:
        for cache in self._preparing.prepared.caches.values():
            if self.memory.ledger.holds_something:
                yield from self._of_cache(cache.target, cache.recall())
                self._account.passed(len(cache.listing.files) - cache.left)
            self._account.expected += cache.seconds

    def _of_cache(self, target: Target, looks: Iterable[Look]) -> Iterator[Look]:
        """Count what is said of cached files, and pass it on."""
        for look in looks:
            if isinstance(look, Looked):
                self.seen.take(target, look.facts)
            yield look

    def _path(self, item: Item) -> str:
        """Give the path of an item's file, as it can be opened."""
        return os.path.join(self.job.root, item.plain["path"])

    # --- asking

    def _ask(self, singles: list[Single], deep: list[Single]) -> Iterator[Look]:
        """Ask processes about all items, and give what they say."""
        jobs = self.job.look.jobs or workers_for(list(self._some(singles)), processors())
        budget = self.job.look.budget
        results = asking.ask(
            self._questions(singles, deep, jobs),
            jobs=jobs,
            timeout=self.job.look.timeout,
            until=None if budget is None else time.monotonic() + budget,
        )
        for result in results:
            match result:
                case asking.Took():
                    took = self.steps.get(result.step, 0.0) + result.seconds
                    self.steps[result.step] = round(took, 3)
                case asking.Answer():
                    yield from self._heard(result.key, result.facts)
                case asking.Fault():
                    yield from self._failed(result.key, result)
                case asking.Unasked():
                    yield from self._left(result.key)
            yield from self._come
            self._come.clear()
        yield from self._come

    def _some(self, singles: list[Single]) -> Iterator[str]:
        """Give the paths of some of the files that are to be read."""
        yield from (os.path.join(self.job.root, one.path) for one in singles[:_AT_ONCE])
        for cache in self._preparing.prepared.caches.values():
            yield from cache.paths_left(_AT_ONCE)
        if self.memory.ledger.holds_something:
            return  # most images are known by now, and are not read
        for gathering in self._preparing.prepared.gatherings:
            for contents in gathering.listing.contents[:_FOLDERS]:
                for name in contents.image_names()[:_AT_ONCE]:
                    yield os.path.join(contents.path, name)

    def _questions(
        self, singles: list[Single], deep: list[Single], jobs: int
    ) -> Iterator[asking.Batch]:
        """Make questions: the user's code first, since it takes longest to start."""
        prepared, options = self._preparing.prepared, self._options()
        light = [item for item in prepared.items if not item.is_code]
        self._account.expected += sum(item.seconds for item in light)
        self._account.expected += sum(one.images * one.seconds_each for one in prepared.gatherings)
        yield from about_code(prepared.items, options, self.job)
        files, apart = self._in_turn(singles, light), self.job.look.budget is not None
        total = self._account.expected
        yield from about_files(files, options, total=total, jobs=jobs, apart=apart)
        total = sum(self._seconds(single) for single in deep)
        # To import torch takes longer than most caches: one process more has to be worth it.
        jobs = min(jobs, 1 + int(total / _TORCH))
        yield from about_files(map(self._expected, deep), options, total=total, jobs=jobs)

    def _options(self) -> dict[str, Any]:
        """Give what a process is told of the job."""
        wants = {kind.__name__ for one in self._asking() for kind in one.over}
        return {**discover.plain_options(self.job), "wants": tuple(wants)}

    def _in_turn(self, singles: list[Single], light: list[Item]) -> Iterator[Item]:
        """Give shards, then what is found when it is its turn: cached files, images of folders."""
        yield from map(self._expected, singles)
        for cache in self._preparing.prepared.caches.values():
            yield from cache.parts()
        for one in self._preparing.prepared.gatherings:
            yield from one.items(self._account.passed)
            self._gathered(one)
        yield from light

    def _expected(self, single: Single) -> Item:
        """Make an item of a file, when it is its turn, and note what the file looks like."""
        item = item_of(single, self.job)
        item.how = self.memory.how(item.plain)
        if item.how is not None:
            self.memory.ledger.expect(item.how, self._path(item))
        return item

    def _seconds(self, single: Single) -> float:
        """Give how long a process is likely to look at a file."""
        return seconds_for(single.plain, self.job.root, self.job.look.depth)

    def _heard(self, item: Item, plains: tuple[Mapping[str, Any], ...]) -> Iterator[Look]:
        """Take in what a process says of an item."""
        if isinstance(item, CachePart):
            yield from self._of_cache(item.target, item.whole.heard(item, facts_of(plains[0])))
            self._account.did(item, len(item))
            return
        self._account.did(item)
        noted = item.how is not None and self.memory.keep(item.how, self._path(item), plains)
        if isinstance(item, PartItem):
            item.whole.answered(item, plains, noted=noted)
            self._gathered(item.whole)
        else:
            yield from self._answered(item, plains)

    def _answered(
        self, item: Item, plains: Iterable[Mapping[str, Any]], *, read_at: float | None = None
    ) -> Iterator[Look]:
        found = [facts_of(plain) for plain in plains]
        for one in found:
            if isinstance(one, Content) and isinstance(item.target, CacheFolder):
                self._preparing.prepared.caches[item.target.path].contents.append(one)
                continue
            self._see(item.target, one)
            looks = unparsable(item.target, item.kinds, one)
            yield from looks or [Looked(facts=one, read_at=read_at)]
            yield from unread_videos(one)
        if isinstance(item.target, Built) and not any(isinstance(one, Unbuilt) for one in found):
            yield Cleared(kinds=(Unbuilt,))

    def _failed(self, item: Item, fault: asking.Fault) -> Iterator[Look]:
        if fault.mistyped:
            raise MistypedError(fault.error)
        if isinstance(item, CachePart):
            self._account.did(item, len(item))
            yield from (item.whole.failed(at, fault.error, fault.fix) for at in item.places)
            return
        self._account.did(item)
        in_code = isinstance(item.target, (Built, Host))
        place = Location(name=item.name) if in_code else Location(file=item.name)
        yield Failed(at=place, error=fault.error, kinds=item.kinds, fix=fault.fix)
        if isinstance(item, PartItem):
            item.whole.failed(item)
            self._gathered(item.whole)

    def _left(self, item: Item) -> Iterator[Look]:
        """Say that nobody came to an item in the time that there was."""
        reason = f"the budget of {self.job.look.budget:g} s was used up"
        if isinstance(item, CachePart):
            yield Left(reason=reason, kinds=item.kinds, count=len(item), noun=NOUNS["CacheFiles"])
            return
        kind = item.plain["type"]
        about = "image" if kind == "Image" else None
        noun = KEY_LIST if kind == "CacheKeys" else NOUNS.get(kind, "target")
        yield Left(reason=reason, kinds=item.kinds, about=about, noun=noun)
        if isinstance(item, PartItem):
            item.whole.failed(item)
            self._gathered(item.whole)

    def _gathered(self, gathering: Gathering) -> None:
        """Give the facts of a folder, once all its images are answered."""
        if gathering.left:
            return
        found = gathering.facts()
        self._see(gathering.target, found)
        read_at = None if gathering.read else gathering.oldest
        self._come += [Looked(facts=found, read_at=read_at), *unread_videos(found)]

    def _put_together(self) -> Iterator[Look]:
        """Give the facts of data sets, whose parts have all been looked at."""
        batches = self._collector.questions(self._options())
        jobs, timeout = self.job.look.jobs or processors(), self.job.look.timeout
        for result in asking.ask(batches, jobs=jobs, timeout=timeout):
            if isinstance(result, asking.Answer):
                self._collector.named(result.key, map(facts_of, result.facts))
        for cache in self._preparing.prepared.caches.values():
            if appeared := cache.appeared():
                reason = "put there while the others were looked at"
                yield Left(reason=reason, kinds=(CacheFacts,), count=appeared)
            for reason, count in cache.unread().items():
                yield Left(reason=reason, kinds=(CacheContents,), count=count)
            yield Looked(facts=cache.facts())
            more = (Looked(facts=one) for one in cache.more_facts())
            yield from self._of_cache(cache.target, more)
        for one in self._collector.all:
            yield Looked(facts=one.facts(self.job.root, self._collector.resampled))

    def _see(self, target: Target, found: Facts) -> None:
        """Count what was seen of a target."""
        self.seen.take(target, found)
        self._collector.hear(found)
        if isinstance(target, (Shard, Folder)) and isinstance(found, (ShardFacts, FolderFacts)):
            self._collector.take(target.path, found)
