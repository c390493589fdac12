"""Items that no rank has, or that several ranks have, by the split that the job uses.

What it finds
    Where the settings say how a cache, a data set or a loader is divided (`split`), and how many
    ranks there are (`--world-size`): items that no rank has, and items that several have; ranks and
    workers with nothing; ranks with more than others. `accelerate` is called as it is installed,
    and `module:split` as the job would call it, in fresh interpreters, too, whose sets of strings
    have another order, as it is with real ranks. Of several splits, each divides what the one
    before gave; of two joined by `&`, a rank has what both give it. Where ranks do not divide the
    number of shards, `datasets` has each keep every N-th sample of all: of shards that were divided
    before, it is said what part of the samples no rank keeps. Of samples that are only read, ranks
    with more are told where these have more batches, too, as far as the size of one is known.

    Ranks write the entries of a cache: one that several write is an error. It is a note where
    `atomic = true` says that each writes under a name of its own and renames, or where `writer`
    names the function, and every read was whole while that was tried (cache-writer). What is only
    read may be given to several on purpose (the padding of DistributedSampler, and what else makes
    all parts alike), and left out on purpose (`drop_last`): of that nothing is said. What is left
    over where all parts are alike, up to a tenth, is a note. Nothing is said either where no split
    was said, and of one rank.

Why it matters
    What no rank has is never cached, or never trained on, without a word. A file that several ranks
    write at once is read half-written, and stays damaged when the launcher ends them. A rank with
    nothing to read, or with less than others, lets these wait in their next all-reduce until it
    times out.

What to do
    Divide once, by one split, a list that is the same on every rank: sorted, or drawn with one
    seed; and take no more ranks and workers than there are items.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import Foreign, check
from preflight.facts import WorldFacts
from preflight.finding import Finding, Severity
from preflight.job import Job
from preflight.values.names import counted, first_of

from ._owners import (
    doubled,
    goes_on,
    has_as_many_batches,
    idle,
    items,
    left,
    lost,
    lost_why,
    place,
    rows_of,
    size,
    split_of,
    spread,
    world_of,
    writers_why,
    writes,
)

PART = 0.1
"""What part of the samples of one rank another may lack, by shards of other sizes; and of all items
what may be left over where all parts are alike."""


def _is_alone(facts: WorldFacts, _job: Job) -> str | None:
    return Foreign("the job has one rank") if facts.ranks == 1 else None


@check(
    over=WorldFacts,
    title="items that no rank has, or several",
    many="caches, data sets or loaders have items that no rank has, or several",
    severity=Severity.ERROR,
    skip=_is_alone,
)
def world_ownership(facts: WorldFacts, _job: Job) -> Iterator[Finding]:
    """Say what has no owner, what has several, and who has nothing."""
    world = world_of(facts)
    if facts.unstable:
        yield _other_list(facts)
    elif lost(world, facts):
        yield _no_owner(facts)
    elif left(world):
        yield _kept_by_nobody(facts)
    if not facts.unstable and doubled(world, facts):
        yield _several_owners(facts)
    if facts.entries_shared and not facts.unstable:
        yield _shared_entries(facts)
    if idle(world, facts):
        yield _nothing(facts)
    elif _is_uneven(facts):
        yield _uneven(facts)


def _other_list(facts: WorldFacts) -> Finding:
    return world_ownership.found(
        f"each process divides another list: for example, {items(facts.nobody, facts)} of "
        f"{facts.items:,} would have no rank of {facts.ranks:,}, and {facts.several:,} several",
        at=place(facts),
        about="unstable",
        rows=tuple(rows_of(facts)),
        severity=None if facts.missing != 0 else Severity.NOTE,
        why=f"{split_of(facts)} gave other items in fresh interpreters of other hash seeds. "
        f"{lost_why(facts)}",
        fix="Sort the list before it is divided, draw at random with one seed for all ranks, and "
        "divide by zlib.crc32(name.encode()) in place of hash().",
        evidence=_evidence(facts),
    )


def _no_owner(facts: WorldFacts) -> Finding:
    names = first_of(facts.nobody_names, facts.nobody)
    stacked = len(facts.split) > 1 or any("&" in one for one in facts.split)
    is_rest = facts.nobody < facts.ranks and facts.nobody <= PART * facts.items
    is_over = is_rest and min(facts.each) == max(facts.each) and not writes(facts)
    return world_ownership.found(
        f"{items(facts.nobody, facts)} of {facts.items:,} "
        f"{'has' if facts.nobody == 1 else 'have'} no rank of {facts.ranks:,}: {names}",
        at=place(facts),
        about="nobody",
        severity=Severity.NOTE if is_over or facts.missing == 0 else None,
        rows=tuple(rows_of(facts)),
        why=f"They are divided by {split_of(facts)}. {lost_why(facts)}",
        fix="Divide once: each of these splits takes a part of what the other one left."
        if stacked
        else "Divide so that the parts of all ranks together are the whole.",
        evidence=_evidence(facts),
    )


def _kept_by_nobody(facts: WorldFacts) -> Finding:
    return world_ownership.found(
        f"{left(world_of(facts))} of the samples in {items(facts.items, facts)} have no rank of "
        f"{facts.ranks:,}",
        at=place(facts),
        about="nobody",
        why=f"They are divided by {split_of(facts)}. Where ranks do not divide the number of "
        "shards, datasets has each keep one sample of so many in all that it is given, and these "
        "were divided before.",
        fix="Divide once: split_dataset_by_node alone, on all shards.",
        evidence=_evidence(facts),
    )


def _several_owners(facts: WorldFacts) -> Finding:
    name, ranks = facts.several_names[0] if facts.several_names else ("?", ())
    which = first_of([str(one) for one in ranks], len(ranks), most=8)
    whole = f"{items(facts.several, facts)} of {facts.items:,}"
    example = f"{name} is of ranks {which}" if ranks else ""
    if not writes(facts):
        return world_ownership.found(
            f"{whole} {'goes' if facts.several == 1 else 'go'} to several ranks of "
            f"{facts.ranks:,}: {example}",
            at=place(facts),
            about="several",
            severity=Severity.WARNING,
            rows=tuple(rows_of(facts)),
            why=f"They are divided by {split_of(facts)}. Those ranks make the same batches, and an "
            "epoch holds these more often than others.",
            fix="Divide among ranks before workers: split_by_node, then split_by_worker.",
            evidence=_evidence(facts),
        )
    return world_ownership.found(
        f"{whole} would be written by several ranks of {facts.ranks:,}: {example}",
        at=place(facts),
        about="several",
        severity=_of_writers(facts),
        rows=tuple(rows_of(facts)),
        why=f"They are divided by {split_of(facts)}. {writers_why(facts)}",
        fix="Give each to one rank; or write under a name of each rank's own and rename "
        "(os.replace), and say atomic = true.",
        evidence=_evidence(facts),
    )


def _of_writers(facts: WorldFacts) -> Severity | None:
    is_safe = facts.atomic or facts.tried_writer or facts.missing == 0
    return Severity.NOTE if is_safe else None


def _shared_entries(facts: WorldFacts) -> Finding:
    first, second = facts.shared_names[0]
    many = counted(facts.entries_shared, "entry", "entries")
    if facts.by_caption:
        why = "They are made of equal captions. Where the job takes repeated captions out before "
        why += "it divides them, each has one writer; nobody can know that here."
    else:
        why = f"Two samples lead to one entry. {writers_why(facts)}"
    return world_ownership.found(
        f"{many} may be written by several ranks of {facts.ranks:,}: {first} and {second} have one",
        at=place(facts),
        about="shared",
        severity=Severity.NOTE
        if facts.by_caption or _of_writers(facts) is Severity.NOTE
        else Severity.WARNING,
        why=why,
        fix="Divide the keys, each once, and not the samples.",
        evidence=_evidence(facts),
    )


def _nothing(facts: WorldFacts) -> Finding:
    world = world_of(facts)
    bare = [str(rank) for rank, number in enumerate(facts.each) if not number]
    if bare:
        who = (
            f"{len(bare):,} of {counted(facts.ranks, 'rank')} {'has' if len(bare) == 1 else 'have'}"
        )
        which = f" (ranks {first_of(bare, len(bare))})"
    else:
        total = facts.ranks * facts.workers
        who = f"{facts.bare_workers:,} of {total:,} workers "
        who += "has" if facts.bare_workers == 1 else "have"
        which = f" (each of {counted(facts.ranks, 'rank')} has {facts.workers:,})"
    raises = ""
    if any("split_by" in one for one in facts.split):
        raises = "webdataset raises ValueError (No samples found in dataset) in such a worker; "
    elif bare and "datasets" in facts.split and facts.noun != "shard":
        raises = "datasets raises IndexError on a rank that gets no row; "
    return world_ownership.found(
        f"{who} nothing of its {items(facts.items, facts)}{which}",
        at=place(facts),
        about="nothing",
        rows=tuple(rows_of(facts)) if world.idle else (),
        why=f"They are divided by {split_of(facts)}. "
        f"{raises}{'the' if raises else 'The'} others wait for that rank in their next all-reduce "
        "until it times out.",
        fix=f"Take fewer ranks or workers than there are {facts.noun}s, or pack more of them.",
        workaround="resampled=True lets every worker draw from all shards."
        if facts.noun == "shard"
        else None,
        evidence=_evidence(facts),
    )


def _is_uneven(facts: WorldFacts) -> bool:
    """Whether one rank more of them makes a difference that is worth a word."""
    most, least = max(facts.each), min(facts.each)
    if writes(facts):
        return most > 2 * least + 1 and facts.items >= facts.ranks and not facts.unstable
    if facts.noun == "shard":
        fewest, all_of = min(facts.samples, default=0), max(facts.samples, default=0)
        return most > least or all_of - fewest > PART * all_of
    return most > least + 1 and not has_as_many_batches(facts)


def _uneven(facts: WorldFacts) -> Finding:
    counts = facts.samples or facts.each
    rich, poor = counts.index(max(counts)), counts.index(min(counts))
    if writes(facts):
        why = f"Rank {rich} works on while the others wait for it, maybe until they time out."
    else:
        why = f"Rank {poor} runs out first, and the others hang in their next all-reduce until it "
        why += "times out"
        why += (
            "."
            if facts.samples or facts.noun != "shard"
            else ("; how many samples are in each shard may make up for it, or not.")
        )
    return world_ownership.found(
        f"gives rank {poor} {_what(poor, facts)} and rank {rich} "
        f"{_what(rich, facts) if facts.samples else f'{facts.each[rich]:,}'}, of {facts.items:,} "
        f"{'shards ' if facts.samples else ''}on {size(world_of(facts))}",
        at=place(facts),
        about="uneven",
        severity=Severity.NOTE if writes(facts) else Severity.WARNING,
        rows=tuple(rows_of(facts)),
        why=why,
        fix="Divide the list into parts of one length." if writes(facts) else _even(facts),
        workaround=None if writes(facts) else goes_on(facts),
        evidence=_evidence(facts) | {"spread": spread(world_of(facts), facts)},
    )


def _what(rank: int, facts: WorldFacts) -> str:
    """Say how much a rank has: `80 samples (2 shards)`."""
    own = items(facts.each[rank], facts)
    return f"{counted(facts.samples[rank], 'sample')} ({own})" if facts.samples else own


def _even(facts: WorldFacts) -> str:
    alike = (
        "Pack shards of even sizes, in a number"
        if facts.samples
        else (f"Make the number of {facts.noun}s one")
    )
    return f"{alike} that the ranks divide."


def _evidence(facts: WorldFacts) -> dict[str, str | int | float | bool]:
    return {
        "items": facts.items,
        "ranks": facts.ranks,
        "workers": facts.workers,
        "nobody": facts.nobody,
        "several": facts.several,
        "split": split_of(facts),
    }
