"""shard-duplicate finds names and samples that come again in a shard."""

from __future__ import annotations

from pathlib import Path

import pytest

import preflight
from preflight.datasets.facts import DatasetFacts
from preflight.findings.finding import Finding, Location, Severity
from preflight.shards.facts import Shared
from preflight.testing import ask
from tests.archives import samples, shard_facts, tarred

pytestmark = pytest.mark.usefixtures("at_hand")


def found(folder: Path, names: list[str]) -> list[Finding]:
    return ask("shard-duplicate", shard_facts(folder, names, rule="none"))


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
    names = [f"a.{number}" for number in range(40_000)]

    (finding,) = found(tmp_path, [*names, "a.7"])

    assert finding.evidence["files"] == 1


# --- in two shards


def of_two(folder: Path, first: dict[str, bytes], second: dict[str, bytes]) -> list[Finding]:
    (folder / "data").mkdir()
    (folder / "data" / "0.tar").write_bytes(tarred(first))
    (folder / "data" / "1.tar").write_bytes(tarred(second))
    report = preflight.run("data", folder=str(folder), elsewhere=True, select=["shard-duplicate"])
    assert [one.outcome for one in report.checks if one.id == "shard-duplicate"] != ["broken"]
    return list(report.findings)


def test_shards_of_other_samples_are_left_alone(tmp_path: Path) -> None:
    assert of_two(tmp_path, samples(30), samples(30, start=30)) == []


def test_a_shard_that_was_copied_is_told(tmp_path: Path) -> None:
    (finding,) = of_two(tmp_path, samples(30), samples(30))

    assert finding.severity is Severity.WARNING
    assert finding.at == Location(file="data/1.tar")
    assert finding.also == (Location(file="data/0.tar"),)
    assert finding.message == (
        "holds 30 samples of 30 whose keys stand in data/0.tar, too, each of the same size there: "
        "dog-0000, dog-0001, dog-0002 and 27 more"
    )
    assert finding.fix == (
        "Take one of the two out: it is most likely a copy of the other under a second name."
    )


def test_one_sample_of_another_size_is_told_as_such(tmp_path: Path) -> None:
    """An old version of it, or another one of its name."""
    second = {**samples(30, start=30), "dog-0007.jpg": b"another", "dog-0007.txt": b"dog"}

    (finding,) = of_two(tmp_path, samples(30), second)

    assert "1 sample of 31" in finding.message
    assert "each of another size there: dog-0007" in finding.message
    assert (finding.fix or "").startswith("Leave them out of one of the two shards")


def test_shards_that_number_their_samples_from_the_start_are_a_note(tmp_path: Path) -> None:
    """As many writers do; webdataset reads them all."""
    other = {name: content * (2 + int(name[4:8])) for name, content in samples(30).items()}

    (finding,) = of_two(tmp_path, samples(30), other)

    assert finding.severity is Severity.NOTE
    assert finding.message == (
        "has shards that use the same keys for other samples, such as dog-0000"
    )


def test_two_data_sets_are_not_compared(tmp_path: Path) -> None:
    """Train and validation, or the same data under two words."""
    for place in ("train", "val"):
        (tmp_path / "data" / place).mkdir(parents=True)
        (tmp_path / "data" / place / "0.tar").write_bytes(tarred(samples(3)))

    for words in (("data",), ("data/train", "data/val"), ("data/train/0.tar", "data/val/0.tar")):
        report = preflight.run(
            *words, folder=str(tmp_path), elsewhere=True, select=["shard-duplicate"]
        )
        assert report.findings == ()


def test_what_is_remembered_is_compared_with_what_is_read(tmp_path: Path) -> None:
    """A second run, of which one shard has changed, sees every shard."""
    of_two(tmp_path, samples(5), samples(5, start=5))
    (tmp_path / "data" / "1.tar").write_bytes(tarred(samples(5, start=4)))

    report = preflight.run("data", folder=str(tmp_path), elsewhere=True, select=["shard-duplicate"])

    (finding,) = report.findings
    assert "1 sample of 5 whose keys stand in data/0.tar" in finding.message


def test_keys_that_nobody_has_named_are_counted() -> None:
    """The shard was gone when its keys were to be named."""
    shared = Shared(file="1.tar", first="0.tar", samples=2, alike=1, of=9)

    (finding,) = ask("shard-duplicate", DatasetFacts(name="x", file=".", shared=(shared,)))

    assert finding.message == (
        "holds 2 samples of 9 whose keys stand in 0.tar, too, 1 of them of the same size there"
    )
