"""Data sets that are asked by index, as jobs write them: some answer with other samples."""

# ruff: noqa: D101, D102, BLE001, SIM105  (jobs are written so)

from __future__ import annotations

import contextlib
import functools
import random

import numpy as np
import torch
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset

MANY = 40
BAD = {5, 12, 13, 31}


def read(path):
    kind, _, number = path.partition("/")
    if kind == "img" and int(number) in BAD:
        raise OSError(f"{path} is truncated")
    return torch.full((3,), float(number)) + torch.rand(3) / 10


def read_or_none(path):
    try:
        return read(path)
    except OSError:
        return None


def skips(get):
    @functools.wraps(get)
    def inner(self, index):
        try:
            return get(self, index)
        except Exception:
            return inner(self, (index + 7) % len(self))

    return inner


class Plain(Dataset):
    def __init__(self):
        self.files = [f"img/{number}" for number in range(MANY)]

    def __len__(self):
        return len(self.files)

    def load(self, index):
        return read(self.files[index]), index % 4

    def __getitem__(self, index):
        return self.load(index)


class Next(Plain):
    def __getitem__(self, index):
        try:
            return self.load(index)
        except Exception:
            return self[(index + 1) % len(self)]


class Retries(Plain):
    def __getitem__(self, index):
        while True:
            try:
                return {"x": read(self.files[index])}
            except Exception:
                index = np.random.randint(len(self))  # noqa: NPY002


class OtherPath(Plain):
    def __getitem__(self, index):
        path = self.files[index]
        for _ in range(9):
            with contextlib.suppress(OSError):
                return read(path), index % 4
            path = random.choice(self.files)
        raise RuntimeError("nothing can be read")


class OtherRecord(Plain):
    def __init__(self):
        super().__init__()
        self.records = [{"path": one, "label": at % 4} for at, one in enumerate(self.files)]

    def __getitem__(self, index):
        record = self.records[index]
        while (x := read_or_none(record["path"])) is None:
            record = random.choice(self.records)
        return x, record["label"]


class Forgiving(Dataset):
    def __init__(self, inner):
        self.inner = inner

    def __len__(self):
        return len(self.inner)

    def __getitem__(self, index):
        for more in range(len(self)):
            try:
                return self.inner[(index + more) % len(self)]
            except Exception:
                continue
        raise RuntimeError("nothing can be read")


class Decorated(Plain):
    @skips
    def __getitem__(self, index):
        return self.load(index)


class LastOne(Plain):
    last = torch.zeros(3), 0

    def __getitem__(self, index):
        try:
            self.last = self.load(index)
        except Exception:
            pass
        return self.last


class Blank(Plain):
    def __getitem__(self, index):
        try:
            return self.load(index)
        except Exception:
            return torch.zeros(3), 0


class Nothing(Plain):
    def __getitem__(self, index):
        x = read_or_none(self.files[index])
        return None if x is None else (x, index)


class Redirects(Plain):
    def __getitem__(self, index):
        if index in BAD:
            return self[index - 1]
        return self.load(index)


class AtOnce(Plain):
    def __getitems__(self, indices):
        found = []
        for index in indices:
            with contextlib.suppress(OSError):
                found.append(self.load(index))
        return found


def without_none(batch):
    return torch.utils.data.default_collate([one for one in batch if one is not None])


def losing():
    return {
        "next": DataLoader(Subset(Next(), range(MANY)), 4, shuffle=True),
        "spawned": DataLoader(Next(), 4, num_workers=1, multiprocessing_context="spawn"),
        "retries": DataLoader(Retries(), 4, num_workers=2, shuffle=True),
        "path": DataLoader(OtherPath(), 4),
        "record": DataLoader(OtherRecord(), 4),
        "around": DataLoader(Forgiving(Plain()), 4, num_workers=1),
        "decorated": DataLoader(Decorated(), 4),
        "last": DataLoader(LastOne(), 4),
        "redirects": DataLoader(Redirects(), 4),
        "blank": DataLoader(Blank(), 4, num_workers=1),
        "nothing": DataLoader(Nothing(), 4, collate_fn=without_none),
        "at_once": DataLoader(AtOnce(), 4, collate_fn=list),
        "two": DataLoader(ConcatDataset([Next(), Next()]), 4),
    }


class Sound(Plain):
    def __init__(self):
        self.files = [f"img/{number}" for number in range(MANY) if number not in BAD]


class Captioned(Sound):
    def caption(self, index):
        try:
            return read(f"img/{5 if index % 3 else 1}").sum().item()
        except Exception:
            return 0.0

    def __getitem__(self, index):
        return (*self.load(index), self.caption(index))


class Cached(Sound):
    def __init__(self, times=1):
        super().__init__()
        self.files *= times
        self.cache = {}

    def __getitem__(self, index):
        try:
            return self.cache[self.files[index]]
        except Exception:
            self.cache[self.files[index]] = read(self.files[index]), index % 4
            return self.cache[self.files[index]]


class Formats(Plain):
    def __getitem__(self, index):
        path = self.files[index]
        try:
            x = read(path)
        except Exception:
            path = path.replace("img", "alt")
            x = read(path)
        return x, index % 4


class Roots(Plain):
    def __getitem__(self, index):
        for root in ("img", "alt"):
            try:
                return read(f"{root}/{index}"), index
            except OSError:
                continue
        raise FileNotFoundError(index)


class Mixed(Captioned):
    def one(self, index):
        return self.load(index)[0] + self.caption(index)

    def __getitem__(self, index):
        return self.one(index) + self.one(random.randrange(len(self)))


class MixedWithItself(Captioned):
    def __getitem__(self, index, mixes=True):
        x = self.load(index)[0] + self.caption(index)
        if mixes:
            x = x + self.__getitem__(random.randrange(len(self)), mixes=False)
        return x


class Flaky(Sound):
    def __init__(self):
        super().__init__()
        self.tried = set()

    def load(self, index):
        if index % 5 == 0 and index not in self.tried:
            self.tried.add(index)
            raise OSError("the server is busy")
        return super().load(index)

    def __getitem__(self, index):
        for attempt in range(3):
            try:
                return self.load(index)
            except OSError:
                if attempt == 2:
                    raise
        raise RuntimeError


class Longer(Captioned):
    def __len__(self):
        return 3 * len(self.files)

    def __getitem__(self, index):
        return self[index - len(self.files)] if index >= len(self.files) else self.load(index)


class Mapped(Sound):
    def __init__(self):
        super().__init__()
        self.other = {index: len(self.files) - 1 - index for index in range(0, len(self.files), 2)}

    def __getitem__(self, index):
        try:
            number = self.other[index]
        except KeyError:
            number = index
        return self.load(number)


def sound():
    return {
        "captioned": DataLoader(Captioned(), 4, num_workers=1),
        "cached": DataLoader(Cached(3), 4, shuffle=True),
        "again": DataLoader(Subset(Cached(), [0, 1, 2, 3] * 9), 4),
        "formats": DataLoader(Formats(), 4, num_workers=1),
        "roots": DataLoader(Roots(), 4),
        "mixed": DataLoader(Mixed(), 4),
        "mixed_with_itself": DataLoader(MixedWithItself(), 4),
        "flaky": DataLoader(Flaky(), 4),
        "longer": DataLoader(Longer(), 4),
        "mapped": DataLoader(Mapped(), 4),
        "around": DataLoader(Forgiving(Sound()), 4),
    }
