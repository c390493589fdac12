"""A loader for whose batches a GPU would wait.

What it finds
    Loaders that take more than 10 s to their first batch, or more than 1 s for each batch, with the
    job's workers. Each time is measured here, on a few batches at most: of a loader with workers
    the first one alone tells it.

Why it matters
    Where a step of the GPU takes less time than a batch, the GPU waits for data. The first batch is
    waited for at each start, and at the begin of each epoch unless workers are persistent.

What to do
    Take more workers, or do less for each sample: decode smaller images, and store what is the same
    in each epoch. A note never gates.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import FirstBatches
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import counted

# Seconds from which on somebody waits: a large model's step takes about one.
_LONG_FIRST, _LONG_EACH = 10.0, 1.0


def _none(facts: FirstBatches, _: Job) -> str | None:
    return None if facts.batches else "no batch came of it"


@check(
    over=FirstBatches,
    title="loader that is slow",
    many="loaders are slow",
    severity=Severity.NOTE,
    skip=_none,
)
def loader_slow(facts: FirstBatches, _job: Job) -> Iterator[Finding]:
    """Say how long batches take, where a GPU would wait for them."""
    first = facts.seconds_to_first
    if first is None:
        return
    each = _seconds_each(facts, first)
    is_slow = each is not None and each > _LONG_EACH
    if first <= _LONG_FIRST and not is_slow:
        return
    by = counted(facts.num_workers, "worker") if facts.num_workers else "no worker"
    why = "Each start of the job waits as long, and each epoch unless workers are persistent."
    if each is not None and is_slow:
        why = f"A GPU step that takes less than {each:.1f} s waits for data, at every step."
    yield loader_slow.found(
        f"takes {first:.1f} s to its first batch, with {by}",
        at=Location(
            file=facts.defined.file,
            line=facts.defined.line if facts.defined.file else None,
            name=facts.name,
        ),
        why=why,
        fix="Take more workers, or do less for each sample: decode smaller images, and keep what "
        "is the same in each epoch.",
        evidence={"seconds_to_first": first, **({"seconds_each": each} if each else {})},
        about=facts.name,
    )


def _seconds_each(facts: FirstBatches, first: float) -> float | None:
    """Estimate what a batch takes when all workers are at it; None where nothing tells.

    Forked workers start at once, and all of them load their first batch at the same time. To start
    others takes seconds, which are no part of a batch.
    """
    if not facts.num_workers:
        return min((first, *facts.seconds_each))
    return first / facts.num_workers if facts.start_method == "fork" else None
