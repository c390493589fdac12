"""Samples that a collate function drops are told, whatever batches are made of."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import preflight
from preflight.finding import Finding
from tests.asking import by_loader

JOBS = Path(__file__).with_name("collating.py")


def look(folder: Path, name: str) -> dict[str, list[Finding]]:
    shutil.copy(JOBS, folder / "collating.py")
    checks = ["loader-contract", "loader-end", "loader-stuck"]
    report = preflight.run(
        f"collating:{name}", folder=str(folder), select=checks, timeout=60.0, budget=200.0
    )
    assert all(not one.broken for one in report.checks)
    return by_loader(report)


@pytest.mark.usefixtures("at_hand")
def test_what_a_collate_function_drops_is_told_at_its_line(tmp_path: Path) -> None:
    """Boxes in lists, in one tensor, in a dict of lists, packed and padded texts: 4 of 40."""
    found = look(tmp_path, "dropping")

    (large,) = found.pop("large")
    assert large.message.startswith("leaves out 12 of 120 samples")
    every = {"without_boxes", "one_tensor", "dict_of_lists", "packed", "padding", "noisy"}
    assert set(found) == every
    lines = JOBS.read_text(encoding="utf-8").splitlines()
    for name, those in found.items():
        (one,) = those
        assert one.message.startswith("leaves out 4 of 40 samples, which are in no part of"), name
        assert lines[(one.at.line or 0) - 1].startswith(("def ", "class ")), name


@pytest.mark.usefixtures("at_hand")
def test_collate_functions_that_drop_nothing_are_left_alone(tmp_path: Path) -> None:
    assert look(tmp_path, "keeping") == {}
