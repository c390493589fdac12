"""Loaders whose batches are shown, each of whose runs is noted in a file beside this one."""

# ruff: noqa: D101, D102  (jobs are written so)

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

NOTES = Path(__file__).with_name("notes")


def note(text: str) -> None:
    with NOTES.open("a", encoding="utf-8") as file:
        file.write(f"{text}\n")


class Noted(DataLoader):
    def __iter__(self) -> Any:
        note("iter")
        return super().__iter__()


class Pictures(Dataset):
    def __len__(self) -> int:
        return 24

    def __getitem__(self, index: int) -> Any:
        if not index:
            loaded = [one for one in ("preflight.sheets.draw", "PIL") if one in sys.modules]
            note(f"loaded {loaded}")
        image = torch.zeros(3, 16, 16)
        image[0] = 1
        return {"image": image, "caption": f"picture {index}"}


def pictures() -> Any:
    note("make")
    return Noted(Pictures(), batch_size=8)


def workers() -> Any:
    return DataLoader(Pictures(), batch_size=4, num_workers=2)


def two() -> Any:
    return {"train": workers(), "val": DataLoader(Pictures(), batch_size=2)}


class Words:
    def __init__(self, do: Any) -> None:
        self.do = do

    def decode(self, ids: Any) -> str:
        self.do()
        return "words"


class Ids:
    def __init__(self, do: Any) -> None:
        self.tokenizer = Words(do)

    def __call__(self, rows: Any) -> Any:
        return torch.ones(len(rows), 5, dtype=torch.int64) * 7


def decodes() -> Any:
    return DataLoader([1, 2, 3, 4], batch_size=2, collate_fn=Ids(list))


def kills_itself_at_the_sheet() -> Any:
    return DataLoader([1, 2, 3, 4], batch_size=2, collate_fn=Ids(lambda: os._exit(5)))


def exits_at_the_sheet() -> Any:
    return DataLoader([1, 2, 3, 4], batch_size=2, collate_fn=Ids(sys.exit))


def waits_at_the_sheet() -> Any:
    return DataLoader([1, 2, 3, 4], batch_size=2, collate_fn=Ids(lambda: time.sleep(1_000)))


def raises() -> Any:
    def fail(rows: Any) -> Any:
        raise ValueError("no batch")

    return DataLoader([1, 2], collate_fn=fail)


def raises_later() -> Any:
    def fail(rows: Any) -> Any:
        if 3 in rows:
            raise ValueError("no more")
        return rows

    return DataLoader([1, 2, 3, 4], batch_size=2, collate_fn=fail)


def has_no_pillow() -> Any:
    sys.modules["PIL"] = None  # type: ignore[assignment]
    return workers()


def has_a_full_disk() -> Any:
    import resource

    # Before 3.14, Python leaves what it could write of a module that it compiles, for all to come.
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, resource.RLIM_INFINITY))
    return decodes()
