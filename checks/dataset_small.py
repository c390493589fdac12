"""A data set that is empty, or too small for the launch.

What it finds
    A data set without a single sample, and one with fewer shards than there are ranks times
    workers where a loader that was built, or a source, gives each shard to one of them: errors.
    A loader's own workers count before those of the launch. Warnings: fewer shards than that where
    nothing is known of how they are drawn, and fewer samples than one step of the optimizer takes
    (the batch size, times the ranks, unless a loader that was built gives each of them all that it
    lists, times the batches that gradients are accumulated over). What is not said of the launch
    counts as 1. Where the settings say how ranks divide shards (`split`), and nothing that was seen
    says it, world-ownership tells who has none. `repeats` adds so many passes over the data to each
    epoch. Where some shards were not read, samples are not counted; where a loader of the job, or
    else a source, draws its shards with replacement (`resampled=True`), nothing is asked.

    A shard without a sample beside full ones is a warning, however shards are drawn. Where those
    that hold samples are fewer than ranks times workers, it counts as one shard too few.

Why it matters
    A loader that drops its last batch gives none at all, and an epoch passes without a step. A
    worker of webdataset that has no shard raises ValueError (No samples found in dataset); a rank
    without data lets the others wait in their first all-reduce until it times out. An empty shard
    says that a packing or a download came to nothing: webdataset goes on without a word, unless a
    worker has no other, and then raises there.

What to do
    Pack an empty shard again, or leave it out. Take a smaller batch, or fewer ranks or workers; or
    pack the data into more shards. Sampling with replacement (`resampled=True`) needs no more than
    one shard.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import Foreign, check
from preflight.facts import DatasetFacts
from preflight.finding import Finding, Location, Severity
from preflight.job import DataSettings, Job
from preflight.values.names import counted, first_of

_MOST_PLACES = 20


def _may_be_more(facts: DatasetFacts, job: Job) -> str | None:
    """Say so where shards never end, or where samples that nobody counted may be enough."""
    if facts.empty and (facts.samples or facts.unread):
        return None
    if facts.resampled is not None and (facts.samples or facts.unread):
        return Foreign(f"shards are drawn with replacement ({facts.resampled})")
    if not facts.samples and not facts.unread and facts.damaged:
        return "its shards are damaged; see shard-damaged"
    if not facts.unread or _lacks_shards(facts, job) or _passes(facts, job) >= _step(facts, job):
        return None
    shards = counted(facts.unread, "shard was", "shards were")
    what = "the folder was" if facts.is_folder else shards
    return f"{what} not read, so that there may be more samples"


@check(
    over=DatasetFacts,
    title="data set that is empty, or too small for the launch",
    many="data sets are empty, or too small for the launch",
    severity=Severity.ERROR,
    skip=_may_be_more,
)
def dataset_small(facts: DatasetFacts, job: Job) -> Iterator[Finding]:
    """Hold the samples against one step, and the shards against all workers."""
    if not facts.samples and not facts.unread:
        yield dataset_small.found(
            "holds no sample",
            at=facts.place,
            why="The loader gives nothing: webdataset raises ValueError (No samples found in "
            "dataset), or training stands at step 0.",
            fix="Look whether it was packed, downloaded and named as it was meant.",
        )
        return
    lacks = facts.resampled is None and _lacks_shards(facts, job)
    if facts.empty and not lacks:
        yield _some_empty(facts)
    if facts.resampled is not None:
        return
    short = [_too_few_samples(facts, job)] if _lacks_samples(facts, job) else []
    if lacks:
        sure = facts.drawn_once is not None and facts.perhaps_resampled is None
        yield dataset_small.found(
            "; ".join([*short, _too_few_shards(facts, job)]),
            at=facts.place,
            severity=Severity.ERROR if sure else Severity.WARNING,
            why=f"{_without_shard(facts, job)} no shard{_how_drawn(facts)}: "
            "webdataset raises ValueError (No samples found in dataset) there.",
            fix="Pack the data into more shards, or take fewer ranks or workers.",
            workaround="resampled=True lets every worker draw from all shards.",
            evidence={"samples": facts.samples, "step": _step(facts, job), "shards": _full(facts)},
        )
    elif short:
        yield dataset_small.found(
            short[0],
            at=facts.place,
            severity=Severity.WARNING,
            why="A loader with drop_last=True gives no full batch to every rank, so that an epoch "
            "passes without a step; without it, the steps are smaller than was meant.",
            fix="Take a smaller batch, or add data.",
            evidence={"samples": facts.samples, "step": _step(facts, job)},
        )


def _some_empty(facts: DatasetFacts) -> Finding:
    first, *others = (Location(file=one) for one in facts.empty)
    also = f", nor {'do' if len(others) > 1 else 'does'} {len(others):,} more" if others else ""
    return dataset_small.found(
        f"holds no sample{also}; its data set has {_all(facts):,} shards",
        at=first,
        severity=Severity.WARNING,
        also=tuple(others[:_MOST_PLACES]),
        why="What was to be in it is not trained on, and webdataset goes on without a word.",
        fix="Pack it again, or leave it out.",
        evidence={"empty": len(facts.empty), "shards": _all(facts)},
        about=facts.name,
    )


def _named(facts: DatasetFacts) -> str:
    return first_of(facts.empty, len(facts.empty))


def _settings(facts: DatasetFacts, job: Job) -> DataSettings:
    return job.data[facts.entry] if facts.entry is not None else DataSettings()


def _batch(facts: DatasetFacts, job: Job) -> int:
    data = _settings(facts, job)
    return max(1, data.batch_size or job.launch.batch_size or 1)


def _step(facts: DatasetFacts, job: Job) -> int:
    return _batch(facts, job) * _ranks(facts, job) * max(1, job.launch.grad_accum or 1)


def _passes(facts: DatasetFacts, job: Job) -> int:
    data = _settings(facts, job)
    return facts.samples * (1 + max(0, data.repeats or 0))


def _product(facts: DatasetFacts, job: Job) -> str:
    factors = [f"a batch of {_batch(facts, job):,}"]
    if _ranks(facts, job) > 1:
        factors.append(f"{_ranks(facts, job):,} ranks")
    if (job.launch.grad_accum or 1) > 1:
        factors.append(f"{job.launch.grad_accum:,} batches to a step")
    return " x ".join(factors)


def _lacks_samples(facts: DatasetFacts, job: Job) -> bool:
    return not facts.unread and _passes(facts, job) < _step(facts, job)


def _too_few_samples(facts: DatasetFacts, job: Job) -> str:
    passes = _passes(facts, job)
    repeated = f" ({passes:,} with its repeats)" if passes != facts.samples else ""
    return (
        f"holds {counted(facts.samples, 'sample')}{repeated}, fewer than the "
        f"{_step(facts, job):,} of one step: {_product(facts, job)}"
    )


def _all(facts: DatasetFacts) -> int:
    return len(facts.shards) + facts.unread


def _full(facts: DatasetFacts) -> int:
    """Count the shards that give a worker something, as far as is known."""
    return _all(facts) + facts.beside - len(facts.empty)


def _how_drawn(facts: DatasetFacts) -> str:
    if facts.perhaps_resampled is not None:
        return f", unless they are drawn with replacement, which {facts.perhaps_resampled} decides"
    if facts.drawn_once is not None:
        return f", since each shard goes to one of them ({facts.drawn_once})"
    return ", where each shard goes to one of them"


def _workers(facts: DatasetFacts, job: Job) -> int:
    own = facts.workers
    return max(1, (job.launch.num_workers if own is None else own) or 1)


def _ranks(facts: DatasetFacts, job: Job) -> int:
    return job.launch.ranks if facts.is_divided else 1


def _takers(facts: DatasetFacts, job: Job) -> int:
    return _ranks(facts, job) * _workers(facts, job)


def _lacks_shards(facts: DatasetFacts, job: Job) -> bool:
    if facts.split_said and facts.drawn_once is None and job.launch.ranks > 1:
        return False  # datasets, for one, gives ranks samples of all shards; see world-ownership
    return not facts.is_folder and _full(facts) < _takers(facts, job)


def _too_few_shards(facts: DatasetFacts, job: Job) -> str:
    number, workers = _ranks(facts, job), _workers(facts, job)
    ranks = counted(number, "rank")
    who = "workers" if workers > 1 else "ranks" if number > 1 else "worker"
    own = f" of {facts.drawn_once}" if facts.workers is not None else ""
    product = f": {ranks} x {counted(workers, 'worker')}{own}" if workers > 1 else ""
    full = counted(_full(facts), "shard")
    if facts.empty:
        full += f" with samples and {len(facts.empty):,} without ({_named(facts)})"
    return f"has {full} for {_takers(facts, job):,} {who}{product}"


def _without_shard(facts: DatasetFacts, job: Job) -> str:
    return counted(_takers(facts, job) - _full(facts), "of them gets", "of them get")
