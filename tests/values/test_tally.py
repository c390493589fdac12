"""Counts by key are bounded, and the same in whatever order things and parts come."""

from __future__ import annotations

import random
import tracemalloc
from collections import Counter
from operator import neg, pos

import pytest

from preflight.values.tally import ENDS, NAMES, Counted, Tally


def tallied(things: list[tuple[int, str]], most: int = 20) -> tuple[list[Counted], int]:
    tally = Tally[int](pos, neg, most=most)
    for key, name in things:
        tally.add(key, name)
    return list(tally.counted()), tally.others


def things(number: int, keys: int, seed: int) -> list[tuple[int, str]]:
    dice = random.Random(seed)
    return [(dice.randrange(keys), f"{place:06}") for place in range(number)]


@pytest.mark.parametrize("keys", [1, 5, 20, 21, 45, 500])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_kept_is_counted_exactly(keys: int, seed: int) -> None:
    """The first keys, and those at the other end; nothing is counted twice or lost."""
    every = things(2_000, keys, seed)
    counted, others = tallied(every)

    exact = Counter(key for key, _ in every)
    there = sorted(exact)
    kept = there if len(there) <= 20 else sorted({*there[:20], *there[-ENDS:]})
    assert [one.key for one in counted] == kept
    assert {one.key: one.things for one in counted} == {key: exact[key] for key in kept}
    assert others == sum(exact.values()) - sum(exact[key] for key in kept)


@pytest.mark.parametrize("keys", [5, 45, 500])
def test_no_order_and_no_division_makes_a_difference(keys: int) -> None:
    every = things(2_000, keys, 7)
    whole = tallied(every)
    shuffled = list(every)
    random.Random(1).shuffle(shuffled)
    assert tallied(shuffled) == whole

    parts = Tally[int](pos, neg, most=20)
    for begin in range(0, 2_000, 130):
        parts.merge(*tallied(shuffled[begin : begin + 130]))
    assert (list(parts.counted()), parts.others) == whole


def test_examples_are_the_first_by_name_and_stand_at_the_ends_only() -> None:
    counted, _ = tallied([(key, name) for name in "edcba" for key in range(2 * ENDS + 1)], 50)

    assert counted[0].names == ("a", "b", "c")[:NAMES]
    assert counted[-1].names == counted[0].names
    assert counted[ENDS] == Counted(ENDS, 5, ())


def test_a_hundred_thousand_keys_take_no_more_than_two_thousand() -> None:
    def peak(number: int) -> int:
        tally = Tally[int](pos, neg)
        tracemalloc.start()
        try:
            for key in range(number):
                tally.add(key * 7_919 % number, f"{key:06}.jpg")
            assert sum(one.things for one in tally.counted()) + tally.others == number
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(100_000) < 2 * peak(2_000) < 4e6
