"""A sample that nobody has put into a batch counts as one, however many parts it has."""

from __future__ import annotations

from pathlib import Path

import pytest

import preflight
from preflight.epochs.sample_numbers import count
from tests.archives import photo, tarred
from tests.files import put

JOB = """
import time
import torch
import webdataset as wds
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, SequentialSampler

def keep(error): return True
def same(sample): return sample
def has_text(sample): return "txt" in sample
def opened(): return wds.WebDataset("0.tar", shardshuffle=False, handler=keep)
def of_pairs(): return opened().to_tuple("jpg", "txt")
def loader(data): return wds.WebLoader(data, batch_size=None)

class Own(IterableDataset):
    def __iter__(self): return iter(of_pairs())

class Ready(IterableDataset):
    def __iter__(self): return iter([torch.zeros(3, 8, 8)] * 5)

class Several(Dataset):
    def __len__(self): return 12
    def __getitem__(self, at):
        return torch.zeros(len(at) if isinstance(at, list) else 3, 8)

class Silent(IterableDataset):
    def __iter__(self):
        time.sleep(600)
        yield 1

def pairs(): return loader(of_pairs())
def triples(): return loader(opened().to_tuple("__key__", "jpg", "txt"))
def mapped(): return loader(of_pairs().map(same).shuffle(4))
def dicts(): return loader(opened().decode("pil"))
def filtered(): return loader(opened().select(has_text))
def batched(): return loader(of_pairs().batched(4))
def listed(): return loader(of_pairs().listed(4))
def by_torch(): return wds.WebLoader(of_pairs(), batch_size=4)
def apart(): return loader(of_pairs().batched(4)).unbatched()
def again(): return loader(of_pairs().batched(4)).unbatched().batched(3)
def own(): return DataLoader(Own(), batch_size=None)
def ready(): return DataLoader(Ready(), batch_size=None)
def by_item(): return DataLoader(Several(), batch_size=None)
def by_lists():
    sampler = BatchSampler(SequentialSampler(range(12)), 4, drop_last=False)
    return DataLoader(Several(), batch_size=None, sampler=sampler)
def by_generator():
    for one in of_pairs(): yield one
def silent(): return DataLoader(Silent(), batch_size=2)
"""

SAMPLES = {
    "pairs": "12 samples in 12 batches",
    "triples": "12 samples in 12 batches",
    "mapped": "12 samples in 12 batches",
    "dicts": "12 samples in 12 batches",
    "batched": "12 samples in 3 batches",
    "listed": "12 samples in 3 batches",
    "by_torch": "12 samples in 3 batches",
    "apart": "12 samples in 12 batches",
    "again": "12 samples in 4 batches",
    "own": "12 batches",
    "ready": "5 batches",
    "by_item": "12 batches",
    "by_lists": "12 samples in 3 batches",
    "by_generator": "12 batches",
}


def lay(folder: Path, captions: int = 12) -> Path:
    members = {f"{n:02}.{end}": data for n in range(12) for end, data in _files(n, captions)}
    put(folder, "0.tar", content=tarred(members))
    (folder / "train.py").write_text(JOB, encoding="utf-8")
    return folder


def _files(number: int, captions: int) -> list[tuple[str, bytes]]:
    return [("jpg", photo()), *([("txt", b"a cat")] if number < captions else [])]


def test_samples_are_counted_by_how_they_are_put_together(copies: None, tmp_path: Path) -> None:
    words = [f"loader=train:{name}" for name in SAMPLES]

    report = preflight.run(*words, folder=str(lay(tmp_path)), select=["loader"], budget=600)

    seen = {one.word.rpartition(":")[2]: one.text.split(", ") for one in report.targets}
    said = {
        name: [one for one in parts if one[0].isdigit() and "batch" in one]
        for name, parts in seen.items()
    }
    assert {name: said.get(name) for name in SAMPLES} == {n: [s] for n, s in SAMPLES.items()}


def test_a_tuple_of_texts_may_be_one_sample() -> None:
    assert count((b"image", b"a cat")) is None
    assert count(("a cat", "a dog"), 2) == 2
    assert count(["a cat", "a dog"]) == 2


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("dicts", "train:dicts asks for no field: such a sample comes without it, and what takes"),
        ("filtered", "train:filtered asks for no field: such a sample comes without it, or a"),
        ("pairs", "train:pairs asks for it"),
    ],
)
def test_why_a_caption_matters_is_said_by_the_loader_that_there_is(
    copies: None, tmp_path: Path, name: str, said: str
) -> None:
    folder = lay(tmp_path, captions=9)

    report = preflight.run(f"train:{name}", folder=str(folder), select=["sample", "loader"])

    found = [one for one in report.findings if one.check == "sample-unpaired"]
    assert found
    assert all(said in (one.why or "") for one in found)


def test_a_stream_that_gave_nothing_is_not_run_by_ranks(copies: None, tmp_path: Path) -> None:
    look = {
        "folder": str(lay(tmp_path)),
        "world_size": 2,
        "select": ["loader-stuck", "world-order"],
    }

    report = preflight.run("train:silent", timeout=6, **look)

    assert [one.check for one in report.findings] == ["loader-stuck"]
    (order,) = (one for one in report.checks if one.id == "world-order")
    assert "train:silent gave no batch in 6 s, and was not run by ranks" in str(order)
