"""Loaders as accelerate and torchdata make them, sound ones and others."""

# ruff: noqa: D101  (jobs are written so)

from __future__ import annotations

import time
import warnings
from typing import Any

import torch
from torch.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    SequentialSampler,
    default_collate,
    get_worker_info,
)

warnings.simplefilter("ignore")  # what these libraries say of each other

from accelerate import Accelerator, skip_first_batches  # noqa: E402
from accelerate.utils import DataLoaderConfiguration  # noqa: E402
from torchdata import nodes  # noqa: E402
from torchdata.stateful_dataloader import StatefulDataLoader  # noqa: E402

SAMPLES = 22


class Rows(Dataset):
    def __init__(self, do: Any = None, number: int = SAMPLES) -> None:
        self.do, self.number = do, number

    def __len__(self) -> int:
        return self.number

    def __getitem__(self, index: int) -> Any:
        if self.do is not None:
            self.do(index)
        return {"x": torch.full((3,), float(index)), "y": index}


class Stream(IterableDataset):
    """Samples that are divided among workers."""

    def __iter__(self) -> Any:
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        for number in range(first, SAMPLES, step):
            yield torch.tensor([float(number), 1.0]), number


class Measured(Stream):
    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length


class Undivided(IterableDataset):
    def __iter__(self) -> Any:
        return (torch.tensor([float(number), 2.0]) for number in range(SAMPLES))


def of(dataset: Any = None, kind: Any = DataLoader, **given: Any) -> Any:
    dataset = Rows() if dataset is None else dataset
    return kind(dataset, **{"batch_size": 4, "num_workers": 1, **given})


def stateful(dataset: Any = None, **given: Any) -> Any:
    return of(dataset, StatefulDataLoader, **given)


def prepared(loader: Any, **given: Any) -> Any:
    config = DataLoaderConfiguration(**given)
    return Accelerator(cpu=True, dataloader_config=config).prepare(loader)


def asked() -> Any:
    """Have a loader start its workers to ask them for their state."""
    loader = stateful()
    loader.state_dict()
    return loader


def resumed() -> Any:
    """Have a loader go on behind the second batch."""
    loader = stateful(num_workers=0)
    batches = iter(loader)
    next(batches), next(batches)
    again = stateful(num_workers=0)
    again.load_state_dict(loader.state_dict())
    return again


# --- what samples do ------------------------------------------------------------------------------


def damaged(index: int) -> None:
    raise KeyError("fname")


def damaged_late(index: int) -> None:
    if index == 21:
        raise ValueError("sample 21 is damaged")


def hang(_index: int) -> None:
    time.sleep(1_000)


def changing(samples: list[Any]) -> Any:
    return samples if samples[0]["y"] < 8 else torch.zeros(3)


def captions(samples: list[Any]) -> Any:
    return {"text": [f"caption {one['y']}" for one in samples]}


def sound() -> dict[str, Any]:
    return {
        "shard": prepared(of(num_workers=2)),
        "shuffled": prepared(of(shuffle=True), use_seedable_sampler=True),
        "split": prepared(of(), split_batches=True),
        "uneven": prepared(of(), even_batches=False),
        "of_stream": prepared(of(Stream(), num_workers=2)),
        "persistent": prepared(of(persistent_workers=True)),
        "of_texts": prepared(of(collate_fn=captions)),
        "dispatched": prepared(of(), dispatch_batches=True),
        "dispatched_split": prepared(of(Stream()), dispatch_batches=True, split_batches=True),
        "prepared_stateful": prepared(of(), use_stateful_dataloader=True),
        "skipping": skip_first_batches(prepared(of()), 2),
        "skipping_stream": skip_first_batches(prepared(of(Measured(SAMPLES))), 2),
        "stateful": stateful(num_workers=2),
        "stateful_alone": stateful(num_workers=0),
        "stateful_persistent": stateful(persistent_workers=True),
        "stateful_stream": stateful(Stream(), num_workers=2),
        "asked": asked(),
        "resumed": resumed(),
    }


def few() -> dict[str, Any]:
    """Give those whose epochs go another way than a DataLoader's."""
    return {
        "shard": prepared(of(num_workers=2)),
        "dispatched": prepared(of(), dispatch_batches=True),
        "skipping": skip_first_batches(prepared(of()), 2),
        "stateful": stateful(num_workers=2),
        "stateful_persistent": stateful(persistent_workers=True),
        "resumed": resumed(),
    }


def of_nodes(give: Any) -> Any:
    """Have threads make samples, as torchdata does it without a DataLoader."""
    drawn = nodes.SamplerWrapper(SequentialSampler(range(SAMPLES)))
    made = nodes.ParallelMapper(drawn, give, num_workers=2, method="thread")
    return nodes.Loader(nodes.Mapper(nodes.Batcher(made, 4), default_collate))


def bad() -> dict[str, Any]:
    return {
        "raises_late_in_nodes": of_nodes(Rows(damaged_late).__getitem__),
        "raises": prepared(of(Rows(damaged))),
        "raises_late": prepared(of(Rows(damaged_late))),
        "raises_by_state": stateful(Rows(damaged)),
        "raises_late_by_state": stateful(Rows(damaged_late)),
        "dispatched_texts": prepared(of(collate_fn=captions), dispatch_batches=True),
        "changes": prepared(of(collate_fn=changing)),
        "changes_by_state": stateful(collate_fn=changing),
        "lies": prepared(of(Measured(80))),
        "lies_by_state": stateful(Measured(80)),
        "repeats": prepared(of(Undivided(), num_workers=2)),
        "drops_all": prepared(of(batch_size=64, drop_last=True)),
    }


def hangs() -> Any:
    return prepared(of(Rows(hang)), dispatch_batches=True)


def hangs_by_state() -> Any:
    return stateful(Rows(hang))


def loop_over_keys() -> None:
    """Take a dict apart, as no loop over a prepared loader should."""
    loader = hold()
    for images, labels in loader:
        assert not isinstance(images, str), labels


def hold() -> Any:
    return prepared(of())
