"""Samples that a loader takes out on the way, without a word or by raising.

What it finds
    Of the samples in the shards that a live loader of webdataset reads, those that do not come
    through its stages: a field that `to_tuple`, `rename`, `map_dict` or `extract_keys` asks for is
    not there (also because the name has a dot more, the files of a sample stand apart, or lie in
    two folders); a text that `decode` finds to be no UTF-8, JSON, a number (`.cls`) or an array
    (`.npy`) that it cannot read, also where nobody asks for it, an image that it cannot decode, as
    far as images were decoded (`--depth decode`); samples behind the damage of a shard, and shards
    that are no tar archive. What functions of your own drop besides (`select`, `map`) is counted
    where an epoch was run to its end over just these samples; elsewhere it says "at most". There it
    also tells samples that `map` loses by giving None, and those that are in no batch since the
    last one is smaller and left out (`partial=False`, `drop_last=True`), from a tenth on.

    And shards that nothing divides: where the launch has several ranks, `WebDataset` without a
    `nodesplitter` raises at its first sample; a `DataPipeline` without `split_by_node` or
    `split_by_worker` has each rank, or each worker, read all of them, unless they are drawn with
    replacement (`resampled=True`).

Why it matters
    A handler that goes on (`ignore_and_continue`) drops such samples without a word. Where shards
    are drawn again for ever (`resampled=True`) and nothing comes through, training stands at step 0
    and says nothing. Without a handler, the first such sample ends the run.

What to do
    Mend the data as the finding says, or ask for the fields that are there.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Gone, Listed, Survival
from preflight.finding import Finding, Severity
from preflight.job import Job
from preflight.values.names import counted, first_of

from ._handler_words import HARDLY_ANY, told_by
from ._survival_rows import (
    divided,
    gives_none,
    much_left_out,
    rows_of,
    too_large_a_batch,
    written,
)
from ._survival_splitters import Undivided, undivided

_LITTLE = 0.5
"""Of all samples: where fewer come through, the job trains on something else."""


def _nothing_known(facts: Survival | Listed, job: Job) -> str | None:
    if isinstance(facts, Listed):
        return None if facts.looked_for else "its data set lists no file"
    if facts.samples or facts.losses or _undivided(facts, job) is not None:
        return None
    if not facts.looked_at:
        return "none of its shards was read"
    return "its shards hold no sample; see dataset-small"


@check(
    over=(Survival, Listed),
    title="samples that do not come through the loader",
    many="loaders lose samples on the way",
    severity=Severity.ERROR,
    skip=_nothing_known,
)
def dataset_survival(facts: Survival | Listed, job: Job) -> Iterator[Finding]:
    """Tell what is lost as one table: how many, for what reason, and at which line."""
    if isinstance(facts, Listed):
        for one in facts.gone:
            yield _gone(one, facts)
    else:
        yield from _lost(facts)
        yield from _read_by_all(facts, job)


def _gone(one: Gone, facts: Listed) -> Finding:
    """Tell files of a list that are not there; of texts that are mostly not, they may be spare."""
    spare = one.what == "text" and 2 * one.missing > one.of
    names = first_of(one.names, one.missing)
    is_ = "is" if one.missing == 1 else "are"
    guess = " (a guess: they may be looked for one by one)" if spare else ""
    return dataset_survival.found(
        f"{one.missing:,} of {counted(one.of, one.what)} that its data set lists {is_} not there: "
        f"{names}",
        at=facts.defined.at(facts.name),
        severity=Severity.WARNING if spare else Severity.ERROR,
        why=f"A worker raises FileNotFoundError at the first that it comes to{guess}, in the "
        "middle of an epoch.",
        fix="Put them back where the list has them, or take them off the list.",
        evidence={"missing": one.missing, "of": one.of, "what": one.what},
        about=f"{facts.name} {one.what}",
    )


def _lost(facts: Survival) -> Iterator[Finding]:
    rows = tuple(rows_of(facts))
    if not rows:
        return
    reads, no_batch = facts.reads, bool(too_large_a_batch(facts))
    at = reads.endless_at if reads.endless_at.line else reads.defined
    come = "come through"
    if facts.through and _ends(facts):
        come = "could come through, if the epoch did not end at the first fault"
    of = f", of the shards that {reads.config} names" if reads.config else ""
    of = f", of the shards that are {reads.assumed}" if reads.assumed else of
    by = f", as the source is written{of} (a guess: no loader was made)" if reads.guess else ""
    through = 0 if no_batch else _through(facts)
    number = f"{_at_most(facts)}{through:,} of {counted(facts.samples, 'sample')}"
    yield dataset_survival.found(
        f"{number} {come}{divided(facts)}{by}",
        at=at.at(facts.name),
        rows=rows,
        severity=_severity(facts, no_batch=no_batch),
        why=_why(facts, stands=no_batch),
        fix=_fix(facts),
        evidence={
            "samples": facts.samples,
            "through": through,
            **{f"lost_{number}": written(one) for number, one in enumerate(rows, 1)},
        },
        about=reads.name,
    )


def _undivided(facts: Survival, job: Job) -> Undivided | None:
    workers = job.launch.num_workers
    own = facts.reads.num_workers
    return undivided(facts.reads, job.launch.ranks, own if workers is None else workers)


def _read_by_all(facts: Survival, job: Job) -> Iterator[Finding]:
    """Tell shards that each rank or worker reads whole."""
    told = _undivided(facts, job)
    if told is not None:
        yield dataset_survival.found(
            told.message,
            at=facts.reads.defined.at(facts.name),
            severity=told.severity,
            why=told.why,
            fix=told.fix,
            evidence={"ranks": job.launch.ranks, "workers": facts.reads.num_workers},
            about=f"{facts.name} undivided",
        )


def _severity(facts: Survival, *, no_batch: bool) -> Severity:
    if facts.reads.guess and facts.through:
        return Severity.WARNING
    if no_batch or facts.starved:
        return Severity.ERROR
    if _ends(facts) or facts.through < _LITTLE * facts.samples or not facts.through:
        return Severity.ERROR
    if not facts.losses:
        rest = _through(facts) < _LITTLE * facts.samples or much_left_out(facts)
        return Severity.WARNING if rest else Severity.NOTE
    lost = facts.samples - facts.through
    hardly_any = lost < HARDLY_ANY * facts.samples and not facts.uncounted
    return Severity.NOTE if hardly_any else Severity.WARNING


def _ends(facts: Survival) -> bool:
    """Whether a sample ends the epoch of its worker."""
    return any(one.how in ("raises", "stops") for one in facts.losses)


def _why(facts: Survival, *, stands: bool) -> str:
    reads, hows = facts.reads, {one.how for one in facts.losses}
    line = f" ({reads.endless_at.file}:{reads.endless_at.line})" if reads.endless_at.line else ""
    if "raises" in hows:
        first = next(one for one in facts.losses if one.how == "raises")
        return f"{first.stage} raises at the first of them, which ends the epoch in its worker."
    if "stops" in hows:
        first = next(one for one in facts.losses if one.how == "stops")
        words = told_by([first.handler_name])
        return f"{first.handler_name} ends the stream at the first of them, {words}."
    if not (facts.losses or stands or facts.starved):
        return _why_besides(facts)
    names = sorted({one.handler_name for one in facts.losses if one.handler_name})
    drops = f"{' and '.join(names) or 'The reader'} drops them {told_by(names)}"
    if "unknown" in hows:
        drops = "Nobody knows before it runs whether they are dropped or end the run"
    if reads.endless == "resampled" and not facts.through and not facts.unread:
        return (
            f"{drops}, and shards are drawn again for ever{line}: training stands at step 0, and "
            "says nothing."
        )
    if not facts.through or stands:
        return f"{drops}, and the loader gives no batch: no step is made."
    if facts.starved:
        return f"{drops}: the other ranks wait for rank {facts.starved[0]} until they time out."
    share = _through(facts) / facts.samples if facts.samples else 0.0
    if share == 1.0:
        return f"{drops}: the job trains on less than what was meant."
    meant = "was meant" if facts.known == facts.through else "its shards hold"
    again = f", of shards that are drawn for ever{line}" if reads.endless == "resampled" else ""
    return f"{drops}: the job trains on {_at_most(facts)}{share:.1%} of what {meant}{again}."


def _why_besides(facts: Survival) -> str:
    """Say what it means where nothing is wrong with any sample."""
    share = f"{_through(facts) / facts.samples:.1%} of the samples"
    if much_left_out(facts):
        return f"An epoch is made of {share}: what is left out is most where workers have few."
    return (
        f"webdataset passes over what {gives_none(facts)} gives None for: {share} are trained on."
    )


def _through(facts: Survival) -> int:
    """How many come through and are in a batch."""
    return facts.known - much_left_out(facts)


def _at_most(facts: Survival) -> str:
    is_known = facts.came_out is not None or not (facts.unsure or facts.uncounted)
    return "" if is_known else "at most "


def _fix(facts: Survival) -> str:
    for one in facts.losses:
        shards = first_of(one.shards, len(one.shards) + one.more_shards, most=2)
        samples = f" ({first_of(one.keys, one.samples, most=2)})" if one.keys else ""
        if one.reason == "field":
            return (
                f"Complete the samples of {shards}{samples}, or ask for the fields that they have."
            )
        if one.reason == "text":
            return f"Save the texts of {shards}{samples} as UTF-8."
        if one.reason == "record":
            return f"Write the .{one.field[0]} of {shards}{samples} again, or leave it out."
        if one.reason == "image":
            return f"Take the images of {shards}{samples} again from where they came from."
        return f"Copy or pack {shards} again; shard-damaged says what is wrong."
    if gives_none(facts) and not much_left_out(facts):
        return (
            "Have it return each sample; or leave some out by .select(), where that is what you "
            "want."
        )
    return "Take a smaller batch, or let the last one be smaller (partial=True, drop_last=False)."
