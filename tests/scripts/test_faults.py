"""Each fault of a script is told by its one check, at the line where the plain script dies.

And healthy scripts are left alone. Trainers that are known reach an evaluation and a save within a
few steps, and go on from there.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import preflight
from preflight.findings.report import Report
from preflight.render.terminal import render
from tests.scripts.faults import ACCELERATE, FAULTS, LIGHTNING, RESUME, TRAINER
from tests.scripts.rehearsing import (
    Seen,
    contents,
    dies_at,
    known_to,
    line_of,
    planted,
    prepared,
    rehearse,
    run_plainly,
)
from tests.warming import copies

pytestmark = pytest.mark.slow

OPTIONS = ("--resume_from_checkpoint", "--ckpt_path", "--resume")


class Looked(NamedTuple):
    """A script that was rehearsed."""

    path: Path
    seen: Seen
    plain: subprocess.CompletedProcess[str] | None = None
    """How it ends when it is run as it is, where that says at which line it dies."""

    said: str = ""
    """What it printed."""

    was_left: bool = True
    """Whether its folder was left as it had been."""


@pytest.fixture(scope="module")
def looked() -> dict[str, Looked]:
    """Keep what was seen of each script for all tests of it."""
    return {}


@pytest.fixture
def faulty(
    looked: dict[str, Looked], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Looked]:
    """Rehearse a script with a fault, and run it plainly."""

    def look(name: str) -> Looked:
        if name not in looked:
            fault = FAULTS[name]
            folder = tmp_path / "job"
            folder.mkdir()
            path = prepared(folder, fault.script, monkeypatch, *fault.changes)
            again = ["Resumed"] if fault.check == RESUME else []
            seen = rehearse(path, wants=["SavedState", "Copied", "Steps", *again])
            plain = None if fault.at else run_plainly(path)
            if plain is not None and fault.resumed:
                assert plain.returncode == 0, plain.stderr
                option = next(one for one in OPTIONS if one in path.read_text("utf-8"))
                plain = run_plainly(path, option, fault.resumed)
            looked[name] = Looked(path, seen, plain)
        return looked[name]

    return look


@pytest.fixture
def healthy(
    looked: dict[str, Looked],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Callable[[str], Looked]:
    """Rehearse a script as it is."""

    def look(name: str) -> Looked:
        if name not in looked:
            folder = tmp_path / "job"
            folder.mkdir()
            path = prepared(folder, name, monkeypatch)
            before = contents(folder)
            seen = rehearse(path, wants=["SavedState", "Copied", "Sent", "Loaded", "Steps"])
            said = capfd.readouterr().err
            looked[name] = Looked(path, seen, said=said, was_left=contents(folder) == before)
        return looked[name]

    return look


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_once_at_its_own_line(faulty: Callable[[str], Looked], name: str) -> None:
    fault = FAULTS[name]
    path, seen, plain, *_ = faulty(name)
    line = dies_at(plain, path) if plain is not None else line_of(path, fault.at)

    gating = [one for one in seen.told if not one.startswith("note ")]
    assert [one.partition(" ")[2] for one in gating] == [f"{fault.check} {fault.script}:{line}"]


def test_there_are_as_many_as_were_promised() -> None:
    assert len(FAULTS) >= 40


@pytest.mark.parametrize(
    ("name", "steps", "backwards"),
    [
        ("gan.py", 8, 8),
        ("distill.py", 8, 4),
        ("lora.py", 5, 5),
        ("replicated.py", 5, 5),
        ("accelerate_loop.py", 4, 4),
        ("lightning_fit.py", 4, 4),
        ("huggingface_trainer.py", 4, 4),
        ("lora_peft.py", 2, 2),
        ("webdataset_torchrun.py", 5, 5),
        ("ema_group.py", 5, 5),
        ("text_to_image.py", 4, 4),
    ],
)
def test_a_healthy_script_is_left_alone(
    healthy: Callable[[str], Looked], name: str, steps: int, backwards: int
) -> None:
    """Two networks in turns, teachers, averages, tied, sparse and seldom used weights, adapters.

    Each comes to its own end, says all that it has to say, and leaves its folder as it was.
    """
    _, seen, _, said, was_left = healthy(name)

    assert seen.told == []
    assert (seen.steps.steps, seen.steps.backwards) == (steps, backwards)
    assert seen.steps.name == name
    assert (seen.rehearsal.ended.how, seen.rehearsal.ended.code) == ("returned", 0)
    assert "\ntrained" in "\n" + said
    assert was_left


# --- trainers -------------------------------------------------------------------------------------


def test_a_loop_of_accelerate_evaluates_and_saves(tmp_path: Path) -> None:
    seen = rehearse(planted(tmp_path, ACCELERATE), "--max_train_steps", "5000")

    assert seen.told == []
    assert seen.rehearsal.ended.how == "returned"
    assert seen.rehearsal.times("evaluation") == 2
    (arguments,) = [one for one in seen.rehearsal.shortened if one.startswith("arguments")]
    assert "max_train_steps 5000 to 4, checkpointing_steps 100 to 2" in arguments
    assert f"({ACCELERATE}:{line_of(tmp_path / ACCELERATE, 'return parser.parse')})" in arguments


def test_lightning_evaluates_and_saves(healthy: Callable[[str], Looked]) -> None:
    seen = healthy(LIGHTNING).seen

    assert seen.told == []
    assert seen.rehearsal.ended.how == "returned"
    assert seen.rehearsal.times("evaluation")
    told = " ".join(seen.rehearsal.shortened)
    assert "every_n_train_steps 90 to 2" in told
    assert "limit_train_batches all to 2" in told
    assert "max_epochs 3 to 2" in told


def test_the_trainer_of_transformers_evaluates_and_saves(healthy: Callable[[str], Looked]) -> None:
    seen = healthy(TRAINER).seen

    assert seen.told == []
    assert seen.rehearsal.ended.how == "returned"
    assert seen.rehearsal.times("evaluation")
    told = " ".join(seen.rehearsal.shortened)  # in an order that versions do not share
    assert "eval_steps 40 to 2" in told
    assert "save_steps 40 to 2" in told


@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("a field of a batch that is called otherwise", "script-eval"),
        ("a save that accelerate does not have", "script-stopped"),
        ("a validation of a batch by names", "script-eval"),
        ("an attribute that only the hook of a save asks for", "script-save"),
        ("a metric that evaluation does not give", "script-eval"),
    ],
)
def test_what_stops_a_trainer_late_is_told_at_the_line_where_it_stops(
    faulty: Callable[[str], Looked], name: str, check: str
) -> None:
    """And nothing else, not even as a note."""
    path, seen, plain, *_ = faulty(name)

    assert plain is not None
    (found,) = seen.found
    assert found.check.startswith(check)
    assert seen.told == [f"error {found.check} {path.name}:{dies_at(plain, path)}"]


@pytest.mark.parametrize(
    ("name", "fault", "line"),
    [
        (LIGHTNING, ("(self(x), y))\n\n    def", "(self(x), y * 0 - 100))\n\n    def"), ".fit("),
        (
            TRAINER,
            ("tokens.clone()}", "tokens if self.count > 99 else 0 * tokens - 100}"),
            "trainer.train()",
        ),
    ],
)
def test_labels_of_an_evaluation_that_are_all_padding_are_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    fault: tuple[str, str],
    line: str,
) -> None:
    path = prepared(tmp_path, name, monkeypatch, fault)
    seen = rehearse(path)

    assert seen.told == [f"warning script-numbers {name}:{line_of(path, line)}"]
    assert "_loss of nan in an evaluation" in seen.found[0].message


# --- resumes --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    """Keep the report of each script for all tests of it."""
    return {}


@pytest.fixture
def resumed(
    reports: dict[str, Report], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Report]:
    """Run the command over a script that is resumed, and leave its folder as it was."""

    def look(name: str) -> Report:
        if name not in reports:
            path = prepared(tmp_path, name, monkeypatch).rename(tmp_path / "train.py")
            before = contents(tmp_path)
            monkeypatch.setenv("OMP_NUM_THREADS", "1")
            with copies(known_to(path)):
                reports[name] = preflight.run("train.py", folder=tmp_path, select=["script-"])
            assert contents(tmp_path) == before
        return reports[name]

    return look


def test_a_schedule_that_was_made_short_has_a_step_left_for_the_resume(
    resumed: Callable[[str], Report],
) -> None:
    """It counts steps, and the checkpoint is of its second."""
    report = resumed("accelerate_state.py")

    assert (report.verdict, report.findings) == ("go", ())
    said = " ".join(render(report, verbose=1).split())
    assert "resumed with --resume_from_checkpoint model/checkpoint-2: 2 steps" in said


@pytest.mark.parametrize(
    "name", ["accelerate_state.py", "lightning_resume.py", "tied_safetensors.py"]
)
def test_what_libraries_save_is_read_back_and_resumed(
    resumed: Callable[[str], Report], name: str
) -> None:
    report = resumed(name)

    assert report.verdict == "go"
    assert [one for one in report.findings if one.severity.name != "NOTE"] == []
