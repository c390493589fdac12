"""Says what keeps a run in which nothing was found from being a GO."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from preflight.findings.judge import Judged
from preflight.findings.parts import OF_JOB, Covered
from preflight.findings.registry import fits
from preflight.kinds.kind import Kind
from preflight.kinds.rooms import kinds_of
from preflight.kinds.target import Target
from preflight.session.counts import Counts
from preflight.session.coverage import is_doubtful
from preflight.session.look import OUT_OF_TIME
from preflight.settings.job import Job
from preflight.targets.targets import Missing
from preflight.targets.words.discover import Discovered
from preflight.values.names import first_of

# What there is to say of pictures beside code, and of a folder of weights, where they are all.
_OF_NO_USE = {
    "data": ", of which nothing says that a job reads them",
    "cache": " of weights of models",
}

_FILES = frozenset({"data", "cache", "checkpoint"})


def unearned(
    coverage: Sequence[Covered], found: Discovered, judged: Judged, *, words: bool
) -> Iterator[str]:
    """Say why a run in which nothing was found is no GO, where no check was selected.

    Args:
        coverage: what was looked at.
        found: what nobody named, and may be no data of the job.
        judged: what could not be looked at is said there already.
        words: whether what is to be looked at was named by words.
    """
    of_job = [one for one in coverage if one.part in OF_JOB]
    dark = [one for one in of_job if one.unread or one.if_named or (one.of and not one.seen)]
    if any(one.broken for one in judged.outcomes) or judged.interrupted:
        return
    if not any(one.seen for one in of_job):
        if dark or not words:
            sources = [one.seen for one in coverage if one.part == "source" and one.seen]
            yield f"Nothing of this job was looked at{''.join(f' but {one}' for one in sources)}."
        return
    if is_doubtful(coverage, found):
        seen = [one.seen + _OF_NO_USE.get(one.part, "") for one in reversed(coverage) if one.seen]
        yield f"Nothing of this job was looked at but {' and '.join(seen)}."
    for one in dark:
        if one.of and (one.unread or one.if_named) and not one.seen:
            why = "no reader reads it" if one.unread else f"{one.if_named_by} would"
            yield f"Nothing of what was named as {one.part} was looked at: {why}."


def doubted(coverage: Sequence[Covered], found: Discovered, folder: str) -> Iterator[str]:
    """Name what was counted with a job's data, and may be there to show something."""
    if is_doubtful(coverage, found):
        return
    data = [one for one in found.doubtful if kinds_of(type(one))[0].part == "data"]
    if data:
        names = first_of([one.name_in(folder) for one in data], len(data))
        yield f"Nothing says that a job reads the data in {names}; it was looked at."


def unasked(every: Collection[str], checks: Collection[str], job: Job) -> Iterator[str]:
    """Name checks that are required, and that --select or --ignore leaves out."""
    out = [
        one
        for one in every
        if one not in checks and any(fits(word, one) for word in job.gate.require)
    ]
    if out:
        are, them = ("is", "it") if len(out) == 1 else ("are", "them")
        said = f"{first_of(out, len(out))} {are} required"
        yield f"{said}, and --select or --ignore leaves {them} out."


def unreached(found: Discovered, counts: Counts, judged: Judged) -> Iterator[str]:
    """Name what the budget left out whole: part of it would be a look, nothing of it is none."""
    late = next((why for _, why in judged.left if why.startswith(OUT_OF_TIME)), None)
    if late is None:
        return
    by_row: dict[Kind, dict[str, list[Target]]] = {}
    for word, target in found.pairs:
        row = kinds_of(type(target))[0]
        if row.part in _FILES and target in counts.asked and not isinstance(target, Missing):
            by_row.setdefault(row, {}).setdefault(word, []).append(target)
    for row, by_word in by_row.items():
        left = {noun: number for (of, noun), number in counts.left.items() if of == row.word}
        all_left = not row.each_file and _is_all(left, counts, chain(*by_word.values()))
        for word, targets in by_word.items():
            if left and (all_left or not counts.of(targets).total()):
                yield f"No part of {word} was looked at: {late}."


def _is_all(left: Mapping[str, int], counts: Counts, targets: Iterable[Target]) -> bool:
    """Whether as many were left out as there are: folders count also what nobody came to."""
    numbers = counts.of(tuple(targets))
    return any(0 < numbers[noun] <= number for noun, number in left.items())
