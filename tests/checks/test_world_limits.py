"""The smallest world that breaks, and the table of the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from preflight.facts import WorldFacts
from preflight.finding import Finding, Severity
from preflight.ranks.divide import Splitter
from preflight.ranks.named_splits import RULES
from preflight.ranks.rank_trials import RankTrials
from preflight.settings.split import steps_of
from preflight.testing import ask


def facts(count: int, *split: str, part: str = "data", workers: int = 1) -> WorldFacts:
    divided = Splitter(steps=steps_of(split), rules=RULES)
    rows, bad, tried = RankTrials(divided, count, workers, 60).find(8)
    return WorldFacts(
        name="it",
        part=part,
        noun="shard",
        split=split,
        items=count,
        worlds=rows,
        first_bad=bad,
        tried=tried,
        pads="distributed-sampler" in split,
        drops="distributed-sampler-drop-last" in split,
    )


def look(found: WorldFacts) -> list[Finding]:
    return ask("world-limits", found)


@pytest.mark.parametrize(
    ("count", "split", "part"),
    [
        (64, ("strided",), "data"),
        (5, ("contiguous",), "cache"),
        (5, ("distributed-sampler",), "data"),
        (1_000, ("distributed-sampler-drop-last",), "data"),
    ],
)
def test_what_never_breaks_is_left_alone(count: int, split: tuple[str, ...], part: str) -> None:
    """Ranks of a cache may have nothing to write."""
    assert look(facts(count, *split, part=part)) == []


def test_the_largest_world_that_works_is_named_with_its_workers() -> None:
    (one,) = look(facts(48, "split_by_node", "split_by_worker", workers=4))

    assert one.severity is Severity.NOTE
    assert one.message == (
        "works up to 12 ranks x 4 workers; on 13 ranks 4 workers have nothing, by its 48 shards "
        "and split_by_node, then split_by_worker"
    )
    assert [row.count for row in one.rows] == [1, 2, 4, 8, 16, 32, 64]
    assert one.rows[0].text == "rank has 48 shards"
    assert one.rows[3].text == "ranks have 6 shards each"


def test_what_breaks_on_one_rank_is_told_so() -> None:
    (one,) = look(facts(3, "split_by_node", "split_by_worker", workers=4))

    assert one.message.startswith("breaks on 1 rank x 4 workers already: 1 worker has nothing")


def test_a_cache_breaks_where_a_sample_has_no_rank_or_several() -> None:
    (lost,) = look(facts(48, "strided", "contiguous", part="cache"))
    (doubled,) = look(facts(8, "distributed-sampler", part="cache"))

    assert "works up to 1 rank; on 2 ranks 24 shards have no rank" in lost.message
    assert "works up to 2 ranks; on 3 ranks 1 shard is written by several" in doubled.message


def test_where_time_was_up_the_rest_is_not_guessed() -> None:
    found = facts(48, "strided")

    assert look(replace(found, first_bad=(), worlds=found.worlds[:1], tried=1)) == []
