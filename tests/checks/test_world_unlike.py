"""Ranks are held against each other: what differs is told once, with the ranks that have it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from preflight.facts import (
    EVALUATES,
    EVENED,
    FoundThere,
    Frame,
    RankLength,
    RankSeen,
    RanksSeen,
    Same,
    StartedRanks,
)
from preflight.finding import Finding, Location, Severity
from preflight.testing import ask
from tests.asking import reason

LOOP = Location(file="train.py", line=24)


def gathered(*every: RankSeen, rank: int = 0) -> RanksSeen:
    return RanksSeen(name=f"rank {rank} of {len(every)}", rank=rank, size=len(every), every=every)


def ranks(*each: tuple[Same, ...]) -> RanksSeen:
    return gathered(*(RankSeen(rank=rank, same=same) for rank, same in enumerate(each)))


def torch(version: str) -> Same:
    return Same(what="torch", value=version, absent="not installed", severity=Severity.ERROR)


def length(batches: int) -> Same:
    value = f"{batches} batches of {batches * 4} samples"
    return Same(what="batches of an epoch", value=value, at=LOOP, severity=Severity.ERROR)


def found(message: str, check: str = "script-stopped", *, fingerprint: str = "") -> FoundThere:
    return FoundThere(
        check=check,
        severity=Severity.ERROR,
        message=message,
        at=LOOP,
        fingerprint=fingerprint or message,
    )


def told(facts: RanksSeen) -> list[str]:
    return [f"{one.severity.word} {one.at}: {one.message}" for one in ask("world-unlike", facts)]


def test_ranks_that_are_alike_are_left_alone() -> None:
    assert told(ranks((torch("2.4.0"), length(10)), (torch("2.4.0"), length(10)))) == []


def test_another_version_is_told_with_the_ranks_that_have_it() -> None:
    every = [(torch("2.4.0"),)] * 6 + [(torch("2.3.1"),), ()]

    assert told(ranks(*every)) == [
        "error ranks: torch: 2.4.0 on 6 ranks (0, 1, …); 2.3.1 on rank 6; not installed on rank 7"
    ]


def test_what_only_some_ranks_have_is_no_difference_where_that_says_nothing() -> None:
    """Rank 0 may be the only one that evaluates."""
    assert told(ranks((length(10),), ())) == []


def test_a_rank_with_fewer_samples_in_as_many_batches_is_left_alone() -> None:
    """Its last batch is a shorter one."""
    shorter = replace(length(10), value="10 batches of 39 samples")

    assert told(ranks((length(10),), (shorter,))) == []


def test_a_rank_with_fewer_batches_has_the_others_wait() -> None:
    (finding,) = ask("world-unlike", ranks((length(10),), (length(9),)))

    assert str(finding.at) == "train.py:24"
    assert finding.severity == Severity.ERROR
    assert finding.message.endswith("on rank 0; 9 batches of 36 samples on rank 1")


@pytest.mark.parametrize("mild", [Same(what=EVALUATES, value="", at=LOOP), EVENED])
def test_fewer_batches_are_a_warning_where_no_rank_need_wait(mild: Same | str) -> None:
    same = mild if isinstance(mild, Same) else Same(what=mild, value="")

    assert [one[:7] for one in told(ranks((length(10), same), (length(9),)))] == ["warning"]


def test_what_another_rank_has_found_is_told_at_its_place() -> None:
    one = found("raises ValueError: it is ill")
    facts = gathered(RankSeen(rank=0), *(RankSeen(rank=n, found=(one,)) for n in (1, 2)))

    assert told(facts) == [
        "error train.py:24: raises ValueError: it is ill, on ranks 1, 2 of 3 (script-stopped)"
    ]


def test_what_rank_0_has_found_too_is_not_told_again() -> None:
    """Whatever its numbers are there: the fingerprint is the same."""
    mine, other = (found(text, fingerprint="one") for text in ("3 of 4 images", "2 of 4 images"))

    assert told(gathered(RankSeen(rank=0, found=(mine,)), RankSeen(rank=1, found=(other,)))) == []


LOST = (
    "raises RuntimeError: [pair.cc:553] Connection closed by peer [127.0.0.1]:5288",
    "raises torch.distributed.DistBackendError: NCCL error in: …, unhandled system error",
)


@pytest.mark.parametrize("text", LOST)
def test_a_rank_that_has_lost_another_is_told_only_where_nobody_knows_why(text: str) -> None:
    cause, lost = found("raises ValueError: it is ill"), RankSeen(rank=1, found=(found(text),))

    assert told(gathered(RankSeen(rank=0, found=(cause,)), lost)) == []
    assert len(told(gathered(RankSeen(rank=0), lost))) == 1


def test_a_rank_that_hangs_alone_is_told() -> None:
    stuck = found("waits in time.sleep", "script-stuck")

    assert len(told(gathered(RankSeen(rank=0), RankSeen(rank=1, found=(stuck,))))) == 1


def test_all_that_differs_has_a_fingerprint_of_its_own() -> None:
    def seen(version: str) -> tuple[Same, ...]:
        return tuple(Same(what=name, value=version) for name in ("numpy", "pillow", "Python"))

    prints = {one.fingerprint for one in _all(ranks(seen("1"), seen("2")))}

    assert len(prints) == 3


def _all(facts: RanksSeen) -> list[Finding]:
    return list(ask("world-unlike", facts))


def test_other_ranks_than_0_leave_it_to_rank_0() -> None:

    assert reason("world-unlike", gathered(rank=1)) == "rank 0 tells of all ranks"


def test_in_join_a_script_s_ranks_have_what_they_have() -> None:
    line = Frame(file="train.py", line=24, function="train", text="for batch in loader:")
    lengths = tuple(RankLength(rank, 10 - rank, 40 - rank, line) for rank in (0, 1))
    plain = StartedRanks(name="train.py", lengths=lengths)
    (waits,) = ask("world-unlike", plain)
    (goes_on,) = ask("world-unlike", replace(plain, evened=True))

    assert (waits.severity, goes_on.severity) == (Severity.ERROR, Severity.NOTE)
    assert "the others go on" in (goes_on.why or "")
