"""Tells samples of a stream that several workers give, and such as none of them gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from preflight.facts import Among, WholePass
from preflight.finding import Finding, Location, Severity
from preflight.values.names import counted

_UNITS = {"sample": ("sample", "samples"), "batch": ("batch", "batches")}

_DIVIDE = (
    "Have __iter__ give every n-th sample, or every n-th file, by "
    "torch.utils.data.get_worker_info()"
)


def among_workers(
    found: Callable[..., Finding],
    facts: WholePass,
    among: Among,
    place: Location,
    evidence: Mapping[str, str | int | float],
) -> Finding:
    """Tell what workers give otherwise than the stream does without them."""
    held = {**evidence, f"{_UNITS[among.unit][1]}": among.given, "without_workers": among.alone}
    if among.is_repeated:
        return _repeated(found, facts, among, place, held)
    again, lacking = among.again, among.lacking
    number, workers = counted(among.alone, *_UNITS[among.unit]), facts.num_workers
    what = f"leaves out {lacking:,} of {number}, which none of its {workers} workers gives"
    if again:
        what = f"gives {counted(again, *_UNITS[among.unit])} more than once among its {workers} "
        what += f"workers{f', and leaves out {lacking:,},' if lacking else ','} of "
        what += f"{among.alone:,} that come without workers"
    return found(
        what,
        at=place,
        severity=Severity.NOTE if not again and lacking < workers else Severity.WARNING,
        why="Its workers do not divide the data set among them: parts of theirs overlap, or lie "
        "apart. Each worker has random numbers of its own, and shuffles in another order."
        if again
        else "What no worker takes is in no batch, however long is trained.",
        fix=f"{_DIVIDE}; shuffle before that, by a seed that all workers share."
        if again
        else f"{_DIVIDE}: what is left of a division has to be some worker's, too.",
        evidence={**held, "again": again, "lacking": lacking},
        about=f"{facts.name} among workers",
    )


def _repeated(
    found: Callable[..., Finding],
    facts: WholePass,
    among: Among,
    place: Location,
    evidence: Mapping[str, str | int | float],
) -> Finding:
    if among.shards:
        return found(
            f"gives each sample {among.shards} times in an epoch, once from each of its "
            f"{among.shards} shards: {counted(among.given, *_UNITS[among.unit])} in place of "
            f"{among.alone:,}",
            at=place,
            severity=Severity.WARNING,
            why="`datasets` calls its generator once for each shard, with that one in gen_kwargs, "
            "and it gives all there is each time.",
            fix="Have the generator go through what it is given: a list in gen_kwargs is the list "
            "of shards.",
            evidence=evidence,
            about=f"{facts.name} shards",
        )
    times, goes_on = facts.num_workers, facts.epochs[0].ended == "cut"
    why = "The data set does not ask which worker it runs in, so each gives all of it: "
    fix, workaround = f"{_DIVIDE}.", "num_workers=1 gives each sample once."
    then = f"an epoch is {times} times as long, and trains on everything as often."
    if goes_on:
        then = f"{times} batches that follow each other hold the same."
    if among.lacking:
        why = "All workers have parts of one size, and each the same samples in its own: "
        then = f"without workers, {among.lacking:,} others come as well."
        fix = "Have each worker take another part, by torch.utils.data.get_worker_info(), or make "
        fix += "samples by random numbers that differ: torch.initial_seed()."
    return found(
        f"gives each sample {times} times{'' if goes_on else ' in an epoch'}, once from each "
        f"worker: {counted(among.given, *_UNITS[among.unit])} in place of {among.alone:,}"
        f"{', as far as it was run' if goes_on else ''}",
        at=place,
        severity=Severity.WARNING,
        why=f"{why}{then}",
        fix=fix,
        workaround=workaround,
        evidence=evidence,
        about=f"{facts.name} twice",
    )
