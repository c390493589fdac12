"""Data sets that read archives by themselves, as jobs write them."""

# ruff: noqa: D101  (jobs are written so)

from __future__ import annotations

import io
import random
import tarfile
import zipfile

import numpy as np
import torch
from PIL import Image
from torch.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset, Subset


def pixels(data):
    return torch.from_numpy(np.array(Image.open(io.BytesIO(data)).convert("RGB")))


class Stream(IterableDataset):
    def __init__(self, path, take):
        self.path, self.take = path, take

    def __iter__(self):
        with tarfile.open(self.path) as archive:
            for member in archive:
                if self.take(member.name):
                    yield pixels(archive.extractfile(member).read())


class Zipped(Dataset):
    def __init__(self, path, take):
        self.path = path
        with zipfile.ZipFile(path) as archive:
            self.members = [one for one in archive.namelist() if take(one)]

    def __len__(self):
        return len(self.members)

    def __getitem__(self, index):
        with zipfile.ZipFile(self.path) as archive:
            return pixels(archive.read(self.members[index]))


class Kept(Dataset):
    """Reads all that it has when it is made."""

    def __init__(self, path, take):
        with zipfile.ZipFile(path) as archive:
            self.images = [pixels(archive.read(one)) for one in archive.namelist() if take(one)]

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return self.images[index]


class Large(Stream):
    def __iter__(self):
        for one in super().__iter__():
            if one.float().mean() > 100:
                yield one


def jpg(name):
    return name.endswith(".jpg")


def image(name):
    return name.lower().endswith((".jpg", ".png"))


def first(name):
    return image(name) and int(name[-8:-4]) < 2


def last(name):
    return image(name) and int(name[-8:-4]) >= 6


def in_front(name):
    return jpg(name) and "/" not in name


def leaving():
    return {
        "stream": DataLoader(Stream("mixed.tar", jpg), batch_size=2),
        "two_workers": DataLoader(Stream("mixed.tgz", jpg), batch_size=2, num_workers=1),
        "zipped": DataLoader(Zipped("mixed.zip", jpg), batch_size=2, shuffle=True),
        "capitals": DataLoader(Zipped("capitals.zip", jpg), batch_size=2),
        "bare": DataLoader(Zipped("bare.zip", jpg), batch_size=2),
    }


def meaning_it():
    every = Zipped("mixed.zip", image)
    random.seed(0)
    return {
        "all": DataLoader(Stream("mixed.tar", image), batch_size=2),
        "part_of_all": DataLoader(Subset(every, [0, 2, 5]), batch_size=1),
        "first": DataLoader(Stream("mixed.tar", first), batch_size=1),
        "last": DataLoader(Zipped("mixed.zip", last), batch_size=1),
        "light": DataLoader(Large("mixed.tar", image), batch_size=1),
        "masks": DataLoader(Zipped("masks.zip", jpg), batch_size=2),
        "named_masks": DataLoader(Stream("named_masks.tar", jpg), batch_size=2),
        "thumbs": DataLoader(Stream("thumbs.tar", in_front), batch_size=2),
        "preview": DataLoader(Stream("preview.tar", jpg), batch_size=2),
        "both": DataLoader(
            ConcatDataset([Zipped("mixed.zip", jpg), Zipped("mixed.zip", lambda n: "png" in n)]),
            batch_size=2,
        ),
    }


def parts():
    return [
        DataLoader(Zipped("mixed.zip", first), batch_size=1),
        DataLoader(Stream("mixed.tar", image), batch_size=2),
    ]


def kept():
    return DataLoader(Kept("mixed.zip", jpg), batch_size=2)


def kept_in_part():
    return DataLoader(Kept("mixed.zip", first), batch_size=1)
