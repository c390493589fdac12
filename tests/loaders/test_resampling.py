"""Shards that are drawn with replacement are known by the source, and by the loader itself."""

from __future__ import annotations

import ast
import gc
import warnings
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from torch.utils.data import DataLoader

import preflight
from preflight.loaders.drawn_shards import drawn_shards
from preflight.loaders.sent import never_ends, resamples
from preflight.sources.loader_calls import draws_in
from tests.archives import tarred

pytestmark = pytest.mark.usefixtures("at_hand")


@pytest.mark.parametrize(
    "line",
    [
        "wds.WebDataset(urls, resampled=True)",
        "wds.WebDataset(urls, resampled=1)",
        "wds.DataPipeline(wds.ResampledShards(urls), wds.tarfile_to_samples())",
        "ResampledShardList(urls)",
    ],
)
def test_a_source_that_draws_with_replacement_is_known(line: str) -> None:
    assert draws_in(ast.parse(f"\n\n{line}\n")).resampled == 3


@pytest.mark.parametrize(
    "line",
    [
        "wds.WebDataset(urls, resampled=False)",
        "wds.WebDataset(urls, resampled=args.resampled)",
        "wds.WebDataset(urls, shardshuffle=True)",
        "resampled = True",
        "audio = librosa.resample(audio, orig_sr=1, target_sr=2)",
        "wds.DataPipeline(wds.SimpleShardList(urls))",
    ],
)
def test_other_sources_are_not(line: str) -> None:
    assert draws_in(ast.parse(line)).resampled is None


def loaders(*, resampled: bool) -> list[Any]:
    """Give the loaders that webdataset's users build."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import webdataset as wds
    data = wds.WebDataset("x-{0..3}.tar", resampled=resampled, shardshuffle=False)
    shards = wds.ResampledShards("x.tar") if resampled else wds.SimpleShardList("x.tar")
    piped = wds.DataPipeline(shards, wds.tarfile_to_samples())
    return [
        DataLoader(data, batch_size=None),
        DataLoader(piped, batch_size=None),
        wds.WebLoader(data, batch_size=None),
        wds.WebLoader(data, batch_size=None).with_epoch(100),
    ]


@pytest.mark.parametrize("resampled", [True, False])
def test_a_loader_tells_by_its_pipeline(*, resampled: bool) -> None:
    assert [resamples(vars(one)) for one in loaders(resampled=resampled)] == [resampled] * 4


def endings(folder: Path) -> dict[str, Any]:
    """Give loaders of drawn shards, and of others, with and without something that ends them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import webdataset as wds
    (folder / "0.tar").write_bytes(tarred({f"{one}.txt": b"a dog" for one in range(4)}))
    shard = str(folder / "0.tar")

    def drawn(**more: Any) -> Any:
        return wds.WebDataset(shard, resampled=True, shardshuffle=False, **more)

    def by_stages(*stages: Any) -> Any:
        return wds.DataPipeline(wds.ResampledShards(shard), wds.tarfile_to_samples(), *stages)

    def loaded(data: Any) -> Any:
        return wds.WebLoader(data, batch_size=None)

    def first(samples: Any) -> Any:
        return islice(samples, 5)

    without = wds.WebDataset(shard, shardshuffle=False)
    mapped = drawn().decode().to_tuple("txt").map(list).select(bool).batched(2)
    return {
        "endless": loaded(drawn()),
        "endless of torch": DataLoader(
            drawn().shuffle(4).batched(2, collation_fn=list), batch_size=None
        ),
        "endless by stages": DataLoader(by_stages(wds.to_tuple("txt")), batch_size=3),
        "endless, in batches anew": loaded(mapped).unbatched().shuffle(4).batched(2),
        "endless, repeated": loaded(drawn()).repeat(),
        "ends by with_epoch": loaded(drawn().with_epoch(7)),
        "ends by the loader's with_epoch": loaded(drawn()).with_epoch(7),
        "ends by slice": loaded(drawn().slice(7)),
        "ends by the loader's slice": loaded(drawn()).slice(7),
        "ends by its own stage": loaded(by_stages(first)),
        "ends by a composed stage": loaded(drawn().compose(first)),
        "ends by drawing few": loaded(
            wds.DataPipeline(wds.ResampledShards(shard, nshards=2), wds.tarfile_to_samples())
        ),
        "ends by its shards": loaded(without),
    }


def test_a_loader_without_an_end_is_known_and_none_that_has_one(tmp_path: Path) -> None:
    """The judge is what comes: 200 samples of a shard of four, or fewer."""
    for name, loader in endings(tmp_path).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # webdataset leaves its file open
            came = sum(1 for _ in islice(loader, 200))
            gc.collect()
        assert (came == 200) is name.startswith("endless"), name
        assert never_ends(loader) is name.startswith("endless"), name


def test_a_pipeline_that_holds_itself_is_looked_at_to_an_end() -> None:
    class Stage:
        pipeline: list[object]

    stage = Stage()
    stage.pipeline = [stage]

    assert resamples(vars(stage)) is False


@pytest.mark.parametrize("resampled", [True, False])
def test_fewer_shards_than_workers_are_enough_where_they_are_drawn(
    tmp_path: Path, *, resampled: bool
) -> None:
    """The source of a loader says so, also where nobody asked about loaders."""
    (tmp_path / "0.tar").write_bytes(tarred({"0.txt": b"a dog"}))
    (tmp_path / "train.py").write_text(
        "import webdataset as wds\n\n\ndef make():\n"
        f"    return wds.WebLoader(wds.WebDataset('0.tar', resampled={resampled}), num_workers=4)\n"
    )

    report = preflight.run(
        "0.tar",
        "train:make",
        folder=str(tmp_path),
        num_workers=4,
        elsewhere=True,
        select=["dataset", "shard-uneven"],
    )

    outcomes = {one.id: one for one in report.checks}
    assert len(report.findings) == (0 if resampled else 1)
    if resampled:
        reasons = [one.reason for one in outcomes["dataset-small"].skipped]
        assert reasons == ["shards are drawn with replacement (train.py:5)"]


@pytest.mark.parametrize(
    ("more", "alike"),
    [
        ({}, False),
        ({"deterministic": True}, False),
        ({"deterministic": True, "worker_seed": int}, True),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_shards_are_drawn_as_by_workers_and_none_is_opened(
    more: dict[str, Any], *, alike: bool
) -> None:
    import webdataset as wds

    drawn = wds.ResampledShards([f"nowhere-{one}.tar" for one in range(9)], **more)
    inner = wds.DataPipeline(drawn, wds.tarfile_to_samples())
    data = wds.DataPipeline(inner, wds.shuffle(20), wds.to_tuple("txt"))
    found = drawn_shards(wds.WebLoader(data.with_epoch(3), num_workers=2), 2)

    assert found is not None
    assert found.by.endswith("ResampledShards")
    assert [len(one) for one in found.addresses] == [256, 256]
    assert found.are_alike is alike
    assert drawn.epoch == -1


@pytest.mark.filterwarnings("ignore")
def test_shards_that_are_listed_are_not_drawn() -> None:
    import webdataset as wds

    listed = wds.SimpleShardList(["nowhere.tar"] * 600)
    pipelines = [
        wds.DataPipeline(listed, wds.tarfile_to_samples()),
        wds.DataPipeline([{"url": "nowhere.tar"}], wds.tarfile_to_samples()),
        wds.DataPipeline(wds.ResampledShards(["nowhere.tar"]), list),
        [1, 2, 3],
    ]

    assert [drawn_shards(DataLoader(one), 0) for one in pipelines] == [None] * 4
