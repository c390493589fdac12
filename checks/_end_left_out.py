"""Tells samples that are in no batch, though the loader asks for them, or never asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from preflight.facts import ArchivesRead, Dropped, LeftBehind, LostBatches, WholePass
from preflight.finding import Finding, Location, Severity
from preflight.values.names import counted, shown

from ._evaluation import is_evaluation

_EACH_ONCE = (
    "Have __iter__ of the sampler give each index once; or draw anew for each epoch, by set_epoch "
    "or a generator."
)

# Part of the samples below which it is worth no more than a note that they are never taken.
_FEW = 0.01


def left_out(
    found: Callable[..., Finding],
    facts: WholePass,
    place: Location,
    evidence: Mapping[str, str | int | float],
) -> Iterator[Finding]:
    """Tell what batches lack, and what the sampler does."""
    if facts.left_behind is not None:
        yield _left_behind(found, facts, evidence, facts.left_behind)
    if facts.lost is not None:
        yield _lost(found, facts, place, evidence, facts.lost)
    if facts.archives is not None and facts.archives.left:
        yield _by_suffix(found, facts, evidence, facts.archives)
    if facts.dropped is not None:
        yield _by_collate(found, facts, place, evidence, facts.dropped)
    elif facts.takes is not None and facts.lost is None and _leaves_out(facts, facts.takes):
        yield _dropped(found, facts, place, evidence, facts.takes)
    if facts.always_first and not is_evaluation(facts.name):
        yield _always_first(found, facts, place, evidence)
    if facts.never and not (facts.is_rest and is_evaluation(facts.name)):
        yield _never_taken(found, facts, place, evidence)


def _leaves_out(facts: WholePass, takes: int) -> bool:
    """Whether batches lack samples, where each would be a full one."""
    first = facts.epochs[0]
    if facts.batch_size is None or first.ended != "over" or first.rows is None:
        return False
    if first.batches != facts.length:
        return False
    if facts.gives_none:
        return first.most_rows <= facts.batch_size and first.rows < takes
    return first.most_rows == facts.batch_size and takes // 2 < first.rows < takes


def _dropped(
    found: Callable[..., Finding],
    facts: WholePass,
    place: Location,
    evidence: Mapping[str, str | int | float],
    takes: int,
) -> Finding:
    rows = facts.epochs[0].rows or 0
    none = ": its data set gives None for some" if facts.gives_none else ""
    return found(
        f"leaves out {takes - rows:,} of {counted(takes, 'sample')}{none}",
        at=place,
        severity=Severity.WARNING,
        why="They are taken from the data set, and are in no batch: what batches them drops them "
        "without a word, as is done with samples that could not be loaded.",
        fix="Count what is dropped, and mend these samples or take them out of the data set.",
        evidence={**evidence, "samples": rows},
        about=f"{facts.name} left out",
    )


def _by_collate(
    found: Callable[..., Finding],
    facts: WholePass,
    place: Location,
    evidence: Mapping[str, str | int | float],
    lost: Dropped,
) -> Finding:
    at, number, of = lost.at, lost.number, lost.looked_at
    if facts.takes is not None and _leaves_out(facts, facts.takes):
        number, of = facts.takes - (facts.epochs[0].rows or 0), facts.takes
    none = ": its data set gives None for some" if facts.gives_none else ""
    return found(
        f"leaves out {number:,} of {counted(of, 'sample')}, which are in no part "
        f"of the batch that its collate function makes of them, such as {lost.sample}{none}",
        at=Location(file=at.file, line=at.line, name=facts.name) if at.file else place,
        severity=Severity.WARNING,
        why="They are taken from the data set and dropped without a word, as is done with samples "
        "that could not be loaded: a batch has fewer than were asked for.",
        fix="Count what is dropped, and mend these samples or take them out of the data set.",
        evidence={**evidence, "dropped": number, "samples": of},
        about=f"{facts.name} left out",
    )


def _lost(
    found: Callable[..., Finding],
    facts: WholePass,
    place: Location,
    evidence: Mapping[str, str | int | float],
    lost: LostBatches,
) -> Finding:
    if lost.error:
        return _swallowed(found, facts, place, evidence, lost)
    which = "the last" if lost.first == lost.taken else f"number {lost.first}"
    which = which if lost.number == 1 else f"of which {which} is the first"
    return found(
        f"leaves out {lost.number:,} of {counted(lost.taken, 'batch', 'batches')} that its "
        f"DataLoader gives in an epoch, {which}",
        at=lost.at.at(facts.name) if lost.at.file else place,
        severity=Severity.WARNING,
        why="What stands around the DataLoader takes them, and does not hand them on: so it is in "
        "each epoch.",
        fix="Hand on what is held when the DataLoader ends, and what was taken to look at it.",
        evidence={**evidence, "batches": lost.taken, "lost": lost.number},
        about=f"{facts.name} lost",
    )


def _swallowed(
    found: Callable[..., Finding],
    facts: WholePass,
    place: Location,
    evidence: Mapping[str, str | int | float],
    lost: LostBatches,
) -> Finding:
    error = shown(lost.error.strip().partition("\n")[0])
    every = counted(lost.taken, "batch", "batches")
    return found(
        f"gives no more than {lost.taken - lost.number:,} of {every} of its DataLoader, which "
        f"raises {error}",
        at=lost.at.at(facts.name) if lost.at.file else place,
        severity=Severity.WARNING,
        why="What stands around the DataLoader catches it, and tells nobody: so each epoch lacks "
        "these batches, and training goes on as if it had had all.",
        fix="Mend this line, or what it is given; have what catches it raise it in the loop."
        if lost.at.file
        else "Have what catches it raise it in the loop.",
        evidence={**evidence, "batches": lost.taken, "lost": lost.number},
        about=f"{facts.name} lost",
    )


def _left_behind(
    found: Callable[..., Finding],
    facts: WholePass,
    evidence: Mapping[str, str | int | float],
    left: LeftBehind,
) -> Finding:
    every = left.number + left.came
    return found(
        f"leaves out {left.number:,} of {counted(every, 'sample')} in an epoch: they are in "
        f"{left.buffer} when {left.inside} ends",
        at=Location(file=left.file, line=left.line, name=facts.name),
        severity=Severity.WARNING,
        why="All is read, and what is still in this buffer at the end is in no batch: other "
        "samples in each epoch, and of each worker as many.",
        fix=f"Behind the loop, shuffle {left.buffer} and yield what is in it.",
        evidence={**evidence, "left": left.number, "came": left.came},
        about=f"{facts.name} left behind",
    )


def _by_suffix(
    found: Callable[..., Finding],
    facts: WholePass,
    evidence: Mapping[str, str | int | float],
    over: ArchivesRead,
) -> Finding:
    more = f" and {counted(over.archives - 1, 'more archive')}" if over.archives > 1 else ""
    suffixes, read = (" and ".join(map(shown, one)) for one in (over.suffixes, over.taken))
    return found(
        f"leaves out {over.left:,} of {counted(over.images, 'image')} in {shown(over.archive)}"
        f"{more}: {shown(over.member)} and all others that are {suffixes}, beside {read}",
        at=Location(file=over.at.file, line=over.at.line, name=facts.name),
        severity=Severity.WARNING,
        why=f"It reads every {read}, and no {suffixes}, of which nothing but the suffix is "
        "different: these are in no batch, and nobody is told.",
        fix=f"Have {over.dataset} take {suffixes} as well, or pack archives without them.",
        evidence={**evidence, "left_out": over.left, "images": over.images},
        about=f"{facts.name} by suffix",
    )


def _never_taken(
    found: Callable[..., Finding],
    facts: WholePass,
    place: Location,
    evidence: Mapping[str, str | int | float],
) -> Finding:
    at, samples = facts.sampler, facts.samples or 0
    instead, fix = "and takes others more than once in an epoch", _EACH_ONCE
    why = "Its sampler gives as many indices as there are samples, and the same ones in each epoch"
    if facts.is_rest:
        instead = "which fill no batch, and are the same in each epoch"
        why = "Its sampler leaves out what is left of full batches, the same each time"
        fix = "Shuffle before what fills no batch is left out, or give it as a smaller batch."
    elif facts.cut_at:
        instead = f"in each epoch of {counted(facts.cut_at, 'sample')}"
        why = "Its sampler has no end, and begins anew with each epoch, with the same samples"
        fix = "Have the sampler go on where the last epoch was cut, or draw from all of them."
    return found(
        f"never takes {facts.never:,} of {counted(samples, 'sample')}, {instead}",
        at=Location(file=at.file, line=at.line, name=facts.name) if at.file else place,
        severity=Severity.NOTE if facts.never < _FEW * samples else Severity.WARNING,
        why=f"{why}: the others are in no batch, however long is trained.",
        fix=fix,
        evidence={**evidence, "never": facts.never, "samples": samples},
        about=f"{facts.name} never",
    )


def _always_first(
    found: Callable[..., Finding],
    facts: WholePass,
    place: Location,
    evidence: Mapping[str, str | int | float],
) -> Finding:
    first = facts.epochs[0]
    came = counted(first.batches, "batch", "batches")
    came = came if first.rows is None else counted(first.rows, "sample")
    return found(
        f"gives the same {came} in each epoch, of a stream that has more",
        at=place,
        severity=Severity.WARNING,
        why=f"with_epoch({facts.always_first:,}) ends each epoch there, and the next one begins "
        "anew: what lies behind is in no batch, however long is trained.",
        fix="Draw shards for each epoch, by resampled=True, or leave out with_epoch.",
        evidence={**evidence, "with_epoch": facts.always_first},
        about=f"{facts.name} always first",
    )
