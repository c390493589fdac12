"""What ranks tell of a loader is held against each other, as plain values."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.objects.facts import Definition
from preflight.ranks.made.facts import OtherItems, RankOrder
from preflight.ranks.made.rank_differences import batches_of, order_of, raised_by
from preflight.users_code.facts import Frame, Unbuilt
from preflight.values.wire import to_wire

ABOUT = {"even_batches": None, "is_webdataset": False, "batch_size": 2, "drop_last": False}


def told(*keys: int, by: str = "name", **more: Any) -> dict[str, Any]:
    """What a rank tells of a loader with these items."""
    drawn: dict[str, Any] = {"length": len(keys), "draws": None, "drew_all": False, "there": []}
    names = [f"{one}.png" for one in keys]
    counts = {"batches": len(keys) // 2, "samples": len(keys), "ended": True, "is_stream": False}
    return {"about": ABOUT, **counts, "keys": [*keys], "by": by, "names": names, **drawn, **more}


def order(first: Any, last: Any, **again: Any) -> RankOrder:
    return order_of("it", Definition(), (2, 1), (first, last), again)


# --- healthy --------------------------------------------------------------------------------------


def test_equal_parts_are_no_finding() -> None:
    facts = order(told(0, 2), told(1, 3), hash=told(0, 2), random=told(0, 2), folder=told(0, 2))

    assert (facts.splits, facts.found, facts.reason) == (True, (), "")


def test_lists_that_differ_are_nothing_where_every_rank_has_all() -> None:
    facts = order(told(0, 1), told(0, 1), random=told(1, 0), folder=told(2, 3))

    assert (facts.splits, facts.found) == (False, ())


def test_names_that_differ_are_nothing_where_the_samples_are_the_same() -> None:
    """Each process may give its samples names of its own."""
    mine = told(0, 2, draws=[5, 6], there=[0, 2])
    facts = order(mine, told(1, 3), hash=told(8, 9, draws=[5, 6], there=[8, 9]))

    assert facts.found == ()


@pytest.mark.parametrize("draws", [[7, 8], [6, 5]])
def test_samples_of_which_none_is_one_of_before_may_be_made_up(draws: list[int]) -> None:
    parts = [told(*keys, by="place", draws=[5, 6], drew_all=True) for keys in ((0, 2), (1, 3))]
    again = told(0, 2, by="place", draws=draws, drew_all=True)

    for cause in ("random", "hash"):
        is_made_up = (cause, draws) == ("random", [7, 8])
        expected = OtherItems(cause, 2, 2, is_made_up=is_made_up)
        assert order(*parts, **{cause: again}).found == (expected,)


def test_what_a_rank_draws_with_replacement_may_be_others_each_time() -> None:
    facts = order(told(0, 0, 0, 4), told(1, 1, 3), random=told(2, 2, 2, 6))

    assert facts.found == ()


def test_tensors_that_only_places_tell_apart_may_lie_in_another_order_in_a_part() -> None:
    parts = [
        told(*range(3), by="place", draws=draws, drew_all=True)
        for draws in ([1, 2, 3], [4, 5, 6], [3, 1, 2])
    ]

    assert order(parts[0], parts[1], random=parts[2]).found == ()


@pytest.mark.parametrize(
    "last",
    [
        told(1, 3, draws=[5, 6], there=[10, 11], replicas=2),  # its own copies of the same data
        told(1, 3, draws=[7, 8], there=[1, 3], replicas=1),  # a list of its own
        told(1, 3, draws=[7, 8], there=[], replicas=2),  # without names
        told(1, 3, there=[1, 3], replicas=2),  # of which no sample can be drawn again
    ],
)
def test_a_list_of_each_rank_is_nothing_where_it_is_not_divided_again(last: Any) -> None:
    first = told(0, 2, draws=[5, 6], there=[0, 2], replicas=last["replicas"])

    assert order(first, last).found == ()


def test_lists_that_differ_by_the_rank_are_found_where_they_are_divided_again() -> None:
    first = told(0, 2, draws=[5, 6], there=[0, 2], replicas=2)
    last = told(1, 2, draws=[7, 6], there=[1, 2], replicas=2)

    assert order(first, last).found == (OtherItems("rank", 1, 2),)


def test_random_content_of_a_stream_is_not_taken_for_its_order() -> None:
    facts = order(told(1, 2, by="whole"), told(3, 4, by="whole"), random=told(5, 6, by="whole"))

    assert facts.found == ()
    assert "no names" in facts.reason


@pytest.mark.parametrize(
    "again", [{}, {"random": [1, 1, 2]}, {"last": [1, 1, 2]}, {"random": []}, {"every": [3, 3]}]
)
def test_shards_that_ranks_draw_by_themselves_are_nothing(again: Any) -> None:
    """Also where random numbers alone decide on them, or there is one shard, which they shuffle."""
    shards = {name: again.get("every", [1, 2, 2]) for name in ("first", "last", "random")} | again
    parts = {
        name: told(number, by="key", ended=False, shards=these)
        for number, (name, these) in enumerate(shards.items())
    }
    others = {} if again == {} else {"random": parts["random"]}
    facts = order(parts["first"], parts["last"], **others)

    assert facts.found == ()
    assert "does not end" in facts.reason


# --- damage ---------------------------------------------------------------------------------------


def test_others_are_counted_with_an_example() -> None:
    facts = order(told(0, 2), told(1, 3), hash=told(0, 3))

    (one,) = facts.found
    assert (one.cause, one.others, one.of, one.before, one.now) == ("hash", 1, 2, "2.png", "3.png")


@pytest.mark.parametrize(("keys", "moved"), [((4, 5), 0), ((5, 4), 2)])
def test_shards_that_all_ranks_draw_alike_are_found(keys: tuple[int, ...], moved: int) -> None:
    one, other = (told(*each, by="key", ended=False, shards=[1, 2, 2]) for each in ((4, 5), keys))

    facts = order(one, other, random=one)

    assert (facts.found, facts.reason) == ((OtherItems("drawn", moved, 3),), "")


def test_the_same_places_with_other_samples_are_found_where_a_sampler_divides() -> None:
    first, last, again = (
        told(*keys, by="place", length=90, draws=draws)
        for keys, draws in (((0, 2), [1, 2]), ((1, 3), [1, 2]), ((0, 2), [1, 7]))
    )

    (one,) = order(first, last, hash=again).found
    assert (one.others, one.of) == (1, 2)


def test_what_is_otherwise_in_each_process_is_told_once() -> None:
    """As by a shuffle that no seed begins; where one process has the same, each cause is told."""
    parts, same, other = (told(0, 2), told(1, 3)), told(0, 2), told(0, 3)

    each = order(*parts, hash=other, random=told(2, 5), folder=told(1, 2))
    two = order(*parts, hash=other, random=told(2, 5), folder=same)

    assert [one.cause for one in each.found] == ["random"]
    assert [one.cause for one in two.found] == ["hash", "random"]


def test_what_one_process_shows_counts_where_another_gave_no_answer() -> None:
    late = {"reason": "rank 0 said nothing for 30 s"}

    assert order(told(0, 2), told(1, 3), random=told(0, 3), hash=late).found
    assert order(told(0, 2), told(1, 3), random=told(0, 2), hash=late).reason == late["reason"]


# --- nobody knows ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"ended": False}, "does not end"),
        ({"by": ""}, "no names"),
        ({"by": "mixed"}, "no names"),
        ({"reason": "rank 0 could not make it"}, "rank 0 could not make it"),
        ({"talks": ["broadcast"]}, "torch.distributed.broadcast"),
    ],
)
def test_what_cannot_be_compared_has_a_reason(more: dict[str, Any], reason: str) -> None:
    assert reason in order({**told(0), **more}, told(1), hash=told(0)).reason


def test_batches_are_those_of_each_rank_that_was_tried() -> None:
    facts = batches_of("it", Definition(), 64, {63: told(1, 3), 0: told(0, 2, 4, 6)})

    assert [(one.rank, one.batches) for one in facts.counts] == [(0, 2), (63, 1)]
    assert facts.splits
    gone = batches_of("it", Definition(), 2, {0: told(0), 1: {"reason": "it raises"}})
    assert (gone.reason, gone.counts) == ("it raises", ())


def test_what_several_ranks_raise_at_one_line_is_told_once() -> None:
    """And nothing where rank 0, which has made it, cannot make it here a second time."""
    frame = Frame(file="train.py", line=3, function="make", text="FILES[RANK]")
    raised = [
        to_wire(Unbuilt(name="it", step="call", error=f"no part {rank}", frames=(frame,)))
        for rank in range(4)
    ]
    gone = {rank: {"reason": "it raises", "raised": raised[rank]} for rank in range(4)}

    (one,) = raised_by([{**gone, 0: told(0, 2)}, {**gone, 0: told(1)}])
    assert (one.ranks, one.error) == ((1, 2, 3), "no part 1")
    assert [*raised_by([gone])] == []


# --- without names --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("yours", "others"),
    [
        ([3, 1, 2, 4], 3),  # shuffled by the rank
        ([1, 2, 3, 9], 1),  # split by the rank
        ([5, 6, 7, 8], 0),  # made another by the rank, each as far as anybody knows
        ([1, 2, 3, 4], 0),
    ],
)
def test_tensors_at_other_places_of_another_rank_are_a_list_of_its_own(
    yours: list[int], others: int
) -> None:
    mine, last = (
        told(*keys, by="place", length=4, draws=draws, replicas=2)
        for keys, draws in (((0, 2), [1, 2, 3, 4]), ((1, 3), yours))
    )

    assert order(mine, last).found == ((OtherItems("rank", others, 4),) if others else ())


@pytest.mark.parametrize(
    ("yours", "more", "reason"),
    [
        ([1, 2, 3], {}, "its samples have no names, and 3 of 900 were drawn and compared"),
        ([1, 2, 3, 4], {"drew_all": True}, ""),
        ([5, 6, 7, 8], {"drew_all": True}, ""),
        ([5, 6, 7, 8], {"drew_all": True, "replicas": 2}, ""),  # counted, and held against a whole
    ],
)
def test_of_samples_without_names_it_is_said_which_were_compared(
    yours: list[int], more: dict[str, Any], reason: str
) -> None:
    mine, last = (
        told(*keys, by="place", length=900, draws=draws, **more)
        for keys, draws in (((0, 2), [1, 2, 3, 4]), ((1, 3), yours))
    )
    facts = order(mine, last)

    assert (facts.found, bool(facts.reason)) == ((), bool(reason))
    assert facts.reason.startswith(reason)


def streamed(*keys: int, **more: Any) -> dict[str, Any]:
    return told(*keys, **{"by": "whole", "is_stream": True, **more})


def test_a_stream_that_ranks_have_as_a_whole_in_one_order_is_told() -> None:
    """Whatever random numbers begin with; not where each has an order of its own, or a part."""
    same, again = streamed(1, 2, 3, 4), streamed(4, 3, 2, 1)
    (found,) = order(same, same, random=same).found

    assert (found.cause, found.others, found.of) == ("undivided", 0, 4)
    pipeline = {"about": {**ABOUT, "is_webdataset": True}, "by": "text"}
    tuples = streamed(1, 2, 3, 4, **pipeline)
    assert [one.cause for one in order(tuples, tuples, random=tuples).found] == ["shared"]
    assert order(same, again, random=same).found == ()
    assert order(same, same, random=again).found == ()
    assert order(streamed(1, 2), streamed(3, 4), random=streamed(1, 2)).found == ()
    assert (
        order(streamed(7, 7, 7, 7), streamed(7, 7, 7, 7), random=streamed(7, 7, 7, 7)).found == ()
    )


def test_what_a_sampler_gives_each_rank_whole_in_one_order_is_told() -> None:
    """Where its samples are the same ones, as far as that was asked."""
    same, other = (told(1, 2, by="place", draws=draws, drew_all=True) for draws in ([5, 6], [6, 5]))

    assert [one.cause for one in order(same, same, random=same).found] == ["unsampled"]
    assert order(same, other, random=same).found == ()
    assert order(told(1, 2), told(2, 1), random=told(1, 2)).found == ()
