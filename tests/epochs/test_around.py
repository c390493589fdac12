"""What is lost, or begins anew, between a data set and the loop, by loaders that are really run."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from torch.utils.data import DataLoader

import preflight
from preflight.epochs.facts import SameOrder
from preflight.epochs.reseeded import _by_init
from preflight.facts import RandomDraws
from preflight.finding import Finding
from preflight.testing import ask
from tests.epochs import around
from tests.epochs.looking import look_at

pytestmark = pytest.mark.slow

JOBS = Path(__file__).with_name("around.py")
BAD = ("losing", "anew", "leaving_a_rest", "batching")
SOUND = ("handing_on", "going_on", "leaving_none", "batching_all")


@pytest.fixture(scope="module")
def bad(copies: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Finding]]:
    """Look at all that is not as it should be, once for all tests."""
    return look_at(JOBS, tmp_path_factory.mktemp("bad"), *BAD)


OF_TEN = "leaves out 1 of 10 batches that its DataLoader gives in an epoch, "
REST = "of 60 samples, which fill no batch, and are the same in each epoch"
LEFT = {
    "ahead": f"{OF_TEN}the last",
    "ahead_of_workers": f"{OF_TEN}the last",
    "of_two": f"{OF_TEN}the last",
    "looks": f"{OF_TEN}number 1",
    "by_thread": f"{OF_TEN}the last",
    "on_device": f"{OF_TEN}the last",
    "fewer": f"{OF_TEN}number 1",
    "feed": "len() is 10, and 9 batches come",
    "rest_of_each": f"never takes 8 {REST}",
    "by_length": f"never takes 4 {REST}",
    "small_groups": f"never takes 3 {REST}",
    "tokens": f"never takes 17 {REST}",
    "cut": "never takes 24 of 40 samples, in each epoch of 16 samples",
}
BATCHING = ("of_attribute", "of_method", "of_file", "of_datasets", "of_webdataset")
SWALLOWS = {"swallows": 5, "swallows_of_workers": 5, "passes_over": 9}
ORDERS = ("", "_of_workers", "_of_all", "_of_weights", "_around")
SAMPLES = ("", "_of_workers", "_by_its_own")


@pytest.mark.parametrize("name", LEFT)
def test_what_does_not_come_out_is_told_with_its_number(
    name: str, bad: dict[str, list[Finding]]
) -> None:
    (finding,) = bad[name]

    assert (finding.check, finding.severity.word) == ("loader-end", "warning")
    assert finding.message == LEFT[name]


@pytest.mark.parametrize("name", SWALLOWS)
def test_what_a_loader_raises_and_nobody_hears_is_told_at_its_line(
    name: str, bad: dict[str, list[Finding]]
) -> None:
    (finding,) = bad[name]

    assert (finding.check, finding.severity.word) == ("loader-end", "warning")
    assert finding.message == (
        f"gives no more than {SWALLOWS[name]} of 10 batches of its DataLoader, which raises "
        "ValueError: sample 21 is damaged"
    )
    line = JOBS.read_text().splitlines()[(finding.at.line or 0) - 1]
    assert line.strip() == 'raise ValueError("sample 21 is damaged")'


def test_what_gives_itself_and_begins_once_is_told(bad: dict[str, list[Finding]]) -> None:
    (finding,) = bad["used_up"]

    assert finding.severity.word == "error"
    assert finding.message == "gives 10 batches in its first epoch, and none in its second"


@pytest.mark.parametrize("name", BATCHING)
def test_what_the_collate_function_of_a_stream_drops_is_told(
    name: str, bad: dict[str, list[Finding]]
) -> None:
    """Also where the stream calls it itself, by whatever way."""
    (finding,) = bad[name]

    assert finding.message.startswith("leaves out 4 of 40 samples, which are in no part of the")
    assert (finding.check, finding.at.file) == ("loader-end", "around.py")


@pytest.mark.parametrize("name", [f"order{one}" for one in ORDERS])
def test_an_order_that_begins_anew_by_the_loader_is_told(
    name: str, bad: dict[str, list[Finding]]
) -> None:
    (finding,) = bad[name]

    assert (finding.check, finding.severity.word) == ("loader-random", "warning")
    assert finding.message.startswith("all epochs have the same order: around.Seeds")


@pytest.mark.parametrize("name", [f"samples{one}" for one in SAMPLES])
def test_samples_that_are_made_by_the_same_numbers_again_are_told(
    name: str, bad: dict[str, list[Finding]]
) -> None:
    (finding,) = bad[name]

    assert (finding.check, finding.severity.word) == ("loader-random", "warning")
    assert finding.message.startswith("all epochs have the same samples: around.Seeds")


def test_workers_that_are_seeded_alike_in_each_epoch_are_told(
    bad: dict[str, list[Finding]],
) -> None:
    """By two epochs that are alike, or before that by one sample; `init` is the healthy one."""
    (finding,) = bad["by_init"]

    assert (finding.check, finding.severity.word) == ("loader-random", "warning")
    assert finding.message.startswith("all epochs ")


@pytest.mark.parametrize(
    ("more", "name"),
    [({"num_workers": 2}, "seeds_alike"), ({"num_workers": 2, "persistent_workers": True}, "")],
)
def test_what_workers_call_as_they_are_started_is_named(more: dict[str, Any], name: str) -> None:
    """Not where they are kept, and call it once."""
    loader = around.of(DataLoader, worker_init_fn=around.seeds_alike, **more)
    said = SameOrder(sampler="DataLoader", samples=60, begins_anew=True, of_samples=True)
    order = _by_init(said, vars(loader), str(JOBS.parent))

    (finding,) = ask("loader-random", RandomDraws(name="train:make", order=order))
    assert order.by_init == name
    assert ("call seeds_alike, which seems to seed them" in (finding.why or "")) == bool(name)
    assert ("torch.initial_seed() in seeds_alike" in (finding.fix or "")) == bool(name)


@pytest.mark.usefixtures("copies")
def test_a_generator_around_a_loader_is_run_as_it_is(tmp_path: Path) -> None:
    """What it loses, and what it raises; a loop over it is held against what it gives."""
    shutil.copy(JOBS, tmp_path / "around.py")
    words = ["around:generated", "around:numbered"]
    chosen = ["loader-contract", "loader-end"]
    report = preflight.run(*words, folder=str(tmp_path), select=chosen, budget=100.0)
    found = {(one.check, one.evidence["loader"]): one.message for one in report.findings}

    assert found["loader-end", "around:generated"] == f"{OF_TEN}the last"
    assert found["loader-end", "around:numbered"].startswith("raises after 7 batches: ValueError")
    grows = "gives a step number, step, that does not grow from batch to batch: 0, 0, 0, 0"
    assert found["loader-contract", "around:numbered"] == grows


@pytest.mark.usefixtures("copies")
def test_generators_that_hand_on_all_are_left_alone(tmp_path: Path) -> None:
    """Also one without an end, which is left when it begins again, and one that gives losses."""
    shutil.copy(JOBS, tmp_path / "around.py")
    words = [f"around:{one}" for one in ("generated_whole", "endless", "training")]
    report = preflight.run(*words, folder=str(tmp_path), select=["loader"], budget=100.0)

    assert [one.message for one in report.findings if one.severity.word != "note"] == []
    assert report.verdict == "go"
    assert all("40 samples in 10 batches, past the end" in one.text for one in report.targets)


def test_nothing_else_is_told_of_them(bad: dict[str, list[Finding]]) -> None:
    assert len(bad) == sum(map(len, (LEFT, SWALLOWS, BATCHING, ORDERS, SAMPLES))) + 2


def test_neighbours_that_are_sound_are_left_alone(copies: None, tmp_path: Path) -> None:
    """What hands on all, on purpose less, or other ones each time; an order of an evaluation."""
    assert look_at(JOBS, tmp_path, *SOUND) == {}
