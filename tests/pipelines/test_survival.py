"""What is said of a loader's samples is what webdataset itself gives of them."""

from __future__ import annotations

import gc
import gzip
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from torch.utils.data import ChainDataset, DataLoader, Dataset

from preflight.datasets.survivals import came
from preflight.objects.facts import Definition
from preflight.pipelines.facts import Survival
from preflight.pipelines.live import reads
from preflight.pipelines.stage_lines import Lines
from preflight.pipelines.survival import survival
from preflight.shards.read import read_shard
from preflight.targets.targets import Shard
from tests.pipelines.shards_to_lose import KINDS

pytestmark = pytest.mark.usefixtures("at_hand")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import webdataset as wds
    from webdataset.tariterators import base_plus_ext, tar_file_expander, url_opener

GOES_ON = wds.ignore_and_continue


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Handlers of webdataset wait half a second after each warning."""
    monkeypatch.setattr("webdataset.handlers.time", types.SimpleNamespace(sleep=lambda _: None))


def log_and_continue(exn: Exception) -> bool:
    """Do what a trainer's own handler does."""
    warnings.warn(repr(exn), stacklevel=1)
    return True


def cascade(urls: list[str]) -> Any:
    """Build what StableCascade builds, for one epoch."""
    return wds.DataPipeline(
        wds.SimpleShardList(urls),
        wds.tarfile_to_samples(handler=GOES_ON),
        wds.shuffle(10),
        wds.decode("pilrgb", handler=GOES_ON),
        wds.to_tuple("jpg;png;webp", "txt", handler=GOES_ON),
        wds.map_tuple(len_of, len_of, handler=GOES_ON),
    )


def len_of(value: object) -> int:
    return len(str(value))


def fluid(urls: list[str]) -> Any:
    return (
        wds.WebDataset(urls, handler=GOES_ON, shardshuffle=False, empty_check=False)
        .decode("pil", handler=log_and_continue)
        .rename(image="jpg;png;jpeg;webp", text="txt;caption", handler=log_and_continue)
        .map_dict(text=len_of, handler=log_and_continue)
        .to_tuple("image", "text", "__key__", handler=log_and_continue)
    )


def no_images(urls: list[str]) -> Any:
    return wds.DataPipeline(
        wds.SimpleShardList(urls),
        wds.tarfile_to_samples(handler=GOES_ON),
        wds.decode(only=["txt"], handler=GOES_ON),
        wds.rename(caption="txt", keep=False, handler=GOES_ON),
    )


def group_by_keys_nothrow(files: Any, handler: Any = None) -> Iterator[Any]:
    """Group as open_clip does: a name that stands twice begins the next sample."""
    sample: dict[str, Any] = {}
    for one in files:
        key, suffix = base_plus_ext(one.get("fname", ""))  # a mark, at the end of a shard
        if key is None:
            continue
        suffix = suffix.lower()
        if not sample or key != sample["__key__"] or suffix in sample:
            if len(sample) > 2:
                yield sample
            sample = {"__key__": key, "__url__": one["__url__"]}
        sample[suffix] = one["data"]
    if len(sample) > 2:
        yield sample


def tarfile_to_samples_nothrow(urls: Any, handler: Any = log_and_continue) -> Any:
    streams = url_opener(urls, handler=handler)
    return group_by_keys_nothrow(tar_file_expander(streams, handler=handler), handler=handler)


def has_both(sample: dict[str, Any]) -> bool:
    return "txt" in sample and not {"png", "jpg", "jpeg", "webp"}.isdisjoint(sample)


def clip(urls: list[str]) -> Any:
    """Build what open_clip builds to train, for one epoch."""
    return wds.DataPipeline(
        wds.SimpleShardList(urls),
        wds.split_by_node,
        wds.split_by_worker,
        tarfile_to_samples_nothrow,
        wds.select(has_both),
        wds.decode("pilrgb", handler=log_and_continue),
        wds.rename(image="jpg;png;jpeg;webp", text="txt"),
        wds.map_dict(image=len_of, text=len_of),
        wds.to_tuple("image", "text"),
        wds.batched(1, partial=True),
    )


def chained(urls: list[str]) -> Any:
    return (
        wds.WebDataset(urls, shardshuffle=False, empty_check=False, handler=wds.warn_and_continue)
        .decode("pil", handler=wds.warn_and_continue)
        .to_tuple("jpg;png", "txt", handler=wds.warn_and_continue)
        .map(len, handler=wds.warn_and_continue)
    )


def raising(urls: list[str]) -> Any:
    dataset = wds.WebDataset(urls, shardshuffle=False, empty_check=False)
    return dataset.decode("pil", handler=wds.reraise_exception).to_tuple("jpg;png", "txt")


def stopping(urls: list[str]) -> Any:
    return wds.DataPipeline(
        wds.SimpleShardList(urls),
        wds.tarfile_to_samples(handler=GOES_ON),
        wds.to_tuple("jpg", "txt", handler=wds.ignore_and_stop),
    )


PIPELINES = (cascade, fluid, no_images, clip, chained)


def said(loader: object, folder: Path, names: list[str]) -> Survival:
    (found,) = reads(loader, "make", Definition(), Lines(Definition(), str(folder)))
    shards = {
        str(folder / name): came(read_shard(Shard(path=name), str(folder), list, "decode"))
        for name in dict.fromkeys(names)
    }
    return survival(found, shards)


def given(pipeline: Any) -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from pipeline


def ended(pipeline: Any) -> tuple[int, bool]:
    """Count what comes of a pipeline, and say whether it raises; it leaves its files open then."""
    samples, raised = 0, False
    gc.freeze()  # what is there already is not looked at below
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for _ in pipeline:
                samples += 1
        except Exception:  # noqa: BLE001  whatever a stage of webdataset raises
            raised = True
        gc.collect()
    return samples, raised


@pytest.mark.parametrize("make", PIPELINES)
@pytest.mark.parametrize("kind", KINDS)
def test_as_many_come_through_as_webdataset_gives(
    tmp_path: Path, kind: str, make: Callable[[list[str]], Any]
) -> None:
    (tmp_path / "0.tar").write_bytes(KINDS[kind]())
    pipeline = make([str(tmp_path / "0.tar")])

    found = said(DataLoader(pipeline, batch_size=None), tmp_path, ["0.tar"])

    assert found.through == sum(1 for _ in given(pipeline))
    if not found.uncounted:
        assert found.samples == found.through + sum(one.samples for one in found.losses)


@pytest.mark.parametrize("kind", ["good", "caption suffixes mixed", "half of the captions"])
def test_as_many_come_through_chained_pipelines_as_they_give(tmp_path: Path, kind: str) -> None:
    (tmp_path / "0.tar").write_bytes(KINDS["good"]())
    (tmp_path / "1.tar").write_bytes(KINDS[kind]())
    names = ["0.tar", "1.tar"]
    chain = ChainDataset([cascade([str(tmp_path / one)]) for one in names])

    found = said(DataLoader(chain, batch_size=None), tmp_path, names)

    assert found.looked_at == 2
    assert found.through == sum(1 for _ in given(chain))


@pytest.mark.parametrize("mixed", [ChainDataset, wds.RoundRobin])
def test_pipelines_that_do_other_things_are_each_told_by_itself(
    tmp_path: Path, mixed: type
) -> None:
    for name in ("good", "half of the captions"):
        (tmp_path / f"{name}.tar").write_bytes(KINDS[name]())
    one, other = str(tmp_path / "good.tar"), str(tmp_path / "half of the captions.tar")
    inner = ChainDataset([no_images([one]), cascade([other])])
    chain = mixed([cascade([one]), inner])

    found = reads(DataLoader(chain), "make", Definition(), Lines(Definition(), ""))

    parts = ["datasets[0]", "datasets[1].datasets[0]", "datasets[1].datasets[1]"]
    assert [each.name for each in found] == [f"make {part}" for part in parts]
    assert {each.loader for each in found} == {"make"}
    assert [each.shards for each in found] == [(one,), (one,), (other,)]
    assert [len(each.stages) for each in found[::2]] == [len(found[0].stages)] * 2
    assert (found[0].stages[-1].name == "RoundRobin") == (mixed is wds.RoundRobin)


class Listed(Dataset[str]):
    """Its files are a list, and no pipeline."""

    def __init__(self, files: list[str]) -> None:
        self.files = files

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)


def test_a_data_set_of_files_beside_pipelines_is_listed_by_itself(tmp_path: Path) -> None:
    (tmp_path / "good.tar").write_bytes(KINDS["good"]())
    files = [str(tmp_path / f"{number}.jpg") for number in range(3)]
    for file in files:
        Path(file).touch()
    shard = str(tmp_path / "good.tar")
    chain = wds.RoundRobin([cascade([shard]), Listed(files)])

    for _ in range(2):  # what was walked is as it was
        found = reads(DataLoader(chain), "make", Definition(), Lines(Definition(), ""))

        assert [one.name for one in found] == ["make datasets[0]", "make datasets[1]"]
        assert [one.shards for one in found] == [(shard,), ()]
        assert [one.files for one in found] == [(), tuple(files)]


@pytest.mark.parametrize("part", [0.35, 0.7, 0.97])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_as_many_come_through_of_what_was_packed_and_cut(
    tmp_path: Path, kind: str, part: float
) -> None:
    packed = gzip.compress(KINDS[kind](), mtime=0)
    (tmp_path / "0.tgz").write_bytes(packed[: int(len(packed) * part)])
    for make in (cascade, chained):
        pipeline = make([str(tmp_path / "0.tgz")])

        found = said(DataLoader(pipeline, batch_size=None), tmp_path, ["0.tgz"])

        assert found.through == sum(1 for _ in given(pipeline))


@pytest.mark.parametrize("make", [raising, stopping])
@pytest.mark.parametrize("kind", KINDS)
def test_where_a_pipeline_ends_at_a_sample_it_is_said_to_and_nowhere_else(
    tmp_path: Path, kind: str, make: Callable[[list[str]], Any]
) -> None:
    (tmp_path / "0.tar").write_bytes(KINDS[kind]())
    pipeline = make([str(tmp_path / "0.tar")])
    found = said(DataLoader(pipeline, batch_size=None), tmp_path, ["0.tar"])
    ends = {one.how for one in found.losses} & {"raises", "stops"}
    samples, raised = ended(pipeline)

    assert raised == ("raises" in ends)
    assert samples == found.through if not ends else samples <= found.through


@pytest.mark.parametrize("make", PIPELINES)
def test_all_of_them_together_come_to_the_same_share(
    tmp_path: Path, make: Callable[[list[str]], Any]
) -> None:
    names = []
    for number, build in enumerate(KINDS.values()):
        (tmp_path / f"{number:02}.tar").write_bytes(build())
        names.append(f"{number:02}.tar")
    pipeline = make([str(tmp_path / name) for name in names])

    found = said(DataLoader(pipeline, batch_size=None), tmp_path, names)

    assert found.through == sum(1 for _ in given(pipeline))
    assert found.samples > found.through > 0
