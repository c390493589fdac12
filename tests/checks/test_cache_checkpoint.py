"""cache-checkpoint names the newest whole checkpoint, and what is wrong with the others."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import preflight
from preflight.finding import Finding, Severity
from preflight.report import Report

FILES = ("model.npz", "optimizer.npz", "rng/state.npz")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Three checkpoints, a hundred steps and a minute from one another."""
    for number in (100, 200, 300):
        for name in FILES:
            path = tmp_path / "out" / f"checkpoint-{number}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(path, x=np.full(4096, number, np.float32))
            os.utime(path, (1_700_000_000 + number * 60,) * 2)
    return tmp_path / "out"


def look(folder: Path, *words: str) -> Report:
    return preflight.run(
        *(words or ("checkpoint=out",)),
        folder=str(folder),
        elsewhere=True,
        select=["cache-checkpoint"],
    )


def found(folder: Path) -> list[Finding]:
    return list(look(folder).findings)


def cut(path: Path) -> None:
    """Leave what a killed writer leaves, with the time that it had."""
    then = path.stat().st_mtime
    os.truncate(path, 4096)
    os.utime(path, (then, then))


def test_whole_checkpoints_are_left_alone(out: Path) -> None:
    assert found(out.parent) == []


def test_a_folder_that_is_no_folder_of_checkpoints_is_not_asked(out: Path) -> None:
    cut(out / "checkpoint-300" / "model.npz")

    report = look(out.parent, "cache=out")

    (outcome,) = (one for one in report.checks if one.id == "cache-checkpoint")
    assert (outcome.outcome, outcome.targets) == ("skipped", 0)


def test_a_newest_that_was_cut_is_an_error_with_the_one_to_take(out: Path) -> None:
    cut(out / "checkpoint-300" / "optimizer.npz")

    (finding,) = found(out.parent)

    assert finding.severity is Severity.ERROR
    assert finding.message.startswith(
        "checkpoint-300 has 1 damaged of 3 files: checkpoint-300/optimizer.npz "
    )
    assert "the newest whole one is checkpoint-200, of 2023-11-15 01:33 UTC" in finding.message
    assert finding.fix == "Go on from checkpoint-200, and move the others aside."


def test_an_older_one_that_was_cut_is_a_note(out: Path) -> None:
    cut(out / "checkpoint-100" / "model.npz")

    (finding,) = found(out.parent)

    assert finding.severity is Severity.NOTE
    assert "the newest whole one is checkpoint-300" in finding.message


def test_a_newest_that_lacks_a_file_is_found(out: Path) -> None:
    """The writer was killed between two files."""
    (out / "checkpoint-300" / "rng" / "state.npz").unlink()

    (finding,) = found(out.parent)

    assert finding.message.startswith("checkpoint-300 lacks rng/state.npz, which the others have; ")


def test_where_none_is_whole_that_is_said(out: Path) -> None:
    for number in (100, 200, 300):
        cut(out / f"checkpoint-{number}" / "model.npz")

    (finding,) = found(out.parent)

    assert "none of them is whole" in finding.message


def test_single_files_are_checkpoints_too(tmp_path: Path) -> None:
    """As Lightning keeps them."""
    for number in (1, 2):
        path = tmp_path / "out" / f"epoch-{number}.npz"
        path.parent.mkdir(exist_ok=True)
        np.savez(path, x=np.full(4096, number, np.float32))
        os.utime(path, (1_700_000_000 + number,) * 2)
    cut(tmp_path / "out" / "epoch-2.npz")

    (finding,) = found(tmp_path)

    assert finding.message.startswith("epoch-2.npz has 1 damaged of 1 file: epoch-2.npz ")
    assert "the newest whole one is epoch-1.npz" in finding.message
