"""Ranks that divide lists which differ.

What it finds
    Where a job has several ranks (`--world-size`): the loader is made for the first rank and for
    the last, and once more for the first in processes that differ as those of a job may: in a fresh
    interpreter with another PYTHONHASHSEED (unless that is set here, since ranks inherit it), with
    folders that list their entries in another order, and with other random numbers. Found are items
    of the rank that are others then, though ranks are to divide them: nobody has some of them, and
    several have others. Items are told apart by the names in the lists that a data set holds, or by
    samples that are drawn with the same random numbers, as many as half a second allows: where
    these are not all, and alike, that is said, and nothing is passed; those of a stream by
    webdataset's keys, by paths, or whole. Found as well are lists that differ between two ranks
    where a DistributedSampler divides them, so that they are divided twice; and the part that a
    DistributedSampler gives, where accelerate divides it again. Where no sample is one that the
    rank had with other random numbers, they may be made of these: that is a warning. Where sources
    of the job seed what the loader draws by before they call its factory, and all ranks alike, that
    is a note, or a warning where a test stands around it. Where every
    rank has all, the order is nobody's business; only that of a set is a note, since no seed
    repeats it.

    Where ranks have other samples, it is made for one rank alone, too (of more than 15 ranks, for
    an eighth of them), and samples are counted: where all ranks together have fewer, some are of
    none. So it is where a part is divided again, as by `split_dataset_by_node` and then by a
    DistributedSampler or `prepare`; and where ranks go by LOCAL_RANK on several nodes, as far as
    samples have names, or bytes that are the same each time, and there are no more than eight
    ranks. What does not fill a batch of each rank is nothing; up to a tenth are a note, less than
    two fifths a warning. Where it cannot be made so, or does not end within 3 s then, that is said,
    and nothing is passed.

    Samples that several of no more than eight ranks have, where each rank takes a part (slices that
    overlap, steps that are too small), are a warning, unless they fill up batches, are less than a
    hundredth, or these ranks have the same part. Where one of them has all, so it is if each other
    one has what is left behind a later begin. Samples without names are known by their bytes, where
    these are the same with other random numbers, and those of each rank are among those of one rank
    alone; else there have to be more than one rank alone has.

    By names, slices are known whose borders are wrong: as many samples between any two of them,
    which are of none, or of both where slices are not of one length. Where these make whole
    batches, or are the first of the list, a resumed job has passed over them.

    It is a warning, too, where all ranks have the same part of what one rank alone has, whatever
    random numbers begin with (`num_replicas=8, rank=0`; a rank that is an argument of the factory,
    or a variable that is not set here); where a DistributedSampler divides among more ranks than
    the job has; and where the loader, made for one rank more than the job has (of no more than
    eight), gives that one samples that none of the others has: a number of ranks is written down.
    Where it gives such samples to a rank -1, ranks are counted from 1 (`names[rank + 1::world]`),
    and the first sample is of none: a warning, however few these are. Where a rank -2 has more of
    them, the job goes on behind what it has had, or makes samples of numbers, and nothing is said;
    nor of an empty slice. Of more than eight ranks, a job that goes on is guessed from the begin of
    the first rank's part: each leaves out as many.

    Where a module of Lightning gives each rank a part, and not by a DistributedSampler, the Trainer
    divides it again, unless a text of the job's folder says `use_distributed_sampler`: an error,
    and a warning where none of them has a Trainer.
    Of a DistributedSampler that shuffles with a seed of each rank's own it is an error.

    Of webdataset's streams, which refuse several ranks unless they are told how to divide shards,
    it is a warning where each rank has all samples in the same order, which one rank could do as
    well; a note in another order, and of an evaluation. So it is where they draw shards with
    replacement, and each rank draws the same, whatever random numbers begin with: by 256 shards of
    a worker, which are drawn and not opened. Otherwise those are left alone.

    Other streams that give each rank all samples, in one order whatever random numbers begin with,
    are an error where the job's own sources that the loader is made by name DistributedDataParallel
    or FSDP, and nothing that may divide batches later (accelerate, a trainer, a broadcast, a device
    mesh, `% world_size`); else a note, and so of an evaluation. Of a data set with indices, which a
    sampler gives each rank whole and in one order (`shuffle=False`), it is a warning in such a job,
    and nothing elsewhere.

    Nothing is said of what ranks agree on by themselves: lists that are sent around by
    `torch.distributed` (which is not judged), samplers with one seed, accelerate's generators.

Why it matters
    `list(set(names))`, or `random.shuffle(names)` without a seed, gives each process another list.
    When each rank then takes its part, some samples are never trained on and others several times
    in an epoch; validation samples get into training. Of 25 captions on 8 ranks, 12 belonged to
    nobody.

What to do
    Sort the list before it is divided: `sorted(set(names))`, `sorted(os.listdir(folder))`. Shuffle
    with one seed for all ranks: `random.Random(0).shuffle(names)`.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import OtherItems, RankOrder
from preflight.finding import Finding, Severity
from preflight.job import Job
from preflight.values.names import counted, shown

from ._evaluation import EVALUATES, is_evaluation
from ._order_causes import CAUSES, NOBODYS

_MUCH = 0.4
"""Part of the samples that are of no rank which is no remainder of even batches."""

_LITTLE = 0.1
"""Part of them up to which it may be one."""

_FEW = {"twice", "apart"}
"""Of what there may be as little as even batches leave over, of each bucket."""

_MADE_UP = "samples that are made of random numbers, as to try a job, may differ."


@check(
    over=RankOrder,
    title="ranks that divide lists which differ",
    many="loaders give ranks parts of lists which differ",
    severity=Severity.ERROR,
    skip=lambda facts, _job: facts.reason or None,
)
def world_order(facts: RankOrder, _job: Job) -> Iterator[Finding]:
    """Say what a rank has otherwise in another process, and what makes it so."""
    for one in facts.found:
        if one.cause in NOBODYS:
            yield _nobodys(facts, one)
        elif one.cause == "shared":
            yield _shared(facts, one)
        elif one.cause == "drawn":
            yield _drawn(facts, one)
        elif one.cause == "undivided":
            yield _undivided(facts, one)
        elif one.cause == "unsampled":
            yield from _without_sampler(facts, one)
        elif one.cause == "seed":
            yield _by_seeds(facts, one)
        else:
            yield _others(facts, one) if one.others else _reordered(facts, one)


def _others(facts: RankOrder, one: OtherItems) -> Finding:
    cause = CAUSES[one.cause]
    if one.cause == "random" and facts.seeded:
        condition = "" if facts.seeds_surely else ", where its test says so"
        why = f"{shown(facts.seeded)} seeds all ranks alike before it is made{condition}"
        severity = Severity.NOTE if facts.seeds_surely else Severity.WARNING
        cause = cause._replace(why=f"{why}: without that, each draws otherwise", severity=severity)
    elif one.is_made_up:
        cause = cause._replace(severity=Severity.WARNING, fix=f"{cause.fix}  ; {_MADE_UP}")
    example = f": {shown(one.now)} in place of {shown(one.before)}" if one.before else ""
    return world_order.found(
        f"gives rank 0 other samples {cause.when}: {one.others:,} of {one.of:,} that were compared"
        f"{example}",
        at=facts.defined.at(facts.name),
        about=one.cause,
        severity=cause.severity,
        why=f"{cause.why}, so that {counted(facts.ranks, 'rank')} divide lists that differ: some "
        "samples are of no rank, and others of several.",
        fix=cause.fix,
        evidence=_evidence(facts, one),
    )


def _nobodys(facts: RankOrder, one: OtherItems) -> Finding:
    cause = NOBODYS[one.cause]
    if one.others < _MUCH * one.of:
        cause = NOBODYS["few"] if one.cause in _FEW else cause._replace(severity=Severity.WARNING)
    if one.others <= _LITTLE * one.of and one.cause not in ("several", "before", "between"):
        cause = cause._replace(severity=Severity.NOTE)
    is_named = one.before and one.cause != "trainer"
    if one.cause == "trainer" and not one.before:
        cause = cause._replace(severity=Severity.WARNING)
    example = f": {shown(one.before)}, for example" if is_named else ""
    ranks = counted(facts.ranks, "rank")
    at_least = " or more" if one.cause == "beyond" else ""
    verb, whom = ("gives", "several") if one.cause == "several" else ("leaves", "none")
    return world_order.found(
        f"{verb} {one.others:,}{at_least} of {counted(one.of, 'sample')} to {whom} of "
        f"{ranks}{example}",
        at=facts.defined.at(facts.name),
        about=one.cause,
        severity=cause.severity,
        why=cause.why if one.cause == "several" else f"{_who_has(facts, one)} {cause.why}",
        fix=cause.fix,
        evidence=_evidence(facts, one),
    )


def _who_has(facts: RankOrder, one: OtherItems) -> str:
    if one.cause == "beyond":
        more = counted(one.others, "sample")
        return f"Made for {facts.ranks + 1:,} ranks, the last has {more} that none of these has."
    if one.cause == "trainer":
        by = f"The Trainer of {shown(one.before)}" if one.before else "A Trainer of Lightning"
        return f"{by} is not told that ranks have parts already."
    if one.cause == "before":
        return f"Made for rank -1, it has {counted(one.others, 'sample')} that none of these has."
    if one.cause == "replicas":
        return f"They are divided among {one.ranks:,} ranks, and the job has {facts.ranks:,}."
    made_for = "one rank alone" if one.ranks == 1 else f"{one.ranks:,} ranks"
    return (
        f"Made for {made_for}, it has {one.of:,}; made for {facts.ranks:,}, these have no more "
        f"than {one.of - one.others:,} together."
    )


def _by_seeds(facts: RankOrder, one: OtherItems) -> Finding:
    last = facts.ranks - 1
    return world_order.found(
        f"divides {counted(one.of, 'sample')} by a sampler that shuffles with seed "
        f"{shown(one.before)} on rank 0 and {shown(one.now)} on rank {last:,}",
        at=facts.defined.at(facts.name),
        about=one.cause,
        why="Each rank takes its part of another order, so that in an epoch some samples are of no "
        "rank, and others of several.",
        fix="Give DistributedSampler one seed on all ranks; set_epoch changes the order.",
        evidence=_evidence(facts, one),
    )


def _shared(facts: RankOrder, one: OtherItems) -> Finding:
    ranks = counted(facts.ranks, "rank")
    in_order = "in another order each" if one.others else "in the same order"
    is_meant = one.others or EVALUATES.search(facts.name)
    return world_order.found(
        f"gives each of {ranks} all of its {counted(one.of, 'sample')}, {in_order}",
        at=facts.defined.at(facts.name),
        about=one.cause,
        severity=Severity.NOTE if is_meant else Severity.WARNING,
        why=f"Nothing in it divides shards by ranks: an epoch of {ranks} is as long as "
        "of one"
        + ("." if one.others else ", and they train on the same batches, as one of them does."),
        fix="Divide shards: nodesplitter=wds.split_by_node of a WebDataset; in a DataPipeline the "
        "stage wds.split_by_node, before wds.split_by_worker. Or draw them, by resampled=True.",
        workaround="Where accelerate's prepare is given it later, that divides.",
        evidence=_evidence(facts, one),
    )


def _undivided(facts: RankOrder, one: OtherItems) -> Finding:
    ranks = counted(facts.ranks, "rank")
    is_sure = bool(facts.undivided) and not is_evaluation(facts.name)
    why = (
        "Its stream asks for no rank. Where nothing divides its batches later, all ranks train on "
    )
    if is_sure:
        why = f"Its stream asks for no rank, and nothing in {shown(facts.undivided)} divides its "
        why += "batches: all ranks train on "
    return world_order.found(
        f"gives each of {ranks} all of its {counted(one.of, 'sample')}, in the same order",
        at=facts.defined.at(facts.name),
        about=one.cause,
        severity=Severity.ERROR if is_sure else Severity.NOTE,
        why=f"{why}the same ones at the same time, as one of them would alone.",
        fix="Have __iter__ give every n-th sample of n ranks, by torch.distributed.get_rank(), and "
        "divide what is left by torch.utils.data.get_worker_info() among workers.",
        workaround="accelerate's prepare divides it, and datasets' split_dataset_by_node.",
        evidence=_evidence(facts, one),
    )


def _without_sampler(facts: RankOrder, one: OtherItems) -> Iterator[Finding]:
    """Tell a data set that a sampler gives each rank whole, where surely nothing divides it."""
    if not is_evaluation(facts.name):
        yield world_order.found(
            f"gives each of {counted(facts.ranks, 'rank')} all of its {counted(one.of, 'sample')}, "
            "in the same order",
            at=facts.defined.at(facts.name),
            about=one.cause,
            severity=Severity.WARNING,
            why=f"Its sampler asks for no rank, and nothing in {shown(facts.undivided)} divides "
            "its batches: all ranks train on the same ones at the same time, as one of them would "
            "alone.",
            fix="Give it sampler=DistributedSampler(dataset), and call its set_epoch(epoch) at the "
            "begin of each epoch.",
            evidence=_evidence(facts, one),
        )


def _drawn(facts: RankOrder, one: OtherItems) -> Finding:
    ranks = counted(facts.ranks, "rank")
    is_meant = one.others or EVALUATES.search(facts.name)
    come = "their samples in another order" if one.others else "and gives the same batches"
    return world_order.found(
        f"draws the same shards in turn on each of {ranks}, of which {one.of:,} were compared, "
        f"{come}",
        at=facts.defined.at(facts.name),
        about=one.cause,
        severity=Severity.NOTE if is_meant else Severity.WARNING,
        why="What it draws by begins alike on all ranks, so that all see the same samples at the "
        "same time, as one of them would alone.",
        fix="Draw by the rank and the worker, too: leave out worker_seed, or have it tell them "
        "apart, as rank * 1000 + worker.",
        workaround="wds.split_by_node behind it gives each rank other ones of what is drawn.",
        evidence=_evidence(facts, one),
    )


def _reordered(facts: RankOrder, one: OtherItems) -> Finding:
    return world_order.found(
        f"gives rank 0 the same samples in another order {CAUSES[one.cause].when}",
        at=facts.defined.at(facts.name),
        about=f"{one.cause} order",
        severity=Severity.NOTE,
        why="No seed of the job's repeats a run, or goes on where one has stopped.",
        fix="Sort what comes out of a set, as in  sorted(set(names))",
        evidence=_evidence(facts, one),
    )


def _evidence(facts: RankOrder, one: OtherItems) -> dict[str, str | int | float | bool]:
    return {
        "cause": one.cause,
        "others": one.others,
        "compared": one.of,
        "ranks": facts.ranks,
    }
