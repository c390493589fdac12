"""What differs between epochs and should not, and what does not, by loaders that are really run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import preflight
from preflight.finding import Finding
from tests.epochs.looking import look_at

pytestmark = pytest.mark.slow

JOBS = Path(__file__).with_name("jobs.py")
BAD = ("held_back", "same_order", "changing", "short")
SOUND = ("given_all", "other_order", "staying", "as_long")


@pytest.fixture(scope="module")
def bad(copies: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Finding]]:
    """Look at all that is not as it should be, once for all tests."""
    return look_at(JOBS, tmp_path_factory.mktemp("bad"), *BAD)


LEFT = {
    "swapping": "leaves out 20 of 60 samples in an epoch: they are in held when swapping ends",
    "popping": "leaves out 10 of 60 samples in an epoch: they are in held when popping ends",
    "by_a_heap": "leaves out 10 of 60 samples in an epoch: they are in held when by_a_heap ends",
    "largest": "leaves out 20 of 200 samples in an epoch: they are in held when largest ends",
    "turning": "leaves out 10 of 60 samples in an epoch: they are in held when turning ends",
    "of_two_stages": "leaves out 10 of 60 samples in an epoch: they are in held when popping ends",
    "mapped": "leaves out 10 of 60 samples in an epoch: they are in held when popping ends",
    "measured": "leaves out 10 of 60 samples in an epoch: they are in held when popping ends",
    "in_an_attribute": "leaves out 10 of 60 samples in an epoch: they are in self.held when "
    "HeldAnew.__iter__ ends",
}


@pytest.mark.parametrize("name", LEFT)
def test_what_a_shuffle_buffer_holds_back_is_told(name: str, bad: dict[str, list[Finding]]) -> None:
    """With the buffer, and how many are in it; a length that does not come is told by that."""
    (finding,) = bad[name]

    assert (finding.check, finding.severity.word) == ("loader-end", "warning")
    assert finding.message == LEFT[name]
    assert finding.at.file == "jobs.py"


@pytest.mark.parametrize(
    "name",
    [
        *("of_torch", "of_python", "batched", "groups", "named", "stream", "unheard"),
        *("told_in_vain", "counts_in_vain", "counting"),
    ],
)
def test_an_order_that_is_shuffled_alike_in_each_epoch_is_told(
    name: str, bad: dict[str, list[Finding]]
) -> None:
    (finding,) = bad[name]

    assert (finding.check, finding.severity.word) == ("loader-random", "warning")
    assert finding.message.startswith("all epochs have the same order: jobs.")


def test_workers_that_count_epochs_from_the_start_each_time_are_to_be_kept(
    bad: dict[str, list[Finding]],
) -> None:
    """What is said to mend it is among the healthy: `counting_kept`, `set_by_the_loop`."""
    (finding,) = bad["counting"]

    assert (finding.why or "").startswith("It counts its epochs itself, each worker in a copy")
    assert "persistent_workers=True" in (finding.fix or "")


UNHEARD = ("unheard_by_samples", "unheard_without_a_method", "unheard_by_a_loader")


@pytest.mark.parametrize("name", ["unheard", *UNHEARD])
def test_workers_that_do_not_hear_of_the_epoch_are_named(
    name: str, bad: dict[str, list[Finding]]
) -> None:
    (finding,) = bad[name]

    assert finding.message.startswith("all epochs have the same samples: ") == (name in UNHEARD)
    assert "persistent_workers=True keeps that" in (finding.why or "")
    assert "share_memory_" in (finding.fix or "")


@pytest.mark.parametrize("name", ["divided", "normalised", "of_cache", "and_random", "persistent"])
def test_a_sample_that_is_changed_where_it_is_kept_is_told(
    name: str, bad: dict[str, list[Finding]]
) -> None:
    """Also beside what is drawn by chance, and in workers that outlive an epoch."""
    (finding,) = bad[name]

    assert (finding.check, finding.severity.word) == ("loader-contract", "warning")
    assert finding.message.startswith("gives another sample each time that it is asked for the")
    assert finding.message.endswith("of jobs.Stored")


@pytest.mark.parametrize("name", ["as_pair", "as_dict", "as_texts", "as_rows", "of_workers"])
def test_a_part_that_is_shorter_in_one_batch_is_told(
    name: str, bad: dict[str, list[Finding]]
) -> None:
    """Behind the first batches, too."""
    (finding,) = bad[name]
    part = "['label']" if name == "as_dict" else "[1]"

    assert (finding.check, finding.severity.word) == ("loader-contract", "warning")
    assert finding.message == f"gives a batch 6 that has 3 at {part}, and 4 of each other part"


def test_nothing_else_is_told_of_them(bad: dict[str, list[Finding]]) -> None:
    assert len(bad) == len(LEFT) + 20 + len(UNHEARD)


def test_neighbours_that_are_sound_are_left_alone(copies: None, tmp_path: Path) -> None:
    """What is emptied or left on purpose, drawn anew, told the epoch, counted, or has boxes."""
    told = look_at(JOBS, tmp_path, *SOUND)

    assert told.keys() == {"whole"}
    assert told["whole"][0].message.startswith("leaves out 1 of 60 samples, which are in no part")


LOOPS = """
from torch.utils.data import DataLoader, DistributedSampler

from jobs import NUMBER, Rows


def make(shuffle=True):
    return DataLoader(Rows(), 4, sampler=DistributedSampler(Rows(), 2, 0, shuffle=shuffle))


def make_one():
    return make()


def make_in_order():
    return make(shuffle=False)


def make_for_once():
    return make()


def train(epochs):
    loader = make_one()
    for epoch in range(epochs):
        FIRST
        for number, square in loader:
            print(number)


def train_in_order(epochs):
    loader = make_in_order()
    for epoch in range(epochs):
        for number, square in loader:
            print(number)


def train_once():
    for number, square in make_for_once():
        print(number)
"""


@pytest.mark.parametrize(
    "first", ["pass", "loader.sampler.set_epoch(epoch)", "tell(epoch, loader)"]
)
def test_a_sampler_that_is_told_no_epoch_is_told_at_its_loop(
    first: str, copies: None, tmp_path: Path
) -> None:
    """DistributedSampler shuffles alike until `set_epoch` is called: the loop has to do so.

    Or what it calls, which may lie in another file, or in a library.
    """
    (tmp_path / "train.py").write_text(LOOPS.replace("FIRST", first), "utf-8")
    shutil.copy(JOBS, tmp_path / "jobs.py")
    words = [f"train:{one}" for one in ("make_one", "make_in_order", "make_for_once")]
    report = preflight.run(*words, folder=str(tmp_path), select=["loader-random"])

    assert [one.at.name for one in report.findings] == ["train:make_one"] * (first == "pass")
    for one in report.findings:
        assert "DistributedSampler shuffles 30 samples alike each time" in one.message
        assert one.at.line == LOOPS[: LOOPS.index("for number, square")].count("\n") + 1
        assert "loader.sampler.set_epoch(epoch)" in (one.fix or "")
