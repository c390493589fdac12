"""Ranks that divide lists which differ; whole runs are in tests/ranks/test_by_rank.py."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.facts import OtherItems, RankOrder
from preflight.finding import Finding, Severity
from preflight.objects.facts import Definition
from preflight.testing import ask
from tests.asking import reason


def look(*found: OtherItems, **more: Any) -> list[Finding]:
    made = Definition(file="train.py", line=7)
    given = {"ranks": 4, "splits": True, "tried": ("hash", "random", "folder"), **more}
    return ask("world-order", RankOrder(name="train:make", defined=made, found=found, **given))


def test_lists_that_are_the_same_everywhere_are_left_alone() -> None:
    assert look() == []
    assert look(splits=False) == []


def test_what_could_not_be_compared_is_skipped() -> None:
    facts = RankOrder(name="it", reason="its stream does not end")

    assert reason("world-order", facts) == "its stream does not end"
    assert reason("world-order", RankOrder(name="it")) is None


@pytest.mark.parametrize(
    ("cause", "severity", "fix"),
    [
        ("hash", Severity.ERROR, "sorted(set(names))"),
        ("random", Severity.ERROR, "one seed for all ranks"),
        ("folder", Severity.WARNING, "sorted(os.listdir(folder))"),
    ],
)
def test_each_cause_has_its_own_words(cause: str, severity: Severity, fix: str) -> None:
    (one,) = look(OtherItems(cause, 9, 12, "dog.png", "cat.png"))

    assert one.severity is severity
    assert "9 of 12 that were compared: cat.png in place of dog.png" in one.message
    assert fix in (one.fix or "")
    assert "4 ranks divide lists that differ" in (one.why or "")
    assert str(one.at) == "train.py:7: train:make" or one.at.file == "train.py"


def test_data_of_random_numbers_are_a_warning() -> None:
    """PyTorch's own tutorial of DDP trains on such data; a random subset looks the same."""
    (one,) = look(OtherItems("random", 8, 8, is_made_up=True))

    assert one.severity is Severity.WARNING
    assert "made of random numbers, as to try a job, may differ" in (one.fix or "")


def test_an_order_that_no_seed_repeats_is_a_note() -> None:
    (one,) = look(OtherItems("hash", 0, 12))

    assert one.severity is Severity.NOTE
    assert "the same samples in another order" in one.message


def test_several_causes_are_told_one_by_one() -> None:
    found = look(OtherItems("hash", 9, 12), OtherItems("random", 3, 12))

    assert len({one.fingerprint for one in found}) == 2


@pytest.mark.parametrize(
    ("cause", "others", "severity", "fix"),
    [
        ("twice", 48, Severity.ERROR, "Divide once"),
        ("alike", 32, Severity.ERROR, "LOCAL_RANK"),
        ("twice", 8, Severity.WARNING, "fill up"),
        ("apart", 8, Severity.WARNING, "fill up"),
        ("apart", 32, Severity.ERROR, "names[rank::world_size]"),
        ("overlapping", 20, Severity.WARNING, "one seed"),
        ("alike", 16, Severity.WARNING, "LOCAL_RANK"),
        ("same", 48, Severity.WARNING, "get_rank()"),
    ],
)
def test_samples_of_no_rank_are_told_with_what_may_leave_them_out(
    cause: str, others: int, severity: Severity, fix: str
) -> None:
    (one,) = look(OtherItems(cause, others, 64))

    assert one.severity is severity
    assert one.message == f"leaves {others} of 64 samples to none of 4 ranks"
    assert fix in (one.fix or "")
    assert (one.why or "").startswith("Made for one rank alone, it has 64; made for 4, these have")


def test_what_is_left_over_is_a_note_and_what_several_have_a_warning() -> None:
    (few,) = look(OtherItems("twice", 20, 980))
    (several,) = look(OtherItems("several", 6, 55, before="dog.png"))

    assert few.severity is Severity.NOTE
    assert "left over where a number of shards is divided" in (few.why or "")
    assert several.severity is Severity.WARNING
    assert several.message.startswith("gives 6 of 55 samples to several of 4 ranks: dog.png")


def test_a_number_of_ranks_that_is_written_down_is_a_warning() -> None:
    (by_sampler,) = look(OtherItems("replicas", 32, 64, ranks=8))
    (by_slice,) = look(OtherItems("beyond", 8, 40, before="dog.png"))

    assert by_sampler.severity is by_slice.severity is Severity.WARNING
    assert "divided among 8 ranks, and the job has 4" in (by_sampler.why or "")
    assert (
        by_slice.message
        == "leaves 8 or more of 40 samples to none of 4 ranks: dog.png, for example"
    )
    assert "Made for 5 ranks, the last has 8 samples" in (by_slice.why or "")


MEANT = pytest.mark.parametrize(
    ("name", "moved", "severity"),
    [
        ("train:make", 0, Severity.WARNING),
        ("train:make", 30, Severity.NOTE),
        ("train:make['val']", 0, Severity.NOTE),
        ("train:test_loader", 0, Severity.NOTE),
        ("train:latest", 0, Severity.WARNING),
    ],
)


@MEANT
def test_shards_that_all_ranks_draw_alike(name: str, moved: int, severity: Severity) -> None:
    facts = RankOrder(name=name, found=(OtherItems("drawn", moved, 256),), ranks=4)

    (one,) = ask("world-order", facts)

    assert one.severity is severity
    same = "their samples in another order" if moved else "and gives the same batches"
    assert one.message == (
        f"draws the same shards in turn on each of 4 ranks, of which 256 were compared, {same}"
    )
    assert "worker_seed" in (one.fix or "")


@MEANT
def test_streams_that_every_rank_reads_as_a_whole(
    name: str, moved: int, severity: Severity
) -> None:
    facts = RankOrder(name=name, found=(OtherItems("shared", moved, 32),), ranks=4)

    (one,) = ask("world-order", facts)

    assert one.severity is severity
    assert one.message.startswith("gives each of 4 ranks all of its 32 samples, in ")
    assert "split_by_node" in (one.fix or "")


@pytest.mark.parametrize(
    ("name", "undivided", "severity"),
    [
        ("train:make", "train.py", Severity.ERROR),
        ("train:make", "", Severity.NOTE),  # prepare may be given it in another file
        ("train:make_val", "train.py", Severity.NOTE),
    ],
)
def test_a_stream_that_all_ranks_have_as_a_whole(
    name: str, undivided: str, severity: Severity
) -> None:
    found = (OtherItems("undivided", 0, 48),)
    (one,) = ask("world-order", RankOrder(name=name, found=found, ranks=4, undivided=undivided))

    assert one.severity is severity
    assert one.message == "gives each of 4 ranks all of its 48 samples, in the same order"
    assert ("nothing in train.py divides its batches" in (one.why or "")) == (
        severity is Severity.ERROR
    )


@pytest.mark.parametrize(
    ("seeded", "is_sure", "severity"),
    [
        ("", False, Severity.ERROR),
        ("train.py:7", False, Severity.WARNING),
        ("train.py:7", True, Severity.NOTE),
    ],
)
def test_a_script_that_seeds_all_ranks_alike_is_no_fault(
    *, seeded: str, is_sure: bool, severity: Severity
) -> None:
    found = (OtherItems("random", 48, 48),)
    facts = RankOrder(name="a:b", found=found, ranks=2, seeded=seeded, seeds_surely=is_sure)
    (one,) = ask("world-order", facts)

    assert one.severity == severity
    assert (seeded in one.why) if seeded else ("seeds all ranks" not in one.why)
