"""Samples that a collate function drops are told, whatever batches are made of."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import pytest

import preflight
from preflight.epochs.dropped import WatchedCollate
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
    """Boxes in lists, in one tensor, in a dict of lists, packed and padded texts: 4 of 40.

    Or by their places in each batch, which a filter does not do.
    """
    found = look(tmp_path, "dropping")

    (large,) = found.pop("large")
    assert large.message.startswith("leaves out 12 of 120 samples")
    by_place = {"without_the_last": 10, "every_other": 20}
    every = {"without_boxes", "one_tensor", "dict_of_lists", "packed", "padding", "noisy"}
    assert set(found) == every | by_place.keys()
    lines = JOBS.read_text(encoding="utf-8").splitlines()
    for name, those in found.items():
        (one,) = those
        number = by_place.get(name, 4)
        assert one.message.startswith(
            f"leaves out {number} of 40 samples, which are in no part of"
        ), name
        assert lines[(one.at.line or 0) - 1].startswith(("def ", "class ")), name


@pytest.mark.usefixtures("at_hand")
def test_collate_functions_that_drop_nothing_are_left_alone(tmp_path: Path) -> None:
    assert look(tmp_path, "keeping") == {}


@pytest.mark.usefixtures("at_hand")
def test_of_a_stream_full_batches_are_looked_at_where_they_are_made() -> None:
    """Each is made as without that; a last one that is smaller is left."""

    def collate(samples: list[int]) -> list[int]:
        return [one for one in samples if one % 10 != 3]

    pytest.importorskip("torch")  # by whose generators it is made twice
    watched = WatchedCollate(collate, 60)
    made = [watched(list(range(first, min(first + 4, 34)))) for first in range(0, 34, 4)]
    found = watched.dropped("")

    assert [*itertools.chain(*made)] == collate([*range(34)])
    assert found is not None
    assert (found.number, found.looked_at, found.sample) == (3, 32, "number 4")


@pytest.mark.usefixtures("at_hand")
def test_a_batch_that_raises_raises_as_before() -> None:
    def collate(samples: list[int]) -> int:
        return samples[9]

    watched = WatchedCollate(collate, 60)

    with pytest.raises(IndexError):
        watched([1, 2, 3, 4])
    assert watched.dropped("") is None
