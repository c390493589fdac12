"""Ranks of a job that see something else than rank 0.

What it finds
    Where a launcher has started several ranks (`torchrun --nproc-per-node 8 -m preflight run
    train.py`), each of them looks by itself, and rank 0 gathers what they saw through the store of
    the job. Found is in what they differ: versions of Python, torch and other packages, the driver,
    the GPUs; variables that decide how they work together (NCCL_…, OMP_…, PYTHONHASHSEED); shards
    and images, by their number and a hash of their list; how many batches a loader has. And what
    another rank has found that rank 0 has not, at its own place: a rank whose script dies or hangs
    is told so. What a rank raises since another one has gone is left out. A rank that tells nothing
    has died or is late: then this is CANNOT JUDGE.

    Of ranks that a script starts itself (torch.multiprocessing.spawn, mp.Process), how many batches
    a loader has is compared in the same way, where they are in a process group.

    How many batches a loader has is an error, but for evaluations, and where `Join` evens it out.
    That GPUs and network interfaces are numbered otherwise, and folders named otherwise, is not
    compared.

Why it matters
    A job is as good as its worst rank. One with fewer batches leaves its loop, and the others wait
    in their next all-reduce until it times out; one with another torch may not be understood by the
    others; one with other data trains all of them on it.

What to do
    Make the ranks alike: the same environment on each node, the same data, the same batches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter

from preflight.check import check
from preflight.facts import (
    EVALUATES,
    EVENED,
    FoundThere,
    Frame,
    RankSeen,
    RanksSeen,
    Same,
    StartedRanks,
)
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import counted, shown

_LOST = re.compile(
    r"(?i)connection (was )?(closed|reset|refused)|broken pipe|closed by peer"
    r"|recvvalue|DistNetworkError|DistStoreError|NCCL|timed? ?out"
)

# Of a last batch that is shorter on one rank, nobody waits.
_SAMPLES = re.compile(r" of [\d,]+ samples")

LENGTH = "batches of an epoch"

_ASIDE = {EVALUATES, EVENED}


def _alone(facts: RanksSeen | StartedRanks, _job: Job) -> str | None:
    of_another = isinstance(facts, RanksSeen) and facts.rank
    return "rank 0 tells of all ranks" if of_another else None


@check(
    over=(RanksSeen, StartedRanks),
    title="ranks that see something else than rank 0",
    many="things are otherwise on some ranks",
    severity=Severity.ERROR,
    skip=_alone,
)
def world_unlike(facts: RanksSeen | StartedRanks, _job: Job) -> Iterator[Finding]:
    """Report what other ranks have found, and then in what they differ."""
    if isinstance(facts, StartedRanks):
        yield from _unlike_lengths(facts)
        return
    yield from _found(facts)
    evened = any(one.what == EVENED for each in facts.every for one in each.same)
    mild = {one.at for each in facts.every for one in each.same if one.what == EVALUATES}
    for key, by_rank in _by_what(facts.every).items():
        most = Severity.WARNING if evened or key[1] in mild else Severity.ERROR
        yield from _unlike(key, by_rank, most, evened=evened)


def _unlike_lengths(facts: StartedRanks) -> Iterator[Finding]:
    """Report loaders that are longer on some of the ranks that a script has started itself.

    What a line begins is compared in its order, as far as all ranks have come.
    """
    by_line: dict[Frame, dict[int, list[str]]] = {}
    for one in facts.lengths:
        if one.at is not None:
            value = f"{one.batches:,} batches of {one.samples:,} samples"
            by_line.setdefault(one.at, {}).setdefault(one.rank, []).append(value)
    for at, values in by_line.items():
        most = Severity.WARNING if at in facts.evaluates else Severity.ERROR
        most = Severity.NOTE if facts.evened else most
        least = min(map(len, values.values()))
        by_rank = {
            rank: Same(
                what=LENGTH,
                value=", then ".join(dict.fromkeys(those[:least])),
                severity=Severity.ERROR,
            )
            for rank, those in values.items()
        }
        yield from _unlike((LENGTH, at.place()), by_rank, most, evened=facts.evened)


def _by_what(every: Iterable[RankSeen]) -> Mapping[tuple[str, Location | None], dict[int, Same]]:
    """Put what ranks tell of the same thing together."""
    found: dict[tuple[str, Location | None], dict[int, Same]] = {}
    for each in every:
        for one in each.same:
            if one.what not in _ASIDE:
                found.setdefault((one.what, one.at), {})[each.rank] = one
    for by_rank in found.values():
        first = next(iter(by_rank.values()))
        for each in every:
            if first.absent and each.rank not in by_rank:
                by_rank[each.rank] = Same(what=first.what, value=first.absent, absent=first.absent)
    return found


def _unlike(
    key: tuple[str, Location | None], by_rank: Mapping[int, Same], most: Severity, *, evened: bool
) -> Iterator[Finding]:
    """Report one thing; of lengths, no more than so severely."""
    what, at = key
    groups: dict[str, list[int]] = {}
    for rank, one in sorted(by_rank.items(), key=itemgetter(0)):
        groups.setdefault(one.value, []).append(rank)
    if len({_SAMPLES.sub("", one) for one in groups}) < 2:
        return
    said = "; ".join(f"{shown(value)} on {_ranks(ranks)}" for value, ranks in groups.items())
    severity = max(one.severity for one in by_rank.values())
    is_length = at is not None
    if is_length and evened:
        why = "In torch's Join, which the job enters, the others go on; outside of it, they wait."
        fix = "See that this loop stands in it."
    elif is_length:
        why = "The rank with fewer leaves its loop, and the others wait for it until they time out."
        fix = "Give every rank as many batches: DistributedSampler pads, or drops with drop_last."
    else:
        why = "What is tried on one rank does not hold for the others."
        fix = "Make it the same on all ranks."
    yield world_unlike.found(
        f"{shown(what)}: {said}",
        at=at or Location(name="ranks"),
        severity=min(severity, most) if is_length else severity,
        why=why,
        fix=fix,
        about=what,
    )


def _ranks(ranks: list[int]) -> str:
    few = sorted(ranks)
    if len(few) > 4:
        return f"{counted(len(few), 'rank')} ({few[0]}, {few[1]}, …)"
    return f"rank{'s' * (len(few) > 1)} {', '.join(map(str, few))}"


def _found(facts: RanksSeen) -> Iterator[Finding]:
    """Give what others have found and rank 0 has not; of ranks that lost another, what it lost."""
    known = {one.fingerprint for each in facts.every[:1] for one in each.found}
    every = [one for each in facts.every for one in each.found]
    causes = any(one.severity == Severity.ERROR and not _has_lost(one) for one in every)
    told: dict[str, tuple[FoundThere, list[int]]] = {}
    for each in facts.every[1:]:
        for one in each.found:
            if one.fingerprint not in known and not (causes and _has_lost(one)):
                told.setdefault(one.fingerprint, (one, []))[1].append(each.rank)
    for one, ranks in told.values():
        yield world_unlike.found(
            f"{one.message}, on {_ranks(ranks)} of {facts.size} ({one.check})",
            at=one.at,
            severity=one.severity,
            why=one.why,
            fix=one.fix or f"Mend it on {_ranks(ranks)}.",
            about=f"{one.check} {one.fingerprint}",
        )


def _has_lost(one: FoundThere) -> bool:
    """Whether it may be raised since another rank has gone, or waits for it."""
    return one.check == "script-stuck" or bool(_LOST.search(one.message))
