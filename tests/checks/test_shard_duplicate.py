"""shard-duplicate finds names and samples that come again in a shard."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.finding import Finding, Location, Severity
from preflight.readers.shard import read_shard
from preflight.targets import CaptionRule, Shard
from preflight.testing import ask
from tests.archives import samples, tarred


def found(folder: Path, names: list[str]) -> list[Finding]:
    (folder / "x.tar").write_bytes(tarred([(name, b"x") for name in names]))
    facts = read_shard(Shard(path="x.tar", captions=CaptionRule(rule="none")), str(folder), list)
    return ask("shard-duplicate", facts)


@pytest.mark.parametrize(
    "names",
    [
        [*samples(3)],
        ["a.jpg", "a.seg.jpg", "a.JPEG"],
        ["x/a.jpg", "y/a.jpg", "A.jpg", "a.jpg"],
        ["no-dot", "no-dot", "._a", "._a"],
        ["__meta__/a.json", "__meta__/a.json"],
        ["a.jpg", "b.jpg", "a.txt", "b.txt"],
    ],
    ids=["plain", "other suffixes", "other keys", "of no sample", "metadata", "apart"],
)
def test_names_that_webdataset_tells_apart_are_left_alone(tmp_path: Path, names: list[str]) -> None:
    assert found(tmp_path, names) == []


@pytest.mark.parametrize("again", ["a.jpg", "a.JPG"], ids=["the same", "in large letters"])
def test_a_name_again_in_its_sample_is_an_error(tmp_path: Path, again: str) -> None:
    (finding,) = found(tmp_path, ["a.jpg", "a.txt", again, "b.jpg"])

    assert finding.severity is Severity.ERROR
    assert finding.at == Location(file="x.tar")
    assert finding.message == f"holds 1 file whose sample has that name already: {again}"


def test_a_sample_again_elsewhere_is_a_warning(tmp_path: Path) -> None:
    """Here webdataset does not raise: it trains it twice."""
    (finding,) = found(tmp_path, ["a.jpg", "a.txt", "b.jpg", "b.txt", "a.jpg", "a.txt"])

    assert finding.severity is Severity.WARNING
    assert finding.message == "holds 1 sample in more than one place: a"


def test_forty_thousand_files_of_one_sample_take_no_time(tmp_path: Path) -> None:
    """Each is compared with all others at once."""
    names = [f"a.{number}" for number in range(40_000)]

    (finding,) = found(tmp_path, [*names, "a.7"])

    assert finding.evidence["files"] == 1
