"""shard-split-sample finds samples of which webdataset makes two halves."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.findings.finding import Finding, Location, Severity
from preflight.testing import ask
from tests.archives import samples, shard_facts


def found(folder: Path, names: list[str]) -> list[Finding]:
    return ask("shard-split-sample", shard_facts(folder, names, rule="none"))


@pytest.mark.parametrize(
    "names",
    [
        ["a.jpg", "a.txt", "b.jpg", "b.txt"],
        ["x/a.jpg", "x/a.txt", "y/a.jpg", "y/a.txt"],
        ["a.jpg", "no-dot", "__meta__/m.json", "a.txt"],
        ["a.jpg", "._a.txt", "a.txt"],
        ["x/a.jpg", "x/._a.txt", "x/a.txt"],
        ["a.jpg", "a.txt", "b.jpg", "b.txt", "a.jpg", "a.txt"],
        ["a.b/c.jpg", "a.txt", "a.b/d.jpg"],
    ],
    ids=[
        *("side by side", "of one name in two folders", "around what is passed over"),
        *("around a file of macOS", "parted by one in a folder", "twice as a whole"),
        "a dot in a folder",
    ],
)
def test_what_follows_each_other_or_is_told_elsewhere_is_left_alone(
    tmp_path: Path, names: list[str]
) -> None:
    assert found(tmp_path, names) == []


def test_all_that_stand_apart_are_one_finding(tmp_path: Path) -> None:
    names = sorted(samples(8), key=lambda name: name[::-1])

    (finding,) = found(tmp_path, names)

    assert finding.severity is Severity.ERROR
    assert finding.at == Location(file="x.tar")
    assert finding.message == (
        "holds 8 samples whose files do not follow each other: dog-0000, dog-0001, dog-0002 and "
        "5 more"
    )


def test_half_a_sample_that_comes_again_is_found(tmp_path: Path) -> None:
    """As `tar -r` leaves it, with a newer caption behind the old one."""
    (finding,) = found(tmp_path, ["a.jpg", "a.txt", "b.jpg", "b.txt", "a.txt"])

    assert finding.message == "holds 1 sample whose files do not follow each other: a"
