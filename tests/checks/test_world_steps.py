"""Ranks that run out of batches while the others wait."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.facts import WorldFacts
from preflight.finding import Finding
from preflight.findings import registry
from preflight.job import Job
from preflight.ranks.divide import Splitter, tally
from preflight.ranks.rules import RULES
from preflight.settings.split import steps_of
from preflight.testing import ask

CHECK = registry.built_in()["world-steps"]


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
    [{"part": "cache"}, {"noun": "shard"}, {"batch_size": None}, {"unstable": True}, {"ranks": 1}],
)
def test_what_has_no_known_batches_is_skipped(more: dict[str, Any]) -> None:
    assert CHECK.skip is not None
    given = {"ranks": 4, **more}
    assert CHECK.skip(facts(17, given.pop("ranks"), "strided", **given), Job()) is not None
    assert CHECK.skip(facts(17, 4, "strided"), Job()) is None


def test_a_rank_that_runs_out_first_is_named_with_what_evens_it_out() -> None:
    (one,) = look(17, 4, "strided", drop_last=False)

    assert one.message == "gives rank 1 1 batch of 4 and rank 0 2"
    assert "after step 1" in (one.why or "")
    assert one.fix == "Set drop_last=True, which evens it out here."
    assert [row.count for row in one.rows] == [2, 1, 1, 1]


def test_where_nobody_knows_of_drop_last_it_is_said() -> None:
    (one,) = look(17, 4, "strided")

    assert one.message.endswith("and rank 0 2, without drop_last")


def test_drop_last_may_not_even_it_out() -> None:
    (one,) = look(15, 4, "strided", drop_last=True)

    assert one.message == "gives rank 3 0 batches of 4 and rank 0 1"
    assert "DistributedSampler" in (one.fix or "")
