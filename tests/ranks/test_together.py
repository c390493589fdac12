"""All ranks together have what one rank alone has, or some of it is of nobody."""

from __future__ import annotations

import random
from typing import Any

import pytest

from preflight.objects.facts import Definition
from preflight.ranks.made.by_bytes import by_bytes
from preflight.ranks.made.epoch_items import told_of_epoch
from preflight.ranks.made.facts import OtherItems
from preflight.ranks.made.rank_differences import order_of
from preflight.ranks.made.together import may_lack, may_leave, nobodys

OWN = {"batch_size": None}
ABOUT = {"even_batches": None, "is_webdataset": False, "batch_size": 2, "drop_last": False}


def told(*keys: int, by: str = "place", **more: Any) -> dict[str, Any]:
    """What a rank tells of a loader with these items."""
    counts = {"batches": -(-len(keys) // 2), "samples": len(keys), "ended": True}
    names = [f"{one}.png" for one in keys] if by == "name" else []
    about = {**ABOUT, **more.pop("about", {})}
    given = {"about": about, "workers": 0, "is_stream": False, "keys": [*keys], "by": by}
    return {**given, **counts, "names": names, "length": len(keys), **more}


def counted(number: int, **more: Any) -> dict[str, Any]:
    return told(*range(number), **more)


def left(parts: list[Any], whole: Any, ranks: int | None = None, fewer: int = 1) -> Any:
    return nobodys(dict(enumerate(parts)), whole, ranks or len(parts), fewer)


def asks(*parts: Any) -> bool:
    return may_lack(dict(enumerate(parts)), len(parts))


# --- healthy --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        ([counted(16)] * 4, counted(64)),
        ([counted(17)] * 4, counted(65)),  # padded
        ([counted(16)] * 4, counted(67)),  # a sampler that drops
        ([counted(16, about={"drop_last": True})] * 4, counted(72, about={"drop_last": True})),
        ([counted(10)] * 4, counted(10)),  # of each part no more than ten
        ([counted(64)] * 4, counted(64)),  # all of them on each rank
        ([counted(1), counted(1), counted(1), counted(0)], counted(3)),  # more ranks than items
        ([counted(0)] * 4, counted(0)),
        ([counted(62)] * 4, counted(256)),  # what does not fill a batch of each rank
        ([counted(16, about=OWN)] * 4, counted(71, about=OWN)),  # batches of the job's own
        ([counted(12, skips=2)] * 4, counted(60, skips=2)),  # those that were trained on before
    ],
)
def test_parts_that_make_the_whole_leave_nothing(parts: list[Any], whole: Any) -> None:
    assert left(parts, whole) is None


def test_a_stream_may_leave_a_batch_of_each_worker_over() -> None:
    """Those that it makes itself, of which the loader knows nothing."""
    how = {"is_stream": True, "workers": 2, "about": {"batch_size": None}}
    parts = [counted(16, batches=4, **how)] * 4

    assert left(parts, counted(90, batches=23, **how)) is None
    assert left(parts, counted(200, batches=50, **how)) == OtherItems("twice", 136, 200)


def test_samples_that_each_rank_draws_by_itself_are_no_parts() -> None:
    steps, how = (1, 3, 5, 7), {"by": "name", "length": 32}
    drawn = [told(*(one * step % 32 for one in range(8)), **how) for step in steps]

    assert left(drawn, told(*range(32), by="name")) is None


@pytest.mark.parametrize(
    "parts",
    [
        [(*range(16), 0), (*range(16, 32), 1), range(32, 48), range(48, 64)],  # padded
        [[*range(57), *range(7)][one::4] for one in range(4)],
        [range(32), range(32), range(32, 64), range(32, 64)],  # two groups of ranks
        [(0, 1, 2, 3, 4, 5, 6, *range(one, 64, 4)) for one in (7, 8, 9, 10)],  # what all have
        [range(64), range(64), range(40), range(40)],
    ],
    ids=["to even parts", "to whole batches", "groups", "all", "of the whole"],
)
def test_samples_that_several_ranks_have_on_purpose_are_left_alone(parts: list[Any]) -> None:
    whole = told(*range(max(map(max, parts)) + 1), by="name")

    assert left([told(*dict.fromkeys(one), by="name") for one in parts], whole) is None


def test_ranks_that_have_all_of_one_data_set_are_not_asked_for_more() -> None:
    """No loader is made once more for one rank where there is nothing else that it could have."""
    assert not asks(counted(2, draws=[1]), counted(2, draws=[1]))
    assert not asks(told(1, by="name"), {**told(2, by="name"), "reason": "it raises"})
    assert not asks(told(1, by="name", ended=False), told(2, by="name"))
    assert asks(told(1, by="name"), told(2, by="name"))
    assert asks(told(1, by="name"), told(1, by="name"))
    assert asks(told(by=""), told(by=""))


def test_only_ranks_with_parts_are_asked_what_one_more_would_have() -> None:
    half = told(0, 1, by="name", length=4)

    assert not may_leave({0: half, 1: half}, 2)
    assert not may_leave({0: half, 1: told(2, 3, by="name", length=4)}, 2)
    assert may_leave({0: half, 1: told(2, by="name", length=4)}, 2)
    assert not may_leave({0: half, 63: told(2, by="name", length=4)}, 64)


# --- damage ---------------------------------------------------------------------------------------


def test_a_part_of_a_part_is_counted_also_of_samples_without_names() -> None:
    assert left([counted(4)] * 4, counted(64)) == OtherItems("twice", 48, 64)
    assert left([counted(16)] * 2, counted(64)) == OtherItems("twice", 32, 64)


def test_more_than_a_batch_of_each_rank_is_told_whoever_makes_batches() -> None:
    assert left([counted(16, about=OWN)] * 4, counted(73, about=OWN)) == OtherItems("twice", 9, 73)
    assert left([counted(4, skips=2)] * 4, counted(60, skips=2)) == OtherItems("twice", 44, 60)


def test_batches_are_counted_where_nobody_knows_their_samples() -> None:
    parts = [counted(0, by="", batches=4, samples=None)] * 4

    assert left(parts, counted(0, by="", batches=64, samples=None)) == OtherItems("twice", 48, 64)


def test_of_many_ranks_those_that_were_made_are_enough_where_they_are_even() -> None:
    """And for the whole those of an eighth of them, which takes no more memory than they have."""
    made = [counted(4), counted(4), counted(3)]

    assert left(made, counted(256), ranks=64, fewer=8) == OtherItems("twice", 1_792, 2_048, ranks=8)
    assert left(made, counted(32), ranks=64, fewer=8) is None
    assert left([counted(4), counted(90)], counted(2_048), ranks=64, fewer=8) == ""


def test_what_rank_0_hands_out_is_all_that_there_is() -> None:
    """As accelerate's dispatcher, on whatever part it reads."""
    here = counted(16, handed_out=True)

    assert asks(here, {"handed_out": True})
    assert left([here, {"handed_out": True}], counted(32)) == OtherItems("twice", 16, 32)
    assert left([here, {"handed_out": True}], counted(16)) is None
    assert left([here] * 2, counted(16), ranks=64, fewer=8) is None


def test_parts_that_are_the_same_on_several_ranks_leave_the_others_to_nobody() -> None:
    """Ranks 0 and 2 of two nodes, where LOCAL_RANK divides."""
    parts = [told(*range(rank % 2, 32, 4), by="name") for rank in range(4)]

    found = left(parts, told(*range(32), by="name"))

    assert found == OtherItems("alike", 16, 32, before="2.png")


def test_shards_that_are_left_over_are_told_though_they_are_few() -> None:
    """More than a batch of each rank, and less than a tenth: what a bucket leaves over, too."""
    assert left([counted(60)] * 4, counted(264)) == OtherItems("twice", 24, 264)


SLICES = (range(19), range(13, 35), range(29, 51), range(45, 64))


@pytest.mark.parametrize("how", [{"by": "name"}, {"by": "key", "is_stream": True, "length": None}])
def test_slices_that_overlap_are_counted(how: dict[str, Any]) -> None:
    """Each sample once, however many ranks have it."""
    found = left([told(*one, **how) for one in SLICES], told(*range(64), **how))

    assert found == OtherItems("several", 18, 64, before="13.png" if how["by"] == "name" else "")


def test_slices_of_samples_without_names_overlap_where_they_are_more_than_the_whole() -> None:
    parts = [counted(len(one), draws=[number]) for number, one in enumerate(SLICES)]

    assert left(parts, counted(64)) == OtherItems("several", 18, 64)


@pytest.mark.parametrize("how", [{}, {"length": 64, "replicas": 4}, {"is_stream": True}])
def test_parts_by_a_seed_of_each_rank_are_not_the_whole(how: dict[str, Any]) -> None:
    """Lists of their own, a sampler among as many ranks, a stream; what they draw is left alone."""
    shuffled = [random.Random(rank).sample(range(64), 64) for rank in range(4)]
    names: dict[str, Any] = {"by": "name", **how}
    parts = [told(*one[rank::4], **names) for rank, one in enumerate(shuffled)]
    there = {key for one in parts for key in one["keys"]}

    found = left(parts, told(*range(64), by="name", is_stream=names.get("is_stream", False)))

    assert isinstance(found, OtherItems)
    assert (found.cause, found.others, found.of) == ("overlapping", 64 - len(there), 64)


# --- without names --------------------------------------------------------------------------------

BYTES = [11, 12, 13, 14, 15, 16, 17, 18, 19, 20]


def rows(*of: int, **more: Any) -> dict[str, Any]:
    """What a rank tells of a list of its own, without names."""
    return counted(len(of), draws=[*of], bytes=[*of], **more)


def streamed(*of: int) -> dict[str, Any]:
    return told(*of, by="whole", is_stream=True)


@pytest.mark.parametrize("made", [rows, streamed])
def test_samples_without_names_are_known_by_their_bytes(made: Any) -> None:
    one, other = made(*BYTES[:5]), made(*BYTES[1:6])
    known = by_bytes({0: one, 1: other}, made(*BYTES), one)

    assert known is not None
    assert left([one, other], made(*BYTES)) is None
    assert nobodys(*known[:2], 2, 1) == OtherItems("overlapping", 4, 10)


@pytest.mark.parametrize(
    ("one", "other", "again"),
    [
        (BYTES[:5], BYTES[5:], [1, 2, 3, 4, 5]),  # made of random numbers
        (BYTES[:5], [1, 2, 3, 4, 5], BYTES[:5]),  # a rank makes others of them
        ([11, 11, 11, 11, 11], BYTES[5:], [11, 11, 11, 11, 11]),  # most of them are equal
        ([], BYTES[5:], []),
    ],
)
def test_bytes_that_do_not_tell_samples_are_not_taken(
    one: list[int], other: list[int], again: list[int]
) -> None:
    for made in (rows, streamed):
        parts = {0: made(*one), 1: made(*other)}

        assert by_bytes(parts, made(*BYTES), made(*again)) is None
        assert by_bytes(parts, made(*BYTES), None) is None
        assert by_bytes({**parts, 1: {"reason": "it raises"}}, made(*BYTES), made(*one)) is None


# --- nobody knows ---------------------------------------------------------------------------------


def test_a_whole_that_cannot_be_made_is_the_reason() -> None:
    assert left([counted(4)] * 2, {"reason": "it raises"}) == "made for one rank alone: it raises"
    assert "does not end" in left([counted(4)] * 2, counted(8, ended=False))


def test_a_whole_that_does_not_end_is_enough_where_it_has_more_already() -> None:
    assert left([counted(4)] * 2, counted(30, ended=False)) == OtherItems("twice", 22, 30)


# --- as libraries make them -----------------------------------------------------------------------

RANKS = 4
NAMES = [f"{number:02}.png" for number in range(16)]


def _prepared(rank: int, replicas: int | None, ranks: int = RANKS) -> dict[str, Any]:
    """What a rank tells of it, as `prepare` makes it of a loader with such a sampler."""
    shards = pytest.importorskip("accelerate.data_loader")
    from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, SequentialSampler

    sampler: Any = SequentialSampler(NAMES)
    if replicas is not None:
        place = rank % replicas
        sampler = DistributedSampler(NAMES, replicas, place)  # type: ignore[arg-type, var-annotated]
    batches = shards.BatchSamplerShard(BatchSampler(sampler, 2, drop_last=False), ranks, rank)
    loader = DataLoader(NAMES, batch_sampler=batches)  # type: ignore[arg-type, var-annotated]
    return told_of_epoch(loader, lambda: None, draws=rank in (0, RANKS - 1))


@pytest.mark.parametrize(
    ("replicas", "lost"),
    [(None, ()), (1, ()), (RANKS, (OtherItems("twice", 8, 16),))],
    ids=["no other", "of one rank", "of all ranks"],
)
def test_samples_of_a_part_of_a_part_are_counted(
    replicas: int | None, lost: tuple[OtherItems, ...]
) -> None:
    """Four real ranks had 8 of the 16."""
    tellings = {rank: _prepared(rank, replicas) for rank in range(RANKS)}
    whole = _prepared(0, None if replicas is None else 1, ranks=1)
    both = tellings[0], tellings[RANKS - 1]

    found = nobodys(tellings, whole, RANKS, 1)

    assert order_of("it", Definition(), (RANKS, 1), both, {}, found).found == lost
