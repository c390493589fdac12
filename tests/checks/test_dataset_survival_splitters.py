"""dataset-survival says where each rank or worker reads all shards, as webdataset then does."""

from __future__ import annotations

import random
from collections import Counter
from itertools import islice, product
from pathlib import Path
from typing import Any

import pytest

from preflight.datasets.survivals import came
from preflight.findings.finding import Finding, Severity
from preflight.objects.facts import Definition
from preflight.pipelines.facts import Survival
from preflight.pipelines.live import reads
from preflight.pipelines.stage_lines import Lines
from preflight.pipelines.survival import survival
from preflight.settings.job import Job, Launch
from preflight.shards.read import read_shard
from preflight.targets.targets import Shard
from preflight.testing import ask
from tests.archives import tarred
from tests.pipelines.shards_to_lose import good

SHARDS, RANKS, WORKERS = 4, 2, 2


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for number in range(SHARDS):
        (tmp_path / f"{number}.tar").write_bytes(tarred(good(2, 10 * number)))
    return tmp_path


def identity(sample: Any) -> Any:
    return sample


def every_second(source: Any) -> Any:
    """Divide shards as somebody does who writes it himself."""
    import webdataset as wds

    rank, ranks, worker, workers = wds.utils.pytorch_worker_info()
    return islice(source, rank * workers + worker, None, ranks * workers)


def pipeline(name: str, urls: list[str]) -> Any:
    import webdataset as wds
    from torch.utils.data import IterableDataset

    class OwnShards(IterableDataset[Any]):
        """A list of the job's own, which draws."""

        def __init__(self) -> None:
            self.urls = urls

        def __iter__(self) -> Any:
            while True:
                yield {"url": random.choice(self.urls)}

    listed, opened = wds.SimpleShardList(urls), wds.tarfile_to_samples()
    chained = {"shardshuffle": False, "empty_check": False}
    return {
        "both": lambda: wds.DataPipeline(listed, wds.split_by_node, wds.split_by_worker, opened),
        "shuffled": lambda: wds.DataPipeline(
            listed, wds.shuffle(9), wds.split_by_node, wds.split_by_worker, opened
        ),
        "behind": lambda: wds.DataPipeline(listed, opened, wds.split_by_node, wds.split_by_worker),
        "own": lambda: wds.DataPipeline(listed, every_second, opened),
        "own, behind": lambda: wds.DataPipeline(listed, opened, every_second),
        "WebDataset": lambda: wds.WebDataset(urls, nodesplitter=wds.split_by_node, **chained),
        "none": lambda: wds.DataPipeline(listed, opened, wds.map(identity)),
        "worker": lambda: wds.DataPipeline(listed, wds.split_by_worker, opened),
        "node": lambda: wds.DataPipeline(listed, wds.split_by_node, opened, wds.map(identity)),
        "WebDataset, none": lambda: wds.WebDataset(
            urls, nodesplitter=None, workersplitter=None, **chained
        ),
        "default": lambda: wds.WebDataset(urls, **chained),
        "drawn, default": lambda: wds.WebDataset(urls, resampled=True).slice(4),
        "drawn": lambda: wds.DataPipeline(wds.ResampledShards(urls), opened, wds.slice(4)),
        "drawn, own": lambda: wds.DataPipeline(OwnShards(), opened, wds.slice(4)),
        "drawn, split": lambda: wds.WebDataset(
            urls, resampled=True, nodesplitter=wds.split_by_node
        ).slice(4),
    }[name]()


def urls_in(folder: Path) -> list[str]:
    return [f"{number}.tar" for number in range(SHARDS)]


def times(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, ranks: int, workers: int
) -> int:
    """Run it as each worker of each rank, and say how often a sample comes; 0: it raises."""
    seen: Counter[str] = Counter()
    for rank, worker in product(range(ranks), range(workers)):
        for key, value in {"RANK": rank, "WORLD_SIZE": ranks}.items():
            monkeypatch.setenv(key, str(value))
        for key, value in {"WORKER": worker, "NUM_WORKERS": workers}.items():
            monkeypatch.setenv(key, str(value))
        try:
            seen.update(one["__key__"] for one in pipeline(name, urls_in(folder)))
        except ValueError:
            return 0
    assert len(set(seen.values())) == 1 or name.startswith("drawn")
    return max(seen.values())


class Loader:
    """A DataLoader, as far as its attributes are read."""

    def __init__(self, dataset: Any, workers: int) -> None:
        self.dataset, self.num_workers, self.batch_size = dataset, workers, None
        self.collate_fn = identity


def told(name: str, folder: Path, ranks: int, workers: int) -> list[Finding]:
    made = Definition(file="train.py", line=1)
    loader = Loader(pipeline(name, urls_in(folder)), workers)
    (said,) = reads(loader, "train:make", made, Lines(made, str(folder)))
    shards = {one: came(read_shard(Shard(path=one), str(folder), print)) for one in said.shards}
    found: Survival = survival(said, shards)
    assert found.looked_at == SHARDS
    job = Job(root=str(folder), launch=Launch(world_size=ranks))
    return ask("dataset-survival", found, job=job)


@pytest.mark.parametrize(("ranks", "workers"), [(1, 1), (1, 2), (2, 1), (2, 2)])
@pytest.mark.parametrize("name", ["both", "shuffled", "behind", "own", "own, behind", "WebDataset"])
@pytest.mark.filterwarnings("ignore")
def test_shards_that_are_divided_are_left_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, ranks: int, workers: int
) -> None:
    if name != "shuffled":  # whose order is drawn anew each time it is run
        assert times(name, folder, monkeypatch, ranks, workers) == 1
    assert told(name, folder, ranks, workers) == []


@pytest.mark.parametrize("name", ["drawn", "drawn, own", "drawn, split"])
@pytest.mark.filterwarnings("ignore")
def test_shards_that_are_drawn_again_are_divided_by_nobody(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert times(name, folder, monkeypatch, RANKS, WORKERS) > 0
    assert told(name, folder, RANKS, WORKERS) == []


@pytest.mark.parametrize(("ranks", "workers"), [(1, 1), (1, 2), (2, 1), (2, 2)])
@pytest.mark.parametrize("name", ["none", "worker", "node", "WebDataset, none"])
@pytest.mark.filterwarnings("ignore")
def test_what_is_said_of_shards_that_each_reads_is_what_comes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, ranks: int, workers: int
) -> None:
    """Of workers it is sure; ranks may be divided by something else."""
    often = times(name, folder, monkeypatch, ranks, workers)
    found = told(name, folder, ranks, workers)

    if often == 1:
        assert found == []
        return
    (one,) = found
    assert f"gives each sample {often} times in one pass" in one.message
    by_workers = workers > 1 and name != "worker"
    assert one.severity == (Severity.WARNING if by_workers else Severity.NOTE)
    assert ("accelerate" in (one.why or "")) == (ranks > 1 and name != "node")
    splitters = {"none": "both", "WebDataset, none": "both"}.get(name, name)
    assert ("split_by_worker" in (one.fix or "")) == (by_workers and splitters != "worker")


@pytest.mark.parametrize("name", ["default", "drawn, default"])
@pytest.mark.filterwarnings("ignore")
def test_what_is_said_of_no_splitter_for_ranks_is_what_webdataset_raises(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """And what is told to do about it works."""
    assert times(name, folder, monkeypatch, RANKS, 1) == 0
    (one,) = told(name, folder, RANKS, 1)

    assert one.severity == Severity.ERROR
    assert "single_node_only raises" in one.message
    assert "nodesplitter=wds.split_by_node" in (one.fix or "")
    mended = "WebDataset" if name == "default" else "drawn, split"
    assert times(mended, folder, monkeypatch, RANKS, 1) > 0
    assert told(name, folder, 1, 1) == []
    assert times(name, folder, monkeypatch, 1, 1) > 0
