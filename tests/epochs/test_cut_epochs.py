"""Samples that no epoch has, by loaders that are really run for many epochs, and what is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from preflight.finding import Finding
from tests.epochs import sampling
from tests.epochs.looking import look_at

pytestmark = pytest.mark.slow

TOLD = {"tokens": (22, 300), "cut": (16, 32)}


@pytest.fixture(scope="module")
def found(copies: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Finding]]:
    jobs = Path(sampling.__file__)
    return look_at(jobs, tmp_path_factory.mktemp("sampling"), "losing", "seeing")


def test_what_no_epoch_has_is_told_with_its_number(found: dict[str, list[Finding]]) -> None:
    """Of the sound ones nothing is told, of one that goes on where it was cut neither."""
    assert found.keys() == TOLD.keys()
    for name, numbers in TOLD.items():
        (finding,) = found[name]
        assert finding.check == "loader-end"
        said = re.match(r"never takes (\d+) of (\d+) samples", finding.message)
        assert said is not None and tuple(map(int, said.groups())) == numbers


def test_that_is_what_six_epochs_really_leave_out() -> None:
    for name, loader in sampling.losing().items():
        seen = {int(one) for _ in range(6) for batch in loader for one in batch}
        assert TOLD[name][0] == TOLD[name][1] - len(seen)
    for name, loader in sampling.seeing().items():
        if name.startswith("cut_"):  # in the long run
            assert len({int(one) for _ in range(40) for batch in loader for one in batch}) == 32
