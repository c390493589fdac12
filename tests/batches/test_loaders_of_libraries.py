"""Loaders that accelerate, Lightning and torchdata have made are looked at as plain ones are."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import preflight
from preflight.findings.finding import Finding
from preflight.findings.report import Report
from tests.batches.epochs import Rows, of
from tests.warming import TRAINERS, start_copies

pytestmark = pytest.mark.slow

FILES = [Path(__file__).with_name(name) for name in ("libraries.py", "of_lightning.py")]

PATIENCE = 60.0
HANGS = 8.0

# Those that draw. Others start a process for each loader, which imports all of these libraries.
DRAWING = [f"loader-{name}" for name in ("contract", "end", "fork", "random", "shm", "stuck")]

# What is said of each, by which check, and at which severity.
BAD: Mapping[str, tuple[str, str, str]] = {
    "raises": ("loader-stuck", "error", "raises in a worker at its first batch: KeyError: 'fname'"),
    "raises_late": ("loader-end", "error", "raises in a worker after 4 batches: ValueError: sampl"),
    "raises_by_state": ("loader-stuck", "error", "raises in a worker at its first batch: KeyError"),
    "raises_late_by_state": ("loader-end", "error", "raises in a worker after 5 batches: ValueErr"),
    "raises_late_in_nodes": (
        "loader-end",
        "error",
        "raises after 5 batches: ValueError: sample 2",
    ),
    "raises_in_fabric": ("loader-stuck", "error", "raises in a worker at its first batch: KeyErr"),
    "raises_in_one": ("loader-end", "error", "raises in a worker after 5 batches: ValueError: sam"),
    "dispatched_texts": ("loader-stuck", "error", "raises at its first batch: TypeError: Can only"),
    "changes": ("loader-contract", "error", "gives a batch 3 that is a tensor of float32, 3, and"),
    "changes_by_state": ("loader-contract", "error", "gives a batch 3 that is a tensor of float32"),
    "lies": ("loader-end", "warning", "len() is 20, and 6 batches come"),
    "lies_by_state": ("loader-end", "warning", "len() is 20, and 6 batches come"),
    "repeats": ("loader-end", "warning", "gives each sample 2 times in an epoch, once from each"),
    "drops_all": ("loader-end", "error", "has 0 batches in an epoch: 22 samples, batch_size=64, "),
}


def look(folder: Path, *names: str, **flags: Any) -> Report:
    for file in FILES:
        shutil.copy(file, folder)
    return preflight.run(*names, folder=str(folder), **{"timeout": PATIENCE, **flags})


def of_loaders(report: Report) -> list[Finding]:
    return [one for one in report.findings if one.check.startswith("loader-")]


@pytest.fixture(scope="module", autouse=True)
def copies() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        start_copies(patch, also=TRAINERS)
        yield


@pytest.fixture(scope="module")
def found(copies: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Finding]]:
    """Give what is told of the bad ones, by their keys."""
    report = look(
        tmp_path_factory.mktemp("bad"), "libraries:bad", "of_lightning:bad", select=DRAWING
    )
    by_key: dict[str, list[Finding]] = {}
    for one in of_loaders(report):
        key = str(one.at.name).partition("['")[2].partition("']")[0]
        by_key.setdefault(key, []).append(one)
    return by_key


def test_sound_loaders_of_libraries_are_run_past_their_end_and_left_alone(tmp_path: Path) -> None:
    """Among them a loader in a CombinedLoader, in a module of data."""
    report = look(tmp_path, "libraries:sound", "of_lightning:sound", select=DRAWING)
    checks = [one for one in report.checks if one.id.startswith("loader-")]

    assert report.verdict == "go"
    assert of_loaders(report) == []
    assert [one.broken for one in checks if one.broken] == []
    ends = [f" in {number} batches, past the end" for number in (102, 33)]
    assert all(one.text.endswith(end) for one, end in zip(report.targets, ends, strict=True))


@pytest.mark.parametrize("name", BAD)
def test_a_fault_behind_a_library_is_told_as_of_a_plain_loader(
    name: str, found: Mapping[str, list[Finding]]
) -> None:
    check, severity, message = BAD[name]
    (one,) = found[name]

    assert (one.check, one.severity.word) == (check, severity)
    assert one.message.startswith(message)
    assert one.at.file == "libraries.py"


def test_a_hang_behind_a_library_is_told_with_its_line(tmp_path: Path) -> None:
    report = look(tmp_path, "libraries:hangs", timeout=HANGS, select=["loader-stuck"])
    (one,) = report.findings

    assert one.at.name == "libraries:hangs"
    assert "stands in hang (`time.sleep(1_000)`)" in one.message


def test_a_loop_over_a_prepared_loader_is_held_against_its_batches(tmp_path: Path) -> None:
    """It has the name that the job gives it, and not that of what lies in it."""
    report = look(tmp_path, "libraries:hold", select=["loader-contract"])
    (one,) = report.findings

    assert one.message.startswith("takes each batch of libraries:hold for `images, labels`")
    assert one.at.file == "libraries.py"


def test_settings_count_for_a_loader_that_is_prepared(tmp_path: Path) -> None:
    """Also where its workers were started once, to be asked for their state."""
    code = (
        "from of_lightning import *\nfrom libraries import *\n\n\n"
        "def make():\n"
        "    return [prepared(of(num_workers=0)), by_fabric(of(num_workers=0)), asked()]\n"
    )
    (tmp_path / "train.py").write_text(code, encoding="utf-8")
    for file in FILES:
        shutil.copy(file, tmp_path)
    report = preflight.run(
        "train:make", folder=str(tmp_path), num_workers=2, timeout=PATIENCE, select=["loader-stuck"]
    )

    assert of_loaders(report) == []
    assert "12 batches drawn" in report.targets[0].text


def test_a_batch_sampler_says_how_many_samples_are_left_out(tmp_path: Path) -> None:
    """As a loader that is prepared has one, and no batch size of its own."""
    from torch.utils.data import BatchSampler, SequentialSampler

    from preflight.loaders.epoch import batch_size_of, epoch_of

    loader = of(
        batch_size=1, batch_sampler=BatchSampler(SequentialSampler(Rows()), 64, drop_last=True)
    )
    epoch = epoch_of(loader)

    assert batch_size_of(vars(loader)) == 64
    assert epoch is not None
    assert (epoch.batches, epoch.batch_size, epoch.drop_last) == (0, 64, True)


@pytest.mark.parametrize(("takes", "words"), [(None, "ranks"), (9, "one"), (None, "own")])
def test_what_batches_take_is_what_their_own_sampler_gives(takes: int | None, words: str) -> None:
    """A loader that is given batches has a sampler of its own, which nobody asks."""
    from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, SequentialSampler

    from preflight.batches.child.about_loader import about_loader

    rows: Any = range(9)
    sampler: Any = {
        "ranks": DistributedSampler(rows, 2, 0),
        "one": SequentialSampler(rows),
        "own": [0, 2],
    }[words]
    loader: Any = DataLoader(rows, batch_sampler=BatchSampler(sampler, 2, drop_last=False))

    assert about_loader(loader)["takes"] == takes
