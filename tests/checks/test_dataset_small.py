"""dataset-small holds samples against one step of the job, and shards against its workers."""

from __future__ import annotations

import dataclasses
import tarfile
import warnings
from pathlib import Path
from typing import Any

import pytest

import preflight
from preflight.datasets.facts import DatasetFacts
from preflight.findings.check import Check
from preflight.findings.finding import Finding, Location, Severity
from preflight.findings.registry import built_in
from preflight.settings.job import DataSettings, Job, Launch
from preflight.testing import ask
from tests.archives import samples, tarred


def shards(*sizes: int, unread: int = 0) -> DatasetFacts:
    return DatasetFacts(
        name="data/{000..999}.tar",
        file="data",
        shards=tuple(f"data/{number:03}.tar" for number in range(len(sizes))),
        sizes=sizes,
        samples=sum(sizes),
        unread=unread,
    )


def folder(images: int) -> DatasetFacts:
    return DatasetFacts(name="photos", file="photos", is_folder=True, samples=images)


def found(facts: DatasetFacts, data: DataSettings | None = None, **launch: Any) -> list[Finding]:
    job = Job(launch=Launch(**launch), data=(data,) if data is not None else ())
    facts = dataclasses.replace(facts, entry=0 if data is not None else None)
    check: Check = built_in()["dataset-small"]
    assert check.skip is not None
    return [] if check.skip(facts, job) else ask("dataset-small", facts, job)


@pytest.mark.parametrize("facts", [shards(1), shards(5, 5), folder(1), shards(0, 1)])
def test_any_data_set_is_enough_where_nothing_is_said_of_the_launch(facts: DatasetFacts) -> None:
    assert found(facts) == []


@pytest.mark.parametrize(
    ("facts", "launch"),
    [
        (shards(8, 8), {"batch_size": 8, "world_size": 2}),
        (shards(8, 8), {"batch_size": 4, "world_size": 2, "grad_accum": 2}),
        (shards(1, 1, 1, 1), {"world_size": 2, "num_workers": 2}),
        (shards(1, 1), {"world_size": 2, "num_workers": 0}),
        (folder(16), {"batch_size": 16, "num_workers": 8}),
        (folder(16), {"nodes": 2, "gpus": 8}),
    ],
)
def test_just_enough_is_left_alone(facts: DatasetFacts, launch: dict[str, int]) -> None:
    assert found(facts, **launch) == []


def test_repeats_and_a_batch_of_its_own_count(tmp_path: Path) -> None:
    """As SimpleTuner counts repeats: one of them is the second pass."""
    small = folder(8)

    assert found(small, DataSettings(path="p", batch_size=8), batch_size=99) == []
    assert found(small, DataSettings(path="p", repeats=1), batch_size=16) == []
    assert len(found(small, DataSettings(path="p", repeats=1), batch_size=17)) == 1


def test_fewer_samples_than_a_step_are_told_with_the_numbers() -> None:
    (finding,) = found(shards(5, 5), batch_size=4, world_size=2, grad_accum=2)

    assert finding.severity is Severity.WARNING
    assert finding.at == Location(file="data", name="data/{000..999}.tar")
    assert finding.message == (
        "holds 10 samples, fewer than the 16 of one step: a batch of 4 x 2 ranks x 2 batches to a "
        "step"
    )


def test_fewer_shards_than_workers_are_told() -> None:
    (finding,) = found(shards(90, 90, 90), world_size=2, num_workers=4)

    assert finding.message == "has 3 shards for 8 workers: 2 ranks x 4 workers"
    assert "5 of them get no shard" in (finding.why or "")


def test_fewer_shards_than_ranks_are_told() -> None:
    (finding,) = found(shards(90, 90, 90), world_size=4)

    assert finding.message == "has 3 shards for 4 ranks"


def test_a_data_set_that_lacks_both_is_one_finding() -> None:
    (finding,) = found(shards(2), batch_size=4, num_workers=2)

    assert finding.message == (
        "holds 2 samples, fewer than the 4 of one step: a batch of 4; "
        "has 1 shard for 2 workers: 1 rank x 2 workers"
    )


def test_what_was_not_read_may_be_enough() -> None:
    """Shards are counted all the same."""
    assert found(shards(5, unread=1), batch_size=16) == []
    assert len(found(shards(5, unread=1), batch_size=16, world_size=3)) == 1


def test_webdataset_raises_in_a_worker_that_has_no_shard(tmp_path: Path) -> None:
    """What the check says of it, by a real loader."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import webdataset
    from torch.utils.data import DataLoader

    (tmp_path / "0.tar").write_bytes(tarred(samples(4)))
    source = webdataset.WebDataset([str(tmp_path / "0.tar")], shardshuffle=False)
    loader = DataLoader(source, batch_size=None, num_workers=2)

    with pytest.raises(ValueError, match="fewer shards than workers"):
        list(loader)


def test_a_data_set_without_a_sample_is_told_through_a_run(tmp_path: Path) -> None:
    tarfile.open(tmp_path / "empty.tar", "w").close()
    (tmp_path / "full.tar").write_bytes(tarred({"0.txt": b"a dog"}))

    report = preflight.run("empty.tar", "full.tar", folder=str(tmp_path), elsewhere=True)

    (finding,) = report.findings
    assert (finding.check, finding.at.file) == ("dataset-small", "empty.tar")
    assert finding.message == "holds no sample"
    assert report.verdict == "go"


def test_the_launch_is_taken_from_the_command(tmp_path: Path) -> None:
    for number in range(2):
        files = samples(5, start=5 * number)
        (tmp_path / f"{number}.tar").write_bytes(tarred(files))
    job = {"folder": str(tmp_path), "elsewhere": True, "select": ["dataset"]}

    assert preflight.run("{0..1}.tar", **job, batch_size=5, grad_accum=2).findings == ()
    (finding,) = preflight.run("{0..1}.tar", **job, batch_size=5, grad_accum=3).findings

    assert finding.at.name == "{0..1}.tar"
    assert finding.evidence == {"samples": 10, "step": 15}
