"""Streams and what is put around them, of webdataset and by hand; the shards lie in this folder."""

from __future__ import annotations

from typing import Any

import torch
import webdataset as wds
from epochs import Measured, Rows, Stream, of
from torch.utils.data import DataLoader, IterableDataset

SHARDS = ["0.tar", "1.tar"]


def shards(**given: Any) -> Any:
    return wds.WebDataset(SHARDS, **{"shardshuffle": False, "empty_check": False, **given})


def pairs(**given: Any) -> Any:
    return shards(**given).decode().to_tuple("txt", "cls")


class Optional(Rows):
    """Samples of which every third has a mask."""

    def __getitem__(self, index: int) -> Any:
        sample = {"x": torch.zeros(2)}
        return sample if index % 3 else {**sample, "mask": torch.ones(2)}


class Generated(IterableDataset):
    """What a generator function gives, which is called anew for each epoch."""

    def __init__(self, generate: Any) -> None:
        self.generate = generate

    def __iter__(self) -> Any:
        return self.generate()


def numbers() -> Any:
    yield from range(10)


def fails() -> Any:
    yield from range(10)
    raise OSError("the connection was reset")


def filled(samples: list[Any]) -> Any:
    masks = [one.get("mask", torch.zeros(2)) for one in samples]
    return {"x": torch.stack([one["x"] for one in samples]), "mask": torch.stack(masks)}


def not_filled(samples: list[Any]) -> Any:
    return {"mask": torch.stack([one["mask"] for one in samples])}


def sound() -> dict[str, Any]:
    return {
        "web": wds.WebLoader(pairs(), batch_size=4, num_workers=2),
        "web_alone": wds.WebLoader(pairs(), batch_size=None, num_workers=0),
        "web_rebatched": wds.WebLoader(pairs().batched(2), batch_size=None, num_workers=1)
        .unbatched()
        .batched(5),
        "web_as_data": of(pairs(), num_workers=2),
        "resampled": wds.WebLoader(
            pairs(resampled=True).with_epoch(12), batch_size=4, num_workers=1
        ),
        "resampled_by_epoch": wds.WebLoader(pairs(resampled=True), batch_size=4).with_epoch(6),
        "optional_keys": of(Optional(), collate_fn=filled),
        "generated": DataLoader(Generated(numbers), num_workers=1),
        "measured": of(Measured(12, 12)),
        "uneven_stream": of(Stream(13, divided=True), num_workers=2),
    }


def bad() -> dict[str, Any]:
    return {
        "web_without_field": wds.WebLoader(shards().to_tuple("jpg"), batch_size=4, num_workers=1),
        "web_without_shard": wds.WebLoader(
            wds.WebDataset(["absent.tar"], shardshuffle=False), batch_size=4, num_workers=1
        ),
        "web_of_fewer_shards": wds.WebLoader(
            wds.WebDataset(SHARDS[:1], shardshuffle=False), num_workers=2
        ),
        "keys_not_filled": of(Optional(), collate_fn=not_filled),
        "keys_left": of(Optional()),
        "fails_late": DataLoader(Generated(fails), num_workers=1),
        "called_too_soon": DataLoader(Generated(numbers().__iter__)),
    }
