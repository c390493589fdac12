"""Ranks that run out of batches while the others wait."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.facts import RankBatches, RankCount, WorldFacts
from preflight.finding import Finding, Severity
from preflight.ranks.divide import Splitter, tally
from preflight.ranks.named_splits import RULES
from preflight.settings.split import steps_of
from preflight.testing import ask
from tests.asking import reason


def facts(count: int, ranks: int, split: str, **more: Any) -> WorldFacts:
    found = tally(Splitter(steps=steps_of(split), rules=RULES), count, ranks, 1)
    given = {"part": "loader", "noun": "sample", "batch_size": 4, "items": count, **more}
    return WorldFacts(name="it", split=(split,), ranks=ranks, each=tuple(found.each), **given)


def look(*given: Any, **more: Any) -> list[Finding]:
    return ask("world-steps", facts(*given, **more))


@pytest.mark.parametrize("split", ["distributed-sampler", "distributed-sampler-drop-last"])
@pytest.mark.parametrize("drop_last", [True, False, None])
@pytest.mark.parametrize("count", [13, 16, 33, 100])
def test_samplers_that_pad_or_drop_are_left_alone(
    split: str, count: int, *, drop_last: bool | None
) -> None:
    assert look(count, 4, split, drop_last=drop_last) == []


def test_one_sample_more_that_makes_no_batch_is_left_alone() -> None:
    assert look(22, 4, "strided", drop_last=False) == []
    assert look(18, 4, "strided", drop_last=True) == []


@pytest.mark.parametrize(
    "more",
    [
        {"part": "cache"},
        {"noun": "shard"},
        {"batch_size": None},
        {"unstable": True},
        {"ranks": 1},
        {"counted": True},
    ],
)
def test_what_has_no_known_batches_is_skipped(more: dict[str, Any]) -> None:
    given = {"ranks": 4, **more}
    assert reason("world-steps", facts(17, given.pop("ranks"), "strided", **given)) is not None
    assert reason("world-steps", facts(17, 4, "strided")) is None


def test_a_rank_that_runs_out_first_is_named_with_what_evens_it_out() -> None:
    (one,) = look(17, 4, "strided", drop_last=False)

    assert one.message == "gives rank 1 1 batch of 4 and rank 0 2"
    assert "after step 1" in (one.why or "")
    assert one.fix == "Set drop_last=True, which evens it out here."
    assert [row.count for row in one.rows] == [2, 1, 1, 1]


@pytest.mark.parametrize("drop_last", [False, None])
def test_dropping_what_is_no_full_batch_of_any_rank_is_no_advice(*, drop_last: bool | None) -> None:
    """It would leave no step at all."""
    (one,) = look(3, 4, "contiguous", drop_last=drop_last)

    assert "drop_last=True" not in (one.fix or "")
    assert "pads" in (one.fix or "")


def test_where_nobody_knows_of_drop_last_it_is_said() -> None:
    (one,) = look(17, 4, "strided")

    assert one.message.endswith("and rank 0 2, without drop_last")


def test_drop_last_may_not_even_it_out() -> None:
    (one,) = look(15, 4, "strided", drop_last=True)

    assert one.message == "gives rank 3 0 batches of 4 and rank 0 1"
    assert "DistributedSampler" in (one.fix or "")


# --- loaders that were really made ----------------------------------------------------------------


def made(*batches: int, ranks: int | None = None, **more: Any) -> list[Finding]:
    """What is said of a loader whose ranks have so many batches of four; negative: and more."""
    counts = tuple(
        RankCount(rank, abs(one), samples=4 * one if one >= 0 else None, ended=one >= 0)
        for rank, one in enumerate(batches)
    )
    given = {"ranks": ranks or len(counts), "counts": counts, "batch_size": 4, **more}
    return ask("world-steps", RankBatches(name="train:make", **given))


def test_equal_numbers_are_left_alone_and_so_are_streams_without_an_end() -> None:
    assert made(3, 3, 3) == []
    assert made(-900, -700) == []
    assert made(0, 0) == []


def test_a_stream_that_ends_while_another_goes_on_is_found() -> None:
    (one,) = made(-900, 700, is_stream=True)

    assert one.message == "gives rank 1 700 batches and rank 0 900 and more"
    assert made(-600, 700, is_stream=True) == []


def test_a_rank_whose_stream_has_no_end_goes_on_whatever_was_drawn_of_it() -> None:
    """Of such a stream one batch is drawn."""
    drawn = RankCount(0, 1, ended=False, endless=True)
    both = RankBatches(name="train:make", ranks=2, counts=(drawn, RankCount(1, 5)))
    (one,) = ask("world-steps", both)

    assert one.message == "gives rank 1 5 batches and rank 0 batches without end"
    assert "most" not in one.evidence
    assert one.rows[0].text == "rank 0, without end"
    none_ends = RankBatches(name="it", ranks=2, counts=(drawn, drawn._replace(rank=1)))
    assert ask("world-steps", none_ends) == []


def test_where_not_all_ranks_were_made_it_is_said() -> None:
    (one,) = made(3, 2, ranks=64)

    assert one.message.endswith("of 2 of 64 ranks that were made")


def test_what_evens_it_out_is_that_of_the_library() -> None:
    fixes = [
        made(3, 2, **more)[0].fix or ""
        for more in ({"even_batches": False}, {"is_webdataset": True}, {"is_stream": True}, {})
    ]

    for fix, word in zip(
        fixes, ("even_batches=True", "with_epoch(2)", "islice", "pads"), strict=True
    ):
        assert word in fix


def test_what_could_not_be_made_by_ranks_is_skipped() -> None:
    assert reason("world-steps", RankBatches(name="it", reason="it raises")) == "it raises"
    assert reason("world-steps", RankBatches(name="it")) is None


def test_ranks_that_are_joined_do_not_wait() -> None:
    """A note, which holds up no job: what `Join` is for."""
    named = {"joined": "train.py:12"}
    for (one,) in (look(17, 4, "strided", drop_last=False, **named), made(5, 4, **named)):
        assert one.severity == Severity.NOTE
        assert "the others go on where train.py:12 stands around their loop" in (one.why or "")
        assert "hang" not in (one.why or "")
