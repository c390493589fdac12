"""shard-missing finds gaps in a brace range, and nothing else."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

import preflight
from preflight.targets.facts import Absent
from preflight.testing import ask
from tests.archives import tarred

pytestmark = pytest.mark.usefixtures("at_hand")


def test_a_path_that_no_range_names_is_left_to_another_check() -> None:
    """target-missing says it better."""
    assert ask("shard-missing", Absent(file="data", kind="data")) == []


def test_each_gap_is_one_finding_and_the_whole_ones_are_looked_at(tmp_path: Path) -> None:
    """The range counts with leading zeros, as webdataset expands it."""
    for number in (0, 2, 5):
        tarfile.open(tmp_path / f"s-{number:03}.tar", "w").close()

    report = preflight.run("s-{000..005}.tar", folder=str(tmp_path))

    missing = [finding for finding in report.findings if finding.check == "shard-missing"]
    assert [finding.at.file for finding in missing] == ["s-001.tar", "s-003.tar", "s-004.tar"]
    looked = next(one for one in report.checks if one.id == "shard-damaged")
    assert looked.looked_at == 3
    assert report.verdict == "no-go"


def test_the_page_holds_gaps_against_no_other_number(tmp_path: Path) -> None:
    """This machine and the shards that are there are looked at, and are no part of the gaps."""
    tarfile.open(tmp_path / "s-0.tar", "w").close()

    page = str(preflight.run("s-{0..2}.tar", folder=str(tmp_path), select=["shard-"]))

    assert "2 places lack shards that are named" in page


def test_a_range_of_which_nothing_is_there_is_found_too(tmp_path: Path) -> None:
    """The disk may not be mounted; that is no mistake in typing."""
    report = preflight.run("s-{0..1}.tar", folder=str(tmp_path))

    assert [finding.check for finding in report.findings] == ["shard-missing"] * 2


def test_a_range_of_very_many_that_are_not_there_is_counted(tmp_path: Path) -> None:
    """The disk is not mounted: ten thousand are named, and what is there is looked at."""
    (tmp_path / "s").mkdir()
    for number in ("07", "39999"):
        (tmp_path / "s" / f"{number.zfill(5)}.tar").write_bytes(tarred({f"{number}.txt": b"a"}))

    report = preflight.run("s/{00000..39999}.tar", folder=str(tmp_path), max_findings=100)

    (outcome,) = [one for one in report.checks if one.id == "shard-missing"]
    assert outcome.found == 39_998
    assert sum(report.more["shard-missing"].values()) == 39_998 - 100
    assert len(report.more["shard-missing"]) <= 102
    assert "39,998 shards not there" in [one.text for one in report.targets]


def test_a_whole_range_is_left_alone(tmp_path: Path) -> None:
    """Alternatives in braces are no numbers, and all of them are there."""
    for start, name in enumerate(("train", "val")):
        (tmp_path / f"{name}.tar").write_bytes(tarred({f"{start}.txt": b"a dog"}))

    assert preflight.run("{train,val}.tar", folder=str(tmp_path)).findings == ()
