"""Loaders are run past their end, and asked for one sample again and again: what is told of it."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import preflight
from preflight.batches.child.one_epoch import Bounds, _is_too_long
from preflight.findings.report import Report
from tests.archives import tarred
from tests.asking import by_loader, of

pytestmark = pytest.mark.slow

EPOCHS = Path(__file__).with_name("epochs.py")


def look(folder: Path, name: str, **flags: Any) -> Report:
    shutil.copy(EPOCHS, folder / "epochs.py")
    checks = ["loader-end", "loader-random", "loader-stuck"]
    return preflight.run(f"epochs:{name}", folder=str(folder), **{"select": checks, **flags})


@pytest.fixture(scope="module")
def seen(copies: None, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Report]:
    """Look at a dict of loaders, once for all tests."""
    return cache(  # a busy machine has time, too
        lambda name: look(tmp_path_factory.mktemp(name), name, budget=160.0)
    )


RECORDING = """
import epochs
import webdataset
from torch.utils.data import get_worker_info

def note(what):
    with open("noted.txt", "a") as file:
        file.write(f"{what}\\n")

def begin(name):
    worker = get_worker_info()
    if worker is None or worker.id == 0:
        note(f"{name}-begun")

class Noted(epochs.Rows):
    def __init__(self):
        super().__init__()
        note("made")

class Stream(epochs.Stream):
    def __iter__(self):
        begin("stream")
        return super().__iter__()

def stage(samples):
    begin("web")
    yield from samples

def begin_rows(worker):
    begin("rows")

def make():
    shards = webdataset.WebDataset(["0.tar", "1.tar"], shardshuffle=False).to_tuple("txt")
    return {
        "rows": epochs.of(Noted(), num_workers=2, worker_init_fn=begin_rows),
        "stream": epochs.of(Stream(divided=True), num_workers=2),
        "web": webdataset.WebLoader(shards.compose(stage), batch_size=2, num_workers=2),
    }
"""


def test_a_loader_is_made_three_times_and_run_at_most_four(copies: None, tmp_path: Path) -> None:
    """To look at it, to draw from it, and to run it past its end.

    Its first batches, a pass, and one sample drawn often, or a stream without workers; the last but
    one of these take two epochs.
    """
    (tmp_path / "train.py").write_text(RECORDING, encoding="utf-8")
    shutil.copy(EPOCHS, tmp_path / "epochs.py")
    for number in range(2):
        texts = {f"{number}-{place}.txt": b"text" for place in range(8)}
        (tmp_path / f"{number}.tar").write_bytes(tarred(texts))
    report = preflight.run("train:make", folder=str(tmp_path))
    noted = Counter((tmp_path / "noted.txt").read_text(encoding="utf-8").split())

    assert report.verdict == "go"
    assert "28 batches, past the end" in report.targets[0].text
    assert noted == {"made": 3, "rows-begun": 5, "stream-begun": 4, "web-begun": 4}


def test_a_hang_behind_the_first_batches_is_told_with_its_line(
    copies: None, tmp_path: Path
) -> None:
    report = look(tmp_path, "stops", timeout=4.0)
    (finding,) = report.findings

    assert finding.check == "loader-end"
    assert "stands in __getitem__ (`time.sleep(10)`)" in finding.message
    assert finding.at.file == "epochs.py"


def test_a_thread_that_dies_behind_the_first_batches_is_told_with_its_line(
    copies: None, tmp_path: Path
) -> None:
    """The loop over it ends as if that were all, and one that loses none is left alone."""
    (finding,) = look(tmp_path, "fed").findings

    assert (finding.check, finding.evidence["loader"]) == (
        "loader-end",
        "epochs:fed['loses_its_thread']",
    )
    assert finding.message.endswith("(_feed), which dies of RuntimeError: no room")
    assert finding.why == "The loop over it ends after 6 batches of 10, without an error."
    assert finding.at.file == "epochs.py"


def test_an_endless_stream_is_run_as_long_as_the_budget_allows(
    copies: None, tmp_path: Path
) -> None:
    report = look(tmp_path, "endless", budget=12.0)

    (found,) = report.findings
    assert (found.check, found.at.name) == ("loader-end", "epochs:endless['whole']")
    assert found.message.startswith("gives each sample 2 times, once from each worker: ")
    assert "drawn" in report.targets[0].text


def test_workers_that_draw_the_same_numbers_are_told(seen: Callable[[str], Report]) -> None:
    by_name = by_loader(seen("same_numbers"))

    assert by_name.keys() == {
        *("of_numpy", "of_python", "of_torch", "flips", "of_module", "of_transform"),
        *("one_worker", "seeded_alike", "seeded_by_number"),
        *("stream_of_numpy", "stream_of_module", "stream_of_zero"),
        *("stream_of_worker", "stream_alone", "stream_seeded", "stream_told"),
    }
    assert {one.check for those in by_name.values() for one in those} == {"loader-random"}
    assert "(dataset.draw.rng)" in by_name["of_transform"][0].message
    assert by_name["stream_of_numpy"][0].message == (
        "all epochs draw the same random numbers: epochs.RandomStream (dataset.rng) gave 40 "
        "samples, made by random numbers, and just the same again"
    )
    assert by_name["stream_told"][0].message == (
        "all workers draw the same random numbers: epochs.ToldEpochs (dataset.rng) made the "
        "samples of each, which are others, by the same"
    )
    assert by_name["one_worker"][0].message.startswith("all epochs draw the same")
    assert by_name["seeded_by_number"][0].message.startswith("all epochs draw the same")
    assert by_name["seeded_alike"][0].message.startswith("all workers and all epochs draw")


def test_workers_that_draw_other_numbers_are_left_alone(seen: Callable[[str], Report]) -> None:
    report = seen("other_numbers")
    outcome = of(report, "loader-random")

    assert by_loader(report) == {}
    assert sorted(one.reason for one in outcome.skipped) == [
        "it has no workers",
        "its data set is a stream that is told which epoch it is",
    ]
    assert outcome.broken == ()


def test_the_time_of_a_stream_without_a_length_begins_behind_its_first_batch() -> None:
    """Before that, workers start, which are spawned, say."""
    bounds = Bounds(seconds=3.0, length=None, num_workers=2)

    assert not _is_too_long(20.0, 1.0, 5, bounds)
    assert _is_too_long(20.0, 3.5, 5, bounds)
