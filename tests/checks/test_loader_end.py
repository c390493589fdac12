"""loader-end says that an epoch has no batch, as a loop over the loader would see it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from preflight.findings.finding import Severity
from preflight.loaders.epoch_length import EpochLength
from preflight.loaders.sent import Known, walk_loader
from preflight.settings.job import Job
from preflight.testing import ask
from tests.asking import reason

torch_data = pytest.importorskip("torch.utils.data")
DataLoader = torch_data.DataLoader


class Stream(torch_data.IterableDataset):  # type: ignore[misc, name-defined]
    """Has no length at all."""

    def __iter__(self) -> Iterator[int]:
        return iter(())


class Late(torch_data.Sampler):  # type: ignore[misc, name-defined]
    """Has its batches only once somebody draws from it."""

    batches: tuple[list[int], ...] = ()

    def __iter__(self) -> Iterator[list[int]]:
        self.batches = ([0, 1], [2])
        return iter(self.batches)

    def __len__(self) -> int:
        return len(self.batches)


class Broken(list):  # type: ignore[type-arg]
    """Has no length as long as it is not prepared."""

    def __len__(self) -> int:
        raise RuntimeError("call prepare() first")


def of_rank(samples: int) -> object:
    from torch.utils.data.distributed import DistributedSampler

    data = range(samples)
    sampler = DistributedSampler(data, num_replicas=4, rank=1, drop_last=True)  # type: ignore[arg-type, var-annotated]
    return DataLoader(data, sampler=sampler)


EMPTY = {
    "drop_last": DataLoader(range(3), batch_size=4, drop_last=True),
    "no sample": DataLoader([]),
    "a subset of nothing": DataLoader(torch_data.Subset(range(9), []), batch_size=2),
    "no sample, and no batches": DataLoader([], batch_size=None),
    "ranks": of_rank(3),
}

FULL = {
    "just enough": DataLoader(range(4), batch_size=4, drop_last=True),
    "the last one is kept": DataLoader(range(3), batch_size=4),
    "shuffled": DataLoader(range(3), shuffle=True),
    "ranks": of_rank(4),
    "weighted": DataLoader(range(3), sampler=torch_data.WeightedRandomSampler([1, 1, 1], 8)),
}

UNKNOWN = {
    "a stream": DataLoader(Stream()),
    "a sampler of its own": DataLoader(range(3), batch_sampler=Late()),
    "no length yet": DataLoader(Broken(), sampler=torch_data.SequentialSampler(range(3))),
}


def found(loader: object, tmp_path: Path) -> list[str]:
    sent = walk_loader(loader, Known("train:make", str(tmp_path)))
    return [one.message for one in ask("loader-end", sent, Job())]


@pytest.mark.parametrize("loader", EMPTY.values(), ids=EMPTY)
def test_an_epoch_without_a_batch_is_told(loader: object, tmp_path: Path) -> None:
    (message,) = found(loader, tmp_path)

    assert list(loader) == []  # type: ignore[call-overload]
    assert message.startswith("has 0 batches in an epoch: ")


@pytest.mark.parametrize("loader", FULL.values(), ids=FULL)
def test_an_epoch_with_a_batch_is_left_alone(loader: object, tmp_path: Path) -> None:
    assert found(loader, tmp_path) == []
    assert list(loader) != []  # type: ignore[call-overload]


@pytest.mark.parametrize("loader", UNKNOWN.values(), ids=UNKNOWN)
def test_what_has_no_length_before_it_is_drawn_is_skipped(loader: object, tmp_path: Path) -> None:
    sent = walk_loader(loader, Known("train:make", str(tmp_path)))

    assert reason("loader-end", sent) is not None
    assert ask("loader-end", sent, Job()) == []


def test_the_numbers_are_told_that_make_it_so(tmp_path: Path) -> None:
    sent = walk_loader(EMPTY["drop_last"], Known("train:make", str(tmp_path)))
    (finding,) = ask("loader-end", sent, Job())

    assert sent.epoch == EpochLength(samples=3, drawn=3, batches=0, batch_size=4, drop_last=True)
    assert finding.severity is Severity.ERROR
    assert finding.message == ("has 0 batches in an epoch: 3 samples, batch_size=4, drop_last=True")
    assert found(EMPTY["no sample"], tmp_path) == ["has 0 batches in an epoch: 0 samples"]
    assert found(EMPTY["ranks"], tmp_path) == [
        "has 0 batches in an epoch: 3 samples, of which its sampler draws 0"
    ]
