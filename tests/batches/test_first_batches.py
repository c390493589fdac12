"""Batches are drawn from each loader, as the job would: what comes, and how it ends."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

import preflight
from preflight.findings.finding import Finding
from preflight.findings.report import Report

pytestmark = pytest.mark.waits

# Seconds of silence that a busy machine may take for imports, too.
HUNG = 12.0

CASES = Path(__file__).with_name("cases.py")

# Seconds that are waited for loaders which give nothing, and for all others.
TIMEOUT = 6.0
PATIENCE = 12.0

# What is said of each, as far as that is the same on every machine, and the function at its place.
BAD: Mapping[str, tuple[str, str]] = {
    "hangs_in_getitem": ("gives no batch for", "wait"),
    "hangs_in_collate": ("the training process stands in wait_for_batch", "wait_for_batch"),
    "hangs_in_worker_init": ("gives no batch for", "wait"),
    "waits_for_lock_held_at_fork": ("stands in ask_for_lock (`with LOCK:`)", "ask_for_lock"),
    "cannot_send_batches": ("a worker cannot send what it has made: ", ""),
    "loses_its_feeder": ("has died of RuntimeError: the disk is gone", "feed"),
    "waits_for_a_process_that_left": (
        "since worker 1 of 1 ended by itself with exit status 3: the training process stands in",
        "__iter__",
    ),
    "worker_leaves": ("ended by itself with exit status 3", ""),
    "worker_exits": ("ended by itself with exit status 4", ""),
    "worker_is_killed": ("was killed by SIGKILL", ""),
    "process_leaves": ("the process that draws ended by itself with exit status 3", ""),
    "raises_in_worker": ("raises in a worker at its first batch: KeyError: 'fname'", "look_up"),
    "raises_here": ("raises at its first batch: KeyError: 'fname'", "look_up"),
    "has_no_iterator": ("returned non-iterator of type 'NoneType'", ""),
}
HANGING = (
    "hangs_in_getitem",
    "hangs_in_collate",
    "hangs_in_worker_init",
    "waits_for_lock_held_at_fork",
    "cannot_send_batches",
    "loses_its_feeder",
    "waits_for_a_process_that_left",
    "train_and_val",
)
EMPTY = {
    "is_empty": "ends without a batch",
    "drops_all": "has 0 batches in an epoch: ",
}
SOUND = {
    "sound": 4,
    "without_workers": 4,
    "persistent": 4,
    "ends_after_one": 1,
    "prints": 4,
    "takes_a_while": None,
    "leaves_threads": 4,
    "only_samples": 4,
}


def look(folder: Path, *names: str, **flags: Any) -> Report:
    shutil.copy(CASES, folder / "cases.py")
    words = [f"cases:{name}" for name in names]
    select = flags.pop("select", ["loader-stuck", "loader-slow"])
    given = {"timeout": TIMEOUT, **flags}
    return preflight.run(*words, folder=str(folder), select=select, **given)


def found(report: Report, check: str = "loader-stuck") -> dict[str, list[Finding]]:
    """Give the findings of a check, by the loader that each is about."""
    by_name: dict[str, list[Finding]] = {}
    for one in report.findings:
        if one.check == check:
            name = str(one.at.name).removeprefix("cases:")
            by_name.setdefault(name, []).append(one)
    return by_name


@pytest.fixture(scope="module")
def hung(copies: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    """Look at every case that hangs once."""
    folder = tmp_path_factory.mktemp("hung")
    return folder, look(folder, *HANGING)


@pytest.fixture(scope="module")
def seen(copies: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    """Look at every other case once, in processes that they share."""
    folder = tmp_path_factory.mktemp("cases")
    quick = [name for name in BAD if name not in HANGING]
    names = (*quick, *SOUND, "loses_a_thread_beside")
    return folder, look(folder, *names, timeout=PATIENCE)


@pytest.mark.parametrize("name", BAD)
def test_a_loader_that_gives_no_batch_is_told_once(
    name: str, request: pytest.FixtureRequest
) -> None:
    said, function = BAD[name]
    _, report = request.getfixturevalue("hung" if name in HANGING else "seen")
    (finding,) = found(report)[name]

    assert said in finding.message
    assert finding.at.file == "cases.py"
    if function:
        lines = CASES.read_text(encoding="utf-8").splitlines()
        before = lines[: finding.at.line]
        assert [line for line in before if "def " in line][-1].strip().startswith(f"def {function}")


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_loader_is_left_alone(name: str, seen: tuple[Path, Report]) -> None:
    report = seen[1]
    number = SOUND[name]
    (target,) = (one for one in report.targets if one.word == f"cases:{name}")

    assert name not in found(report)
    assert "drawn" in target.text
    if number is not None:
        batches = "1 batch" if number == 1 else f"{number} batches"
        assert f"{batches} drawn" in target.text


def test_a_loader_that_is_empty_is_told_once(copies: None, tmp_path: Path) -> None:
    report = look(tmp_path, *EMPTY, select=["loader-end", "loader-stuck"], timeout=PATIENCE)

    assert found(report) == {}
    assert all("no batch came" in one.text for one in report.targets)
    for name, said in EMPTY.items():
        (finding,) = found(report, "loader-end")[name]
        assert said in finding.message


WITHOUT_SIGNALS = """
import signal
import threading
import time
import cases

# With a thread of its own, no process is copied, as on Windows.
threading.Thread(target=time.sleep, args=(cases.FOR_EVER,), daemon=True).start()
del signal.SIGSTOP  # as on Windows, for preflight and for the job alike

def hangs_here():
    return cases.of(cases.wait, num_workers=0)

def hangs_in_worker():
    return cases.of(cases.wait)
"""


def test_where_processes_cannot_be_asked_the_one_that_waits_has_said_where_it_stands(
    copies: None, tmp_path: Path
) -> None:
    (tmp_path / "job.py").write_text(WITHOUT_SIGNALS, encoding="utf-8")
    shutil.copy(CASES, tmp_path)
    words = ("job:hangs_here", "job:hangs_in_worker")
    report = preflight.run(*words, folder=str(tmp_path), select=["loader-stuck"], timeout=HUNG)
    told = found(report)
    ((here,), (in_worker,)) = told["job:hangs_here"], told["job:hangs_in_worker"]

    assert "the training process stands in wait (`time.sleep(FOR_EVER)`)" in here.message
    assert here.at.file == "cases.py"
    assert "the training process stands in " in in_worker.message
    assert "Where its workers stand could not be asked" in str(in_worker.workaround)


def test_one_of_two_loaders_is_told_and_the_other_is_drawn_from(hung: tuple[Path, Report]) -> None:
    report = hung[1]

    assert [*found(report)].count("train_and_val[0]") == 1
    assert "train_and_val[1]" not in found(report)


def test_what_a_hang_beside_it_keeps_from_being_run_says_so(copies: None, tmp_path: Path) -> None:
    report = look(tmp_path, "sound_and_hanging", select=["loader-random"])
    (outcome,) = [one for one in report.checks if one.id == "loader-random"]
    reasons = {one.reason for one in outcome.skipped}

    assert "the process that drew from it was lost at cases:sound_and_hanging[1]" in reasons
    assert "its first batches did not come" in reasons


def test_a_thread_that_dies_beside_batches_is_a_warning(seen: tuple[Path, Report]) -> None:
    (finding,) = found(seen[1])["loses_a_thread_beside"]

    assert finding.severity.word == "warning"
    assert "dies of RuntimeError: the disk is gone" in finding.message


def test_nothing_is_left_of_what_was_started(seen: tuple[Path, Report]) -> None:
    """No process, and no file in the folder of the job."""
    folder, _ = seen
    here = str(folder)

    assert {one.name for one in folder.iterdir()} <= {"cases.py", "__pycache__", ".preflight"}
    for one in psutil.process_iter():
        try:
            inside = one.cwd() == here
        except psutil.Error:
            continue
        assert not inside, one


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_workers_are_started_as_the_job_starts_them(
    method: str, copies: None, tmp_path: Path
) -> None:
    report = look(tmp_path, "sound", start_method=method, num_workers=1, timeout=60.0)
    outcome = next(one for one in report.checks if one.id == "loader-stuck")

    what_else = [one.message for one in report.findings]
    assert (found(report), outcome.broken, outcome.skipped) == ({}, (), ()), what_else
    assert "drawn" in report.targets[0].text


def test_what_workers_take_to_start_is_no_part_of_each_batch(copies: None, tmp_path: Path) -> None:
    """Several batches are drawn of such a loader, and it is run past its end."""
    flags = {"select": ["loader-stuck", "loader-end"], "timeout": 60.0, "budget": 80.0}
    first = look(tmp_path, "begins_slowly", timeout=60.0)
    whole = look(tmp_path, "begins_slowly", **flags)

    assert "4 batches" in first.targets[0].text
    assert "16 batches, past the end" in whole.targets[0].text


def test_what_keeps_workers_from_their_start_is_told_by_its_own_check(
    copies: None, tmp_path: Path
) -> None:
    """A collate function that cannot be sent is one finding, and nothing is drawn for it."""
    text = "from cases import of\n\n\ndef make():\n    return of(collate_fn=lambda one: one)\n"
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    shutil.copy(CASES, tmp_path / "cases.py")
    report = preflight.run("train:make", folder=str(tmp_path), start_method="spawn")
    outcome = next(one for one in report.checks if one.id == "loader-stuck")

    assert [one.check for one in report.findings if one.severity.word == "error"] == [
        "loader-unpicklable"
    ]
    assert outcome.outcome == "skipped"
    assert "loader-unpicklable tells" in outcome.skipped[0].reason


def test_what_cannot_be_made_a_second_time_is_no_go(copies: None, tmp_path: Path) -> None:
    """Nobody has seen a batch of it."""
    report = look(tmp_path, "only_once")
    outcome = next(one for one in report.checks if one.id == "loader-stuck")

    assert (report.verdict, report.findings) == ("cannot-judge", ())
    assert "it could not be made a second time: FileExistsError" in outcome.broken[0].error


def test_no_batch_is_drawn_at_the_depth_of_an_index(copies: None, tmp_path: Path) -> None:
    report = look(tmp_path, "raises_here", depth="index", select=[])

    assert found(report) == {}


def test_the_budget_ends_the_wait(copies: None, tmp_path: Path) -> None:
    """A GO says what it is not for; it is none where nothing else was asked."""
    alone = look(tmp_path, "hangs_in_getitem", budget=1.0)
    every = look(tmp_path, "hangs_in_getitem", budget=1.0, select=[])
    outcome = next(one for one in every.checks if one.id == "loader-stuck")
    loader = next(one for one in every.coverage if one.part == "loader")

    assert found(alone) == found(every) == {}
    assert "the budget was used up" in outcome.skipped[0].reason
    assert (alone.verdict, alone.complete) == ("cannot-judge", False)
    assert (every.verdict, every.complete, loader.state) == ("go", False, "part")
    assert "(but for 1 first batch)" in loader.seen


def test_a_live_loader_is_not_drawn_from() -> None:
    from tests.batches import cases

    report = preflight.inspect(loader=cases.without_workers())
    outcome = next(one for one in report.checks if one.id == "loader-stuck")

    assert outcome.outcome == "skipped"
    assert "cannot be made anew" in outcome.skipped[0].reason
