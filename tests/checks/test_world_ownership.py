"""Who has which items of a world, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.facts import OneEntry, Owned, WorldFacts
from preflight.finding import Finding, Severity
from preflight.ranks.divide import NOBODY, SEVERAL, Splitter, owned, tally
from preflight.ranks.named_splits import RULES
from preflight.settings.split import steps_of
from preflight.testing import ask
from tests.asking import reason


def facts(
    count: int, ranks: int, *split: str, part: str = "cache", workers: int = 1, **more: Any
) -> WorldFacts:
    """The facts of items that are divided by splits of known names."""
    divided = Splitter(steps=steps_of(split), rules=RULES)
    found = tally(divided, count, ranks, workers)
    parts = [
        [one for own in divided.of_rank(count, rank, ranks, workers) for one in own]
        for rank in range(ranks)
    ]
    names = [f"{number:02}.jpg" for number in range(count)]
    numbers = {
        "nobody": found.world.nobody,
        "nobody_names": tuple(names[one] for one in found.numbers(NOBODY, 5)),
        "several": found.world.several,
        "several_names": owned(found.numbers(SEVERAL, 5), parts, names),
        "noun": "sample" if part == "cache" else "shard",
        "bare_workers": found.bare_workers,
        "each": tuple(found.each),
        "workers": found.workers,
        "ranks": ranks,
        "items": count,
        "split": split,
        "pads": "distributed-sampler" in split,
        "drops": "distributed-sampler-drop-last" in split,
    }
    return WorldFacts(name="it", file="it", part=part, **{**numbers, **more})


def look(*given: Any, **more: Any) -> list[Finding]:
    return ask("world-ownership", facts(*given, **more))


# --- healthy --------------------------------------------------------------------------------------


def test_a_function_of_the_users_may_make_all_parts_alike() -> None:
    """By one item more, as DistributedSampler does; what it leaves over for it is a note."""
    padded: dict[str, Any] = {"each": (14,) * 4, "several": 1, "part": "data"}
    floored = {**padded, "each": (13,) * 4, "several": 0, "nobody": 3}

    assert look(55, 4, "strided", **padded) == []
    assert [one.severity for one in look(55, 4, "strided", **floored)] == [Severity.NOTE]
    (uneven,) = look(55, 4, "strided", **{**floored, "each": (14, 13, 13, 12)})[:1]
    (written,) = look(55, 4, "strided", **{**floored, "part": "cache"})
    assert {uneven.severity, written.severity} == {Severity.ERROR}


@pytest.mark.parametrize("split", ["contiguous", "strided", "datasets"])
@pytest.mark.parametrize("count", [3, 8, 13, 100])
def test_a_cache_that_is_divided_once_is_left_alone(split: str, count: int) -> None:
    """Also where there are fewer samples than ranks: some have nothing to write."""
    assert look(count, 8, split) == []


def test_padding_is_left_alone_where_it_is_read() -> None:
    assert look(13, 4, "distributed-sampler", part="data", noun="sample") == []


def test_what_drop_last_leaves_out_is_left_alone_where_it_is_read() -> None:
    assert look(13, 4, "distributed-sampler-drop-last", part="data", noun="sample") == []


def test_more_shards_than_ranks_times_workers_are_left_alone() -> None:
    split = ("split_by_node", "split_by_worker")

    assert look(64, 8, *split, part="data", workers=4) == []
    assert look(64, 8, *split, part="loader", workers=8) == []


def test_one_rank_is_skipped_and_no_number_of_ranks_too() -> None:
    assert reason("world-ownership", facts(12, 1, "strided")) == "the job has one rank"
    assert reason("world-ownership", facts(12, 2, "strided")) is None


def test_samples_that_are_one_more_on_some_ranks_are_left_alone() -> None:
    assert look(13, 4, "strided", part="data", noun="sample") == []


def test_every_rank_may_read_all_shards_of_a_stream_of_datasets() -> None:
    more = {"several": 6, "each": (6, 6, 6, 6), "by_samples": True}

    assert look(6, 4, "datasets", part="data", **more) == []


# --- damage ---------------------------------------------------------------------------------------


def test_samples_that_no_rank_keeps_are_an_error_though_each_shard_is_read() -> None:
    """Of shards whose number the ranks do not divide, and which were divided before."""
    more = {"several": 6, "each": (6, 6, 6, 6), "by_samples": True, "kept": 0.25}
    more |= {"nobody": 0, "bare_workers": 0}

    (one,) = look(6, 4, "datasets", "datasets", part="data", **more)

    assert one.severity is Severity.ERROR
    assert one.message == "75% of the samples in 6 shards have no rank of 4"
    assert "datasets, then datasets" in (one.why or "")


def test_samples_of_a_cache_that_no_rank_has_are_an_error() -> None:
    (one,) = look(48, 4, "strided", "contiguous")

    assert one.severity is Severity.ERROR
    assert one.message.startswith("36 samples of 48 have no rank of 4: 01.jpg, 02.jpg, 03.jpg and")
    assert "strided, then contiguous" in (one.why or "")
    assert "Divide once" in (one.fix or "")
    assert one.evidence["nobody"] == 36


def test_a_file_that_several_ranks_write_is_an_error() -> None:
    """Three captions on eight ranks, as accelerate up to 1.13 gives them out."""
    more = {
        "several": 1,
        "several_names": (Owned("c.txt", (2, 3, 4, 5, 6, 7)),),
        "each": (1,) * 8,
        "versions": ("accelerate 1.13.0",),
    }
    (one,) = look(3, 8, "contiguous", **more)

    assert one.severity is Severity.ERROR
    assert one.message == (
        "1 sample of 3 would be written by several ranks of 8: c.txt is of ranks 2, 3, 4, 5, 6 "
        "and 7"
    )
    assert "accelerate 1.13.0" in (one.why or "")
    assert "os.replace" in (one.fix or "")


def test_padding_is_an_error_where_it_is_written() -> None:
    (one,) = look(13, 4, "distributed-sampler")

    assert one.severity is Severity.ERROR
    assert "3 samples of 13 would be written by several ranks" in one.message


def test_what_is_dropped_is_never_cached() -> None:
    """What is read is drawn another time, in another order; what is not written never is."""
    (one,) = look(13, 4, "distributed-sampler-drop-last")

    assert one.severity is Severity.ERROR
    assert "1 sample of 13 has no rank of 4: 12.jpg" in one.message


@pytest.mark.parametrize("more", [{"atomic": True}, {"missing": 0}, {"tried_writer": "job:save"}])
def test_writers_that_rename_and_caches_that_are_whole_get_a_note(more: dict[str, Any]) -> None:
    (one,) = look(13, 4, "distributed-sampler", **more)

    assert one.severity is Severity.NOTE


def test_a_whole_cache_gets_a_note_where_some_have_no_rank() -> None:
    (one,) = look(12, 4, "strided", "contiguous", missing=0)

    assert one.severity is Severity.NOTE
    assert "none is written now" in (one.why or "")


def test_shards_that_every_rank_reads_are_a_warning() -> None:
    (one,) = look(8, 4, "split_by_worker", part="data", workers=2)

    assert one.severity is Severity.WARNING
    assert "8 shards of 8 go to several ranks of 4" in one.message
    assert "split_by_node" in (one.fix or "")


def test_a_rank_without_a_shard_is_an_error() -> None:
    (one,) = look(5, 8, "split_by_node", part="loader")

    assert one.severity is Severity.ERROR
    assert one.message == "3 of 8 ranks have nothing of its 5 shards (ranks 5, 6 and 7)"
    assert "No samples found" in (one.why or "")


def test_a_worker_without_a_shard_is_an_error() -> None:
    (one,) = look(8, 4, "split_by_node", "split_by_worker", part="data", workers=3)

    assert one.severity is Severity.ERROR
    assert "4 of 12 workers have nothing of its 8 shards" in one.message


def test_five_shards_on_two_ranks_are_a_warning() -> None:
    (one,) = look(5, 2, "split_by_node", part="data")

    assert one.severity is Severity.WARNING
    assert one.message == "gives rank 1 2 shards and rank 0 3, of 5 on 2 ranks"
    assert "hang" in (one.why or "")


def test_shards_of_nearly_the_same_size_are_left_alone() -> None:
    """As of shard-uneven, a tenth is no matter: with_epoch, or the user, ends epochs alike."""
    assert look(4, 2, "split_by_node", part="data", samples=(100, 91)) == []


def samples(*each: int, **more: Any) -> list[Finding]:
    given = {"part": "loader", "noun": "sample", "each": each, "nobody": 0, "several": 0}
    return look(sum(each), len(each), "contiguous", **{**given, **more})


@pytest.mark.parametrize(
    ("each", "size", "drop_last"),
    [((6, 2), 6, False), ((6, 2), 6, None), ((11, 6), 6, True), ((3, 3, 1), 3, False)],
)
def test_ranks_with_as_many_batches_do_not_wait_for_each_other(
    each: tuple[int, ...], size: int, *, drop_last: bool | None
) -> None:
    """However full the last one is."""
    assert samples(*each, batch_size=size, drop_last=drop_last) == []


@pytest.mark.parametrize(
    ("size", "drop_last"), [(5, False), (2, None), (6, True), (4, True), (None, None)]
)
def test_ranks_with_more_batches_are_told_with_what_lets_them_go_on(
    size: int | None, *, drop_last: bool | None
) -> None:
    """Samples of a list have no with_epoch, which is of webdataset's streams."""
    (one,) = samples(6, 2, batch_size=size, drop_last=drop_last)

    assert one.evidence["spread"] == "2 to 6 samples"
    assert one.workaround == "torch's Join lets the others go on."


def test_ranks_with_as_many_shards_are_held_by_their_samples() -> None:
    (one,) = look(4, 2, "split_by_node", part="data", samples=(100, 60))

    assert one.severity is Severity.WARNING
    assert "rank 1 60 samples (2 shards) and rank 0 100 samples (2 shards)" in one.message
    assert one.why is not None
    assert one.why.endswith("times out.")


def test_a_list_that_differs_between_processes_is_told_once() -> None:
    more = {"unstable": True, "nobody": 12, "several": 6}
    (one,) = look(25, 8, "contiguous", **more)

    assert one.severity is Severity.ERROR
    assert "12 samples of 25 would have no rank of 8, and 6 several" in one.message
    assert "hash seeds" in (one.why or "")


@pytest.mark.parametrize(
    ("more", "severity"),
    [
        ({"by_caption": True}, Severity.NOTE),
        ({}, Severity.WARNING),
        ({"atomic": True}, Severity.NOTE),
    ],
)
def test_samples_of_one_entry_are_no_error(more: dict[str, Any], severity: Severity) -> None:
    """A job may take repeated captions out before it divides them."""
    shared = {"entries_shared": 1, "shared_names": (OneEntry("a.jpg", "a.png"),)}
    (one,) = look(12, 2, "contiguous", **shared, **more)

    assert one.severity is severity
    assert "a.jpg and a.png have one" in one.message


# --- rows -----------------------------------------------------------------------------------------


def test_few_items_are_shown_one_by_one_and_many_are_counted() -> None:
    small = {"owners": ((0, 2), (5,)), "names": tuple("abcdef")}
    (few,) = look(6, 2, "strided", "contiguous", **small)
    (many,) = look(480, 16, "strided", "contiguous")

    assert [one.text for one in few.rows] == ["rank 0  #.#...", "rank 1  .....#"]
    assert [one.count for one in many.rows][:2] == [2, 2]
    assert many.rows[-1].text == "8 more ranks together"
