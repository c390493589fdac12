"""Holds the first batches of loaders against what else was seen of these loaders."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from preflight.batches.facts import NO_TIME, CountedInScript, Drawn, FirstBatches, OnTheWay
from preflight.batches.pass_facts import Further, RandomDraws, WholePass
from preflight.batches.use_in_loops import gone_over_again, taken_for, untold_epochs
from preflight.findings.looks import Failed, Left, Look, Looked
from preflight.flow.defer import MISSING, both_told, has_had_all, starves, tells_missing
from preflight.flow.facts import Flow
from preflight.host.facts import HostFacts
from preflight.kinds.gather import Gather, Run
from preflight.kinds.kind import Kind
from preflight.kinds.target import Target
from preflight.loaders.facts import Sent
from preflight.pipelines.facts import Reads, Shifted, Survival
from preflight.pipelines.survival import together
from preflight.sheets.facts import Sheet
from preflight.sheets.shown import shown_in
from preflight.sources.facts import SourceFacts
from preflight.sources.flaws.facts import BatchLoop
from preflight.targets.folders import may_be_there
from preflight.targets.targets import Host, Source

FACTS = (FirstBatches, WholePass, RandomDraws, Flow)
NO_BATCH = "its first batches did not come"
NOT_ANEW = "a live object cannot be made anew, so none of its batches was drawn"
_MADE_EACH_TIME = (
    "Have it give a loader each time that it is called, also in several processes, or raise "
    "--timeout; --depth index looks at it without drawing from it."
)

# What torch and Python say where neither shared memory nor a descriptor is to be had.
_SIGNS = re.compile(
    r"Too many open files|received \d+ items of ancdata|out of shared memory"
    r"|(?:unable to|could not) .*(?:shm|</torch_).*",
)

_SIGBUS = -7


class Batches(Gather):
    """All loaders of a run from which batches were drawn."""

    def __init__(self, kind: Kind, run: Run) -> None:
        super().__init__(kind, run)
        self._drawn: list[tuple[Target, FirstBatches]] = []
        self._flows: dict[tuple[Target, str], Flow] = {}
        self._further: dict[tuple[Target, str], Further] = {}
        self._survivals: dict[tuple[Target, str], Survival] = {}
        self._shifted: dict[tuple[Target, str], Shifted] = {}
        self._gone: dict[tuple[Target, str], list[str]] = {}
        """Names of shards that loaders open and that are not there, which another check tells."""

        self._loops: list[BatchLoop] = []
        self._host: HostFacts | None = None
        self._empty: set[tuple[Target, str]] = set()
        """Loaders whose lengths say already that no batch comes."""

        self._live = 0
        self._in_scripts: list[tuple[Target, Flow]] = []

    def needs(self, target: Target) -> bool:
        """Whether sources say what takes batches apart, or the machine how much room there is."""
        return isinstance(target, (Source, Host))

    def add(self, _target: Target) -> Iterator[Look]:
        """Leave targets to the rows whose readers draw."""
        yield from ()

    def _hear_of_files(self, target: Target, facts: Survival | Reads) -> None:
        if isinstance(facts, Survival):
            key = target, facts.reads.loader
            self._survivals[key] = together(self._survivals.get(key), facts)
            return
        if facts.shifted is not None:
            self._shifted[target, facts.name] = facts.shifted
        if not self.run.job.launch.elsewhere:
            here = (one for one in facts.shards if os.path.isabs(one))
            gone = [os.path.basename(one) for one in here if not may_be_there(one)]
            if gone:
                self._gone.setdefault((target, facts.loader), []).extend(gone)

    def hear(self, target: Target, facts: object) -> None:
        """Take in what was drawn, and what is known of how many samples come through."""
        if isinstance(facts, Drawn):
            self._drawn.append((target, facts.first))
            self._count(target, facts.flow)
        elif isinstance(facts, Further):
            self._count(target, facts.flow)
            for one in (facts.whole, facts.draws):
                if one is not None:
                    self._further[target, one.name] = facts
        elif isinstance(facts, CountedInScript):
            self._in_scripts.append((target, facts.flow))
        elif isinstance(facts, (Survival, Reads)):
            self._hear_of_files(target, facts)
        elif isinstance(facts, HostFacts):
            self._host = facts
        elif isinstance(facts, SourceFacts):
            self._loops.extend(facts.loops)
        elif isinstance(facts, Sent):
            self._hear_of_length(target, facts)

    def _hear_of_length(self, target: Target, facts: Sent) -> None:
        self._live += not self.run.targets
        if facts.epoch is not None and not facts.epoch.batches:
            self._empty.add((target, facts.name))

    def _count(self, target: Target, flow: Flow | None) -> None:
        """Keep the epoch that was run to its end, or else what saw the most."""
        before = None if flow is None else self._flows.get((target, flow.name))
        if flow is not None and (
            before is None or flow.ended == "over" or flow.entered > before.entered
        ):
            self._flows[target, flow.name] = flow

    def finish(self) -> Iterator[Look]:
        """Give what was drawn of each loader, when all else is known."""
        for target, first in self._drawn:
            unseen = _unseen(first, target, self.run.job.root)
            if unseen is not None:
                yield unseen
                continue
            gone = self._gone.get((target, first.name), [])
            further = _told(self._further.get((target, first.name), Further()), gone)
            if (target, first.name) in self._empty and _gives_none(first):
                first, further = _as_over(first), Further()  # noqa: PLW2901  it is the same
            taken = taken_for(first, target, self._loops, self.run.job)
            further = further._replace(
                whole=gone_over_again(further.whole, taken),
                draws=untold_epochs(further.draws, taken),
            )
            flow = self._flows.get((target, first.name))
            if further.whole is not None and tells_missing(flow):
                further = further._replace(whole=replace(further.whole, takes=None, dropped=None))
            yield from beyond_first(target, further, self.run.wants, _why_not(first))
            first = _as_far_as(first, further)  # noqa: PLW2901  it is the same, and more
            survival = self._survivals.get((target, first.name))
            told = survival is not None and _tells(survival, first)
            way = None if self._host is None else there(first.on_the_way, self._host)
            told_by = "dataset-survival" if told else ""
            if _lacks_a_shard(first, gone):
                told_by = MISSING
            if flow is not None:
                flow = both_told(flow, survival, opening=bool(gone))
                told_by = told_by or starves(flow)
                yield Looked(facts=flow, target=target)
            if not told and way is not None and _is_exhausted(first):
                told_by = "loader-shm"
            if first.ended == "over" and (target, first.name) in self._empty:
                told_by = "loader-end"
            shifted = self._shifted.get((target, first.name))
            facts = replace(
                first, told_by=told_by, taken_for=taken, on_the_way=way, shifted=shifted
            )
            yield Looked(facts=facts, target=target)
        yield from self._of_scripts()
        if self._live:
            yield Left(reason=NOT_ANEW, kinds=FACTS, count=self._live)

    def _of_scripts(self) -> Iterator[Look]:
        """Give what scripts have counted, and say where that is not all."""
        for target, flow in self._in_scripts:
            survival = self._survivals.get((target, flow.name))
            opening = bool(self._gone.get((target, flow.name)))
            yield Looked(facts=both_told(flow, survival, opening=opening), target=target)
            if flow.why and not has_had_all(flow, survival):
                reason = f"not all that goes through {flow.name} was counted: {flow.why}"
                yield Left(reason=reason, kinds=(Flow,), noun="pipeline")

    def remarks(self) -> Iterator[str]:
        """Say which batches are shown, where that was asked for, and why others are not."""
        if self.run.job.look.show_batch is not None:
            sheets = [
                (first.name, first.sheet or Sheet(reason=first.reason or "none came"))
                for _, first in self._drawn
            ]
            yield from shown_in(self.run.job.look.show_batch, sheets, self.run.job.root)


def _unseen(first: FirstBatches, target: Target, root: str) -> Look | None:
    """Say of a loader of which nothing is known why that is so."""
    fix = "Run preflight where the job runs."
    if first.ended == "not-drawn":
        noun = "first batch" if first.reason == NO_TIME else None
        return Left(reason=first.reason, kinds=FACTS, noun=noun, target=target)
    if first.ended == "not-made":
        error, fix = f"none of its batches was drawn: {first.reason}", _MADE_EACH_TIME
    elif first.ended == "no-batch":
        error, fix = first.reason, "Name what gives a DataLoader, a Dataset, or batches of tensors."
    elif first.lacks is not None:
        said = first.error.splitlines()[0]
        error = f"it needs {first.lacks.name}, which is not here, so that no batch came: {said}"
    else:
        return None
    return Failed(at=target.place(root), error=error, kinds=FACTS, fix=fix)


def _gives_none(first: FirstBatches) -> bool:
    return {one.kind for one in first.batches} == {"none"}


def _as_over(first: FirstBatches) -> FirstBatches:
    """Say of a loader without batches that its epoch was over.

    That of accelerate before 1.9 gives a None then, and raises UnboundLocalError.
    """
    return replace(first, batches=(), ended="over", error="", frames=())


def _why_not(first: FirstBatches) -> str:
    """Say why nothing was seen of a loader beyond its first batches, where nothing was."""
    if first.batches and first.ended not in ("enough", "over"):
        return "not all of its first batches came"
    return first.left or NO_BATCH


def beyond_first(
    target: Target, further: Further, wants: Callable[[type], bool], why_not: str = NO_BATCH
) -> Iterator[Look]:
    """Give what was seen of a loader beyond its first batches, or why nothing was."""
    for kind, facts in ((WholePass, further.whole), (RandomDraws, further.draws)):
        if facts is None and wants(kind):
            yield Left(reason=why_not, kinds=(kind,))
        elif facts is not None and facts.reason and not _has_order(facts):
            yield Left(reason=facts.reason, kinds=(kind,))
        elif isinstance(facts, WholePass) and facts.lacks is not None:
            yield Left(reason=f"it needs {facts.lacks.name}, which is not here", kinds=(kind,))
        elif facts is not None:
            yield Looked(facts=facts, target=target)


def _has_order(facts: WholePass | RandomDraws) -> bool:
    return isinstance(facts, RandomDraws) and (facts.order or facts.seeded) is not None


def _as_far_as(first: FirstBatches, further: Further) -> FirstBatches:
    if further.draws is not None:
        first = replace(first, changing=further.draws.changing)
    whole = further.whole
    if whole is None or not whole.epochs:
        return first
    epoch = whole.epochs[0]
    if first.on_the_way is not None:
        way = first.on_the_way._replace(heaviest=whole.heaviest, heaviest_at=whole.heaviest_at)
        first = replace(first, on_the_way=way)
    if whole.lacking and whole.printed_before:  # a thread's death, which is told of the epoch
        first = replace(first, printed=tuple(one for one in first.printed if not one.is_of_thread))
    past_end = epoch.batches if whole.is_past_the_end else None
    return replace(
        first, past_end=past_end, furthest=epoch.batches, rows=epoch.rows, forms=whole.forms
    )


def there(way: OnTheWay | None, host: HostFacts) -> OnTheWay | None:
    """Say how much room there is on the machine of the job, which may be a recorded one."""
    if way is None or not host.recorded:
        return way
    return way._replace(shm_free=host.shm_free, shm_size=host.shm_size, open_files=host.open_files)


def _told(further: Further, gone: Iterable[str]) -> Further:
    """Say of a pass which check tells already what ended it."""
    whole = further.whole
    if whole is None or not _lacks_a_shard(whole, gone):
        return further
    return further._replace(whole=replace(whole, told_by=MISSING))


def _lacks_a_shard(seen: FirstBatches | WholePass, gone: Iterable[str]) -> bool:
    error = seen.error
    return error.startswith("FileNotFoundError") and any(one in error for one in gone)


def _tells(survival: Survival, first: FirstBatches) -> bool:
    """Whether what the files say explains that no batch came."""
    hows = {one.how for one in survival.losses}
    if first.ended == "raised":
        return "raises" in hows
    return bool(survival.losses) and not survival.through and not first.batches


def _is_exhausted(first: FirstBatches) -> bool:
    """Whether it ended for want of shared memory or open files, and not by a line of the user's."""
    if first.ended not in ("raised", "died", "stuck") or not first.num_workers:
        return False
    if first.ended == "died" and first.exit_status == _SIGBUS and first.worker is not None:
        return True
    said = [(first.error, first.frames), *((one.error, one.frames) for one in first.printed)]
    return any(_SIGNS.search(error) and not frames for error, frames in said)
