"""The function that writes an entry: what is told of a trial."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch

import preflight
from preflight.facts import ReadBack, WriterTrial
from preflight.finding import Severity
from preflight.session.run import UsageError
from preflight.settings.job import Job, Launch
from preflight.testing import ask
from tests.questions import outcome_of

pytestmark = pytest.mark.usefixtures("at_hand")

CLEAN = WriterTrial(
    file="cache",
    entry=0,
    writer="storing:save",
    called_as="save(path, value)",
    value="a tensor of 262,144 bytes",
    suffix=".pt",
    read_by="torch.load",
    writers=3,
    saves=600,
    reads=ReadBack(reads=80),
    files=20,
)
RANKS = Job(launch=Launch(world_size=4))
WHO = (
    "is written by storing:save (called as save(path, value), a tensor of 262,144 bytes, by 3 "
    "processes at once)"
)


def told(facts: WriterTrial, job: Job = RANKS) -> list[tuple[Severity, str]]:
    return [(one.severity, one.message) for one in ask("cache-writer", facts, job)]


def test_a_writer_of_which_every_read_was_whole_is_left_alone() -> None:
    assert told(CLEAN) == []


def test_torn_reads_are_counted_with_the_first_one() -> None:
    reads = ReadBack(reads=80, torn=70, absent=1)
    facts = replace(CLEAN, reads=reads, first_torn="torch.load raises EOFError: ")

    assert told(facts) == [
        (
            Severity.ERROR,
            (
                f"{WHO} so that others read half an entry: of 80 reads, 70 gave a part or a "
                "mixture of what was written and 1 found no file, although it was there before; "
                "the first: torch.load raises EOFError"
            ),
        )
    ]


def test_one_rank_alone_makes_a_warning_of_it() -> None:
    facts = replace(CLEAN, reads=ReadBack(reads=80, torn=70))

    assert [severity for severity, _ in told(facts, Job())] == [Severity.WARNING]


def test_files_that_stay_damaged_are_told_where_nobody_read_them_meanwhile() -> None:
    facts = replace(CLEAN, left_damaged=1, first_torn="a mixture of what two writers have written")

    (said,) = [message for _, message in told(facts)]
    assert "1 of 20 files stays damaged; the first: a mixture" in said


def test_saves_that_raise_and_writers_that_hang_are_told_beside_it() -> None:
    facts = replace(CLEAN, raised=3, first_raised="raises KeyError: 3 in storing.py:2", hung=2)

    assert told(facts) == [
        (
            Severity.ERROR,
            (
                f"{WHO}, and 3 of 600 saves failed while the others wrote the same file: it raises "
                "KeyError: 3 in storing.py:2"
            ),
        ),
        (
            Severity.ERROR,
            f"{WHO}, and 2 of them had not come back 10 s after the others",
        ),
    ]


@pytest.mark.parametrize(
    ("suffix", "line"),
    [
        (".pt", "torch.save(value, f)"),
        (".npy", "np.save(f, value)"),
        (".npz", "np.savez(f, **arrays)"),
        (".safetensors", "f.write(safetensors.torch.save(value))"),
        (".xyz", "f.write(data)"),
    ],
)
def test_the_pattern_that_mends_it_is_of_the_entries_format(suffix: str, line: str) -> None:
    facts = replace(CLEAN, suffix=suffix, reads=ReadBack(reads=80, torn=70))

    (finding,) = ask("cache-writer", facts)
    assert finding.fix is not None
    assert f"as f: {line}; f.flush(); os.fsync(f.fileno());  os.replace(tmp, path)" in finding.fix


def test_a_trial_in_which_nothing_was_read_is_no_pass() -> None:
    outcome = outcome_of("cache-writer", replace(CLEAN, reads=ReadBack()), Job())

    assert outcome.outcome == "skipped"
    assert outcome.skipped[0].reason == "storing:save wrote nothing that could be read in time"


def test_a_writer_that_cannot_be_called_is_no_go(tmp_path: Path) -> None:
    """The check says why it could not look, and where in the user's code."""
    (tmp_path / "cache").mkdir()
    source = "def save(path, value):\n    raise ValueError('no room')\n"
    (tmp_path / "storing.py").write_text(source, encoding="utf-8")
    settings = '[[cache]]\npath = "cache"\nwriter = "storing:save"\n'
    (tmp_path / "preflight.toml").write_text(settings, encoding="utf-8")

    report = preflight.run(folder=str(tmp_path), select=["cache-writer"])

    assert report.verdict == "cannot-judge"
    (outcome,) = [one for one in report.checks if one.id == "cache-writer"]
    assert [one.error for one in outcome.broken] == [
        "storing:save raises ValueError: no room in storing.py:2"
    ]


def test_a_writer_that_is_no_name_is_told_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    settings = '[[cache]]\npath = "cache"\nwriter = "torch save"\n'
    (tmp_path / "preflight.toml").write_text(settings, encoding="utf-8")

    with pytest.raises(UsageError, match=r"is no module:name and no file\.py:name"):
        preflight.run(folder=str(tmp_path), select=["cache-writer"])


WRITTEN: dict[str, tuple[object, Callable[[Path], Any]]] = {
    ".pt": (torch.ones(3), torch.load),
    ".npy": (np.ones(3), np.load),
    ".npz": ({"latents": np.ones(3)}, lambda path: np.load(path)["latents"]),
    ".safetensors": ({"a": torch.ones(3)}, lambda path: safetensors.torch.load_file(path)["a"]),
    ".xyz": (b"\1\1\1", lambda path: list(path.read_bytes())),
}


@pytest.mark.parametrize("suffix", WRITTEN)
def test_the_pattern_that_is_printed_writes_an_entry(tmp_path: Path, suffix: str) -> None:
    value, load = WRITTEN[suffix]
    (finding,) = ask("cache-writer", replace(CLEAN, suffix=suffix, reads=ReadBack(reads=8, torn=7)))
    _, _, code = (finding.fix or "").partition(":  ")
    path = tmp_path / f"entry{suffix}"
    names = {"np": np, "torch": torch, "safetensors": safetensors, "os": os, "uuid": uuid}

    given = dict.fromkeys(("value", "data", "arrays"), value)
    exec("\n".join(code.split(";  ")), {**names, "path": str(path), **given})

    assert [*map(float, load(path))] == [1.0] * 3
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
