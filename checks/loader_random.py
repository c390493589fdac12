"""A loader whose workers, or whose epochs, draw the same random numbers.

What it finds
    Two of the loader's workers are asked for one and the same sample, again and again, and so is a
    worker of a second epoch. Where one worker gives another one each time, so that it is random,
    and another worker, or another epoch, begins with just the same, random numbers repeat. Of a
    stream, an `IterableDataset`, nobody can ask for one sample: where two of its epochs are alike,
    it is gone through again with other random numbers, and is found where that makes other samples
    of the same data. Of a pipeline of webdataset that draws shards with replacement, two workers
    draw 256 shards each, of which none is opened. Of another stream without an end nothing is said.
    Two workers of one that ends are held against each other, too: found are generators that stand
    alike in both behind the first sample, and that make other samples when they begin otherwise,
    and no other order. An order that is shuffled, and is the same in each epoch, is found, too: of
    a sampler of the job's own, or a stream, that seeds anew each time; of one with `set_epoch`,
    such as DistributedSampler, where the loop over epochs stands in a file that calls no
    `set_epoch`; of a loader's own class, or one that stands around it, that seeds when an epoch
    begins (then also samples that are made by random numbers, in an order that stays): two whole
    epochs of it are alike, though its sampler draws others; of a stream whose workers are kept
    (`persistent_workers=True`), and do not hear of the epoch; where a script is rehearsed, of a
    loop over epochs that seeds in each (`torch.manual_seed(0)`), so that a pass over a shuffled
    loader begins with the random numbers of the one before. So are samples of a data set that is
    told the epoch (`set_epoch`, or `epoch` by itself), where kept workers go on with those of the
    epoch before: some are asked for again by a worker that is kept, and by one that is not. And a
    data set that is shuffled, and seeds by one and the same number (`random.seed(0)` in
    `__getitem__`) for two samples, each of which is another one without that line. Not of
    loaders with val, test or the like in their names or those of their classes, and not where
    anything says `shuffle=False`.

Why it matters
    A generator that is made before workers start, as `np.random.default_rng(0)` in `__init__` or at
    the top of a module, is copied to each of them: all workers crop, flip and drop alike, and each
    epoch does as the one before. There is less augmentation than it seems. By an order that stays,
    each sample meets the same ones in its batch in every epoch.

What to do
    Make the generator in the worker, by `torch.initial_seed()`, which differs among workers and
    epochs. torch seeds its own generator, `random` and numpy's global one so by itself. Have an
    order depend on the epoch: `sampler.set_epoch(epoch)`.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import RandomDraws, SameOrder, SeededAlike
from preflight.finding import Finding, Severity
from preflight.job import Job
from preflight.values.names import counted, first_of, shown

from ._evaluation import is_evaluation


def _why_not(facts: RandomDraws, _job: Job) -> str | None:
    return facts.why_not or None if (facts.order or facts.seeded) is None else None


@check(
    over=RandomDraws,
    title="loader whose workers draw the same random numbers",
    many="loaders have workers that draw the same random numbers",
    severity=Severity.WARNING,
    skip=_why_not,
)
def loader_random(facts: RandomDraws, _job: Job) -> Iterator[Finding]:
    """Say whose draws repeat, where one worker's own do not, and whose order."""
    if facts.order is not None and not is_evaluation(f"{facts.name} {facts.order.sampler}"):
        yield _of_order(facts, facts.order)
    if facts.seeded is not None and not is_evaluation(f"{facts.name} {facts.seeded.dataset}"):
        yield _of_seeds(facts, facts.seeded)
    if facts.why_not or facts.reason or not facts.varies or not _alike(facts):
        return
    who = [
        *(["all workers"] if facts.workers_alike else []),
        *(["all epochs"] if facts.epochs_alike else []),
    ]
    held = first_of(facts.generators, len(facts.generators)) if facts.generators else ""
    where = f" ({held})" if held else ""
    what = f"gave one sample in {facts.draws} random versions, and the same {facts.draws} again"
    if facts.is_stream:
        what = f"gave {facts.draws} samples, made by random numbers, and just the same again"
    if facts.is_stream and not facts.epochs_alike:
        what = "made the samples of each, which are others, by the same"
    if facts.of_shards:
        what = f"gave {facts.draws} shards, drawn one by one, and just the same again"
    yield loader_random.found(
        f"{' and '.join(who)} draw the same random numbers: {facts.dataset}{where} {what}",
        at=facts.defined.at(facts.name),
        why="The generator was seeded before the workers were started, of which each gets a copy, "
        "or by the same numbers with each start: it draws the same again.",
        fix="Make it in the worker, when it is first needed, from torch.initial_seed(), which "
        "differs among workers and epochs.",
        evidence={
            "loader": facts.name,
            "dataset": facts.dataset,
            "workers_alike": facts.workers_alike,
            "epochs_alike": facts.epochs_alike,
            "draws": facts.draws,
            "num_workers": facts.num_workers,
        },
        about=facts.name,
    )


def _alike(facts: RandomDraws) -> bool:
    return facts.workers_alike or facts.epochs_alike


def _of_seeds(facts: RandomDraws, seeded: SeededAlike) -> Finding:
    """Tell a data set that seeds alike for each sample."""
    return loader_random.found(
        f"2 of 2 samples have the same random numbers, each time: {seeded.dataset} seeds by "
        f"`{shown(seeded.code)}` whichever sample it is asked for",
        at=seeded.at.at(facts.name),
        why="All samples are cropped, flipped and dropped in one and the same way, each time.",
        fix="Leave this line out: torch seeds each worker by itself, and other numbers each epoch.",
        evidence={"loader": facts.name, "dataset": seeded.dataset, "line": seeded.code},
        about=f"{facts.name} seeds",
    )


def _of_order(facts: RandomDraws, order: SameOrder) -> Finding:
    """Tell an order that is drawn by chance, and that no epoch changes."""
    fix = "Draw by a generator that is kept from epoch to epoch, or seed it by the epoch, too."
    if facts.loop is not None:
        fix = f"Call loader.{order.waits_at}.set_epoch(epoch) at the begin of each epoch."
    why = "Its order is drawn anew by the same random numbers"
    if order.is_unheard:
        fix = "Leave out persistent_workers, or keep the epoch where workers read it: in a tensor "
        fix += "of one number, after its share_memory_()."
        why = "set_epoch changes the data set of the training process alone: each worker has a "
        why += "copy, and persistent_workers=True keeps that"
    if facts.loop is not None:
        why = "It draws by a number that set_epoch alone changes, and nothing in this file calls it"
    if order.counts_itself:
        fix = "Keep the workers, by persistent_workers=True, or have the loop tell the data set "
        fix += "which epoch it is, before it goes over the loader."
        why = "It counts its epochs itself, each worker in a copy of its own, and workers are "
        why += "started anew with each epoch, from the data set of the training process"
    meets = "Each sample meets the same ones in its batch in every epoch."
    what = f"all epochs have the same order: {order.sampler} shuffles "
    what += f"{counted(order.samples, 'sample')} alike each time"
    if order.begins_anew:
        why = f"{order.sampler} has the random numbers begin anew with each epoch"
        fix = "Seed once, before the first epoch, or by a number that grows with each epoch."
    if order.by_init:
        why = f"Workers are started anew with each epoch, and call {order.by_init}, which seems to "
        why += "seed them by the same numbers each time (a guess)"
        fix = f"Seed by torch.initial_seed() in {order.by_init}, which differs among workers and "
        fix += "epochs, or leave the seed out of it."
    if order.by_loop:
        why = "The loop has the random numbers begin anew with each epoch, as "
        why += "torch.manual_seed(0) in it would"
    if order.of_samples and order.begins_anew:
        giver = order.by_init and "the loader"
        what = f"all epochs have the same samples: {giver or order.sampler} gives "
        what += f"{order.samples:,} that are made by random numbers, and just the same again"
        meets = "Each sample is what it was in the first epoch."
    elif order.of_samples:
        what = f"all epochs have the same samples: {order.sampler} makes them by the epoch that "
        what += "it is told, and its workers do not hear of it"
        meets = "Each sample is what it was in the first epoch."
    return loader_random.found(
        what,
        at=facts.loop or (order.at if order.at.file else facts.defined).at(facts.name),
        why=f"{why}. {meets}",
        fix=fix,
        evidence={"loader": facts.name, "sampler": order.sampler, "samples": order.samples},
        about=f"{facts.name} order",
    )
