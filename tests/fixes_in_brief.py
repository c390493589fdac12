"""Runs code that is printed as a fix, where a few lines show what it is for."""

from __future__ import annotations

import io
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
import torch
import webdataset
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, IterableDataset, TensorDataset, random_split


class Trusted:
    """A class of the job's own."""


def trusted(code: str) -> None:
    stream = io.BytesIO()
    torch.save(Trusted(), stream)
    for how in ({"weights_only": True}, eval(f"dict({code})")):
        stream.seek(0)
        if how["weights_only"]:
            with pytest.raises(Exception, match="Weights only load failed"):
                torch.load(stream, **how)
        else:
            assert isinstance(torch.load(stream, **how), Trusted)


def frozen(code: str) -> None:
    """It is no parameter to be trained any more, and what stands before it still is one."""
    first, then = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
    eval(f"then.{code}", {"then": then})
    then(first(torch.ones(1, 2))).sum().backward()
    assert first.weight.grad is not None
    assert then.weight.grad is None


def listed(code: str) -> None:
    """Two ranks whose file systems list a folder as they like have one order."""
    with tempfile.TemporaryDirectory() as folder:
        for name in random.sample([*map(str, range(40))], 40):
            (Path(folder) / name).touch()
        given = os.listdir(folder)
        orders = []
        for order in (given, given[::-1]):
            with patch.object(os, "listdir", lambda _, order=order: order):
                orders.append(eval(code, {"os": os, "folder": folder}))
    assert orders[0] == orders[1]


def one_seed(code: str) -> None:
    orders = []
    for _ in range(2):
        names = [*range(40)]
        random.random()  # wherever the rank's own generator stands
        eval(f"{code}.shuffle(names)", {"random": random, "names": names})
        orders.append(names)
    assert orders[0] == orders[1] != sorted(orders[0])


def counted(code: str) -> None:
    loader = DataLoader(TensorDataset(torch.arange(3)))
    assert [step for step, _batch in eval(code, {"loader": loader})] == [0, 1, 2]


def last_batch(code: str) -> None:
    """Of nine samples, the ninth is in a batch, too."""
    for given, sizes in {"partial=False": [4, 4], code: [4, 4, 1]}.items():
        how = eval(f"dict({given})")
        batches = webdataset.batched(4, collation_fn=None, **how)(iter(range(9)))
        assert [len(one) for one in batches] == sizes


def by_node(code: str) -> None:
    """Each of two ranks has shards of its own."""
    how = eval(f"dict({code}.split_by_node)", {"wds": webdataset})
    seen = []
    for rank in ("0", "1"):
        with patch.dict(os.environ, {"RANK": rank, "WORLD_SIZE": "2"}):
            shards = [f"{number}.tar" for number in range(4)]
            data = webdataset.WebDataset(shards, shardshuffle=False, **how)
            seen.append([one["url"] for one in data.pipeline[1](iter(data.pipeline[0]))])
    assert sorted(seen[0] + seen[1]) == [f"{number}.tar" for number in range(4)]
    assert len(seen[0]) == len(seen[1])


class _Seeds(IterableDataset[int]):
    def __init__(self, code: str) -> None:
        self.code = code

    def __iter__(self) -> Iterator[int]:
        yield eval(self.code, {"torch": torch})


def worker_seed(code: str) -> None:
    """Two workers, and two epochs, have four seeds."""
    loader = DataLoader(_Seeds(code), batch_size=None, num_workers=2)
    assert len({*loader, *loader}) == 4


def generator(code: str) -> None:
    call = f"random_split(range(9), [4, 5], {code}.Generator().manual_seed(0))"
    first, again = (
        eval(call, {"torch": torch, "random_split": random_split})[0].indices for _ in range(2)
    )
    assert first == again


def frozen_inputs(code: str) -> None:
    """Has a model whose inputs need no gradients get some, where it is computed again."""
    layer = torch.nn.Linear(2, 2)
    checkpoint(layer, torch.ones(1, 2), **eval(f"dict({code})")).sum().backward()
    assert layer.weight.grad is not None


def undivided(code: str) -> None:
    """Lightning's Trainer takes it, and leaves the parts of ranks as they are."""
    import functools

    from pytorch_lightning import Trainer

    quiet = functools.partial(Trainer, accelerator="cpu", logger=False, enable_checkpointing=False)
    divides = [eval(one, {"Trainer": quiet}) for one in ("Trainer()", code)]
    flags = [one._accelerator_connector.use_distributed_sampler for one in divides]
    assert flags == [True, False]
