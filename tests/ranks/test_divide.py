"""Items are divided as libraries divide them, and it is counted who has how many."""

from __future__ import annotations

import time
import tracemalloc
from array import array

import pytest

from preflight.kinds.asked import CannotLookError
from preflight.ranks.divide import NOBODY, SEVERAL, Splitter, owned, shared_entries, tally
from preflight.ranks.facts import World
from preflight.ranks.named_splits import RULES, Items, RankWorker, Rule, shards_or_samples
from preflight.ranks.rank_trials import RankTrials
from preflight.settings.split import WORDS, mistake_in, runs_code, steps_of

KEEPING = ("contiguous", "strided", "split_by_node", "datasets")


def splitter(*words: str, **rules: Rule) -> Splitter:
    return Splitter(steps=steps_of(words), rules={**RULES, **rules})


def parts(count: int, ranks: int, *words: str) -> list[list[int]]:
    """The items of each rank."""
    divided = splitter(*words)
    return [
        [one for own in divided.of_rank(count, rank, ranks, 1) for one in own]
        for rank in range(ranks)
    ]


def old_accelerate(items: Items, at: RankWorker) -> Items:
    """What accelerate does up to 1.13: ranks that are too many have the last item."""
    own = RULES["contiguous"](items, at)
    return own if own or at.ranks == 1 else items[-1:]


# --- healthy --------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", KEEPING)
@pytest.mark.parametrize("count", [0, 1, 7, 8, 100])
@pytest.mark.parametrize("ranks", [1, 2, 3, 8, 64])
def test_a_plain_split_gives_each_item_to_one_rank(word: str, count: int, ranks: int) -> None:
    found = parts(count, ranks, word)

    assert sorted(one for own in found for one in own) == list(range(count))
    assert max(map(len, found)) - min(map(len, found)) <= 1


@pytest.mark.parametrize("count", [1, 7, 8, 100])
@pytest.mark.parametrize("ranks", [1, 2, 3, 8, 64])
def test_padding_gives_all_ranks_as_many_and_leaves_none_out(count: int, ranks: int) -> None:
    found = parts(count, ranks, "distributed-sampler")

    assert len({*map(len, found)}) == 1
    assert {one for own in found for one in own} == set(range(count))


def test_workers_divide_what_their_rank_has() -> None:
    found = tally(splitter("split_by_node", "split_by_worker"), 48, 4, 3)

    assert found.world == World(4, 3, 12, 12, 0, 0, 0, 0)
    assert tally(splitter("split_by_node"), 48, 4, 3).workers == 1


def test_one_rank_has_all() -> None:
    for word in KEEPING:
        assert parts(5, 1, word) == [[0, 1, 2, 3, 4]]


# --- damage ---------------------------------------------------------------------------------------


def test_of_three_items_the_old_accelerate_gives_the_last_to_six_of_eight_ranks() -> None:
    """As it was recorded of accelerate up to 1.13; 1.14 gives them nothing."""
    divided = splitter("accelerate", accelerate=old_accelerate)
    each = [[*divided.of(3, RankWorker(rank, 8))] for rank in range(8)]
    found = tally(divided, 3, 8, 1)

    assert each == [[0], [1], *[[2]] * 6]
    assert (found.world.several, found.world.idle) == (1, 0)
    (one,) = owned(found.numbers(SEVERAL, 5), each, "abc")
    assert one == ("c", (2, 3, 4, 5, 6, 7))
    assert tally(splitter("contiguous"), 3, 8, 1).world.idle == 5


@pytest.mark.parametrize(("ranks", "left"), [(2, 24), (4, 12), (1, 48)])
@pytest.mark.parametrize("words", [("strided", "contiguous"), ("strided & contiguous",)])
def test_two_splits_together_keep_a_part_of_a_part(
    ranks: int, left: int, words: tuple[str, ...]
) -> None:
    """One on what the other gave; or each on the whole, of which a rank has what both give it."""
    found = tally(splitter(*words), 48, ranks, 1)

    assert 48 - found.world.nobody == left
    assert found.world.several == 0


def test_items_that_nobody_has_are_found_in_their_order() -> None:
    found = tally(splitter("distributed-sampler-drop-last"), 11, 4, 1)

    assert found.numbers(NOBODY, 5) == [8, 9, 10]
    assert found.numbers(NOBODY, 2) == [8, 9]


def test_without_a_split_by_node_every_rank_has_the_same() -> None:
    assert tally(splitter("split_by_worker"), 8, 4, 2).world.several == 8


def test_shards_of_a_stream_that_ranks_do_not_divide_go_to_all() -> None:
    divided = splitter("datasets", datasets=shards_or_samples)

    assert tally(divided, 8, 4, 1).world.several == 0
    assert tally(divided, 6, 4, 1).world.several == 6


def test_samples_of_one_entry_on_two_ranks_are_found() -> None:
    entries = array("q", [0, 1, 0, 2, 2])

    assert [*shared_entries([range(2), range(2, 5)], entries)] == [(0, 0, 2)]
    assert [*shared_entries([range(5), range(0)], entries)] == []


# --- limits ---------------------------------------------------------------------------------------


def limits(count: int, ranks: int, *words: str, workers: int = 1) -> RankTrials:
    return RankTrials(splitter(*words), count, workers, 60)


@pytest.mark.parametrize(("count", "workers", "first"), [(48, 4, 13), (5, 1, 6), (40, 1, 41)])
def test_the_smallest_world_is_found_in_which_a_worker_has_nothing(
    count: int, workers: int, first: int
) -> None:
    found = RankTrials(splitter("split_by_node", "split_by_worker"), count, workers, 60).find(8)

    assert min(found[1]).ranks == first
    assert [one.ranks for one in found[0]] == [1, 2, 4, 8, 16, 32, 64]


def test_more_shards_than_workers_of_all_ranks_never_break() -> None:
    _, bad, tried = RankTrials(splitter("split_by_node", "split_by_worker"), 1_024, 8, 60).find(32)

    assert (bad, tried) == ((), 64)


def test_where_time_is_up_the_job_of_one_rank_is_told() -> None:
    rows, _, tried = RankTrials(splitter("strided"), 9, 1, 0).find(8)

    assert ([one.ranks for one in rows], tried) == ([1, 2], 2)


def test_a_split_that_raises_with_more_ranks_is_tried_no_further() -> None:
    def small(items: Items, at: RankWorker) -> Items:
        if at.ranks > 4:
            raise CannotLookError("only so many")
        return items[at.rank :: at.ranks]

    rows, bad, tried = RankTrials(splitter("small", small=small), 9, 1, 60).find(2)

    assert ([one.ranks for one in rows], bad, tried) == ([1, 2, 4], (), 4)


@pytest.mark.parametrize(
    "words",
    [
        ("split_by_node", "split_by_worker"),
        ("distributed-sampler",),
        ("strided & contiguous",),
    ],
)
def test_64_ranks_of_8_workers_over_100_000_items_take_little(words: tuple[str, ...]) -> None:
    begun = time.process_time()
    tracemalloc.start()
    try:
        divided = splitter(*words)
        tally(divided, 100_000, 64, 8)
        RankTrials(divided, 100_000, 8, 3).find(64)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 100 << 20
    assert time.process_time() - begun < 60  # a few, but for what counts the memory


# --- words ----------------------------------------------------------------------------------------


def test_every_word_of_the_settings_is_known() -> None:
    assert [word for word in WORDS if mistake_in(word)] == []
    assert {*WORDS} - {*RULES} == {"accelerate", "accelerate-padded"}
    assert mistake_in(("strided", "file.py:split & train:other")) is None


def test_dashes_and_underscores_are_alike() -> None:
    assert steps_of("split-by-node") == (("split_by_node",),)
    assert steps_of(("Distributed_Sampler", " strided&a:b ")) == (
        ("distributed-sampler",),
        ("strided", "a:b"),
    )


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("stride", "did you mean strided?"),
        ("nonsense", "known are contiguous"),
        ("train:splits[0]", "without a part of it"),
        ((), "is empty"),
        ("strided &", "'' is no way"),
    ],
)
def test_a_mistyped_word_is_told_with_the_nearest(said: str | tuple[str, ...], told: str) -> None:
    assert told in (mistake_in(said) or "")


def test_code_is_run_only_for_what_needs_it() -> None:
    assert not runs_code(steps_of(("strided", "datasets & contiguous")))
    assert runs_code(steps_of("accelerate"))
    assert runs_code(steps_of(("strided", "train:split")))
