"""Collate functions as jobs write them: some drop samples, from batches of all kinds."""

# ruff: noqa: D101, D102  (jobs are written so)

from __future__ import annotations

import collections
import functools
import random

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import ConcatDataset, DataLoader, Dataset

BAD = {5, 12, 13, 31}


class Pictures(Dataset):
    """Each with one box to three."""

    def __len__(self):
        return 40

    def __getitem__(self, index):
        count = 1 + index % 3
        boxes = torch.zeros(0 if index in BAD else count, 4) + index
        return torch.full((3, 4, 4), float(index)), {"boxes": boxes, "id": index}


class Texts(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        count = 90 if index in BAD else 3 + index % 5
        return {"ids": torch.arange(count) + index * 100, "label": index % 3}


def is_short(sample):
    return len(sample["ids"]) < 50


def without_boxes(batch):
    batch = [one for one in batch if len(one[1]["boxes"])]
    return torch.stack([one for one, _ in batch]), [one for _, one in batch]


def one_tensor_of_boxes(batch):
    kept = [one for one in batch if len(one[1]["boxes"])]
    return torch.stack([one for one, _ in kept]), torch.cat([one["boxes"] for _, one in kept])


def dict_of_lists(batch):
    found = collections.defaultdict(list)
    for sample in filter(is_short, batch):
        for key, value in sample.items():
            found[key].append(value)
    return dict(found)


def packed(batch):
    ids = [one["ids"] for one in batch if is_short(one)]
    return {"ids": torch.cat(ids), "ends": torch.tensor([*map(len, ids)]).cumsum(0)}


class Padding:
    def __init__(self, most):
        self.most = most

    def __call__(self, batch):
        return pad_sequence([one.pop("ids") for one in batch if len(one["ids"]) < self.most])


def without_the_last(batch):
    return pad_sequence([one["ids"][:3] for one in batch[:-1]])


def every_other(batch):
    return {"image": torch.stack([one for one, _ in batch[::2]])}


def noisy(batch):
    x, boxes = without_boxes(batch)
    return x + torch.randn_like(x), boxes


def texts(collate, **given):
    return DataLoader(Texts(), 4, collate_fn=collate, **given)


def pictures(collate, **given):
    return DataLoader(Pictures(), 4, collate_fn=collate, **given)


def many(collate, **given):
    return DataLoader(ConcatDataset([Texts()] * 3), 120, collate_fn=collate, **given)


def dropping():
    return {
        "large": many(dict_of_lists, num_workers=1),
        "without_boxes": pictures(without_boxes),
        "one_tensor": pictures(one_tensor_of_boxes, num_workers=1),
        "dict_of_lists": texts(dict_of_lists),
        "packed": texts(functools.partial(packed)),
        "padding": texts(Padding(50), shuffle=True),
        "noisy": pictures(noisy),
        "without_the_last": texts(without_the_last),
        "every_other": pictures(every_other),
    }


def boxes_of_all(batch):
    numbered = [
        torch.nn.functional.pad(one["boxes"], (1, 0), value=number)
        for number, (_, one) in enumerate(batch)
    ]
    return torch.stack([one for one, _ in batch]), torch.cat(numbered)


def as_tuples(batch):
    return tuple(zip(*batch, strict=True))


def cut_and_padded(batch):
    return pad_sequence([one["ids"][:8] for one in batch]), [one["label"] for one in batch]


def packed_whole(batch):
    ids = [one["ids"] for one in batch]
    return torch.cat(ids), torch.tensor([*map(len, ids)]).cumsum(0)


def mixed(batch):
    x = torch.stack([one for one, _ in batch])
    part = random.random()
    return part * x + (1 - part) * x[torch.randperm(len(x))]


def in_place(batch):
    for one in batch:
        one["ids"] += 1
    return pad_sequence([one.pop("ids") for one in batch])


def only_full(batch):
    assert len(batch) == 4
    return torch.stack([one for one, _ in batch])


def even_number(batch):
    return torch.stack([one for one, _ in batch[: len(batch) // 4 * 4]])


def alike(batch):
    return torch.tensor([one["ids"].ndim for one in batch])


def mixed_in_pairs(batch):
    half = len(batch) // 2
    x = torch.stack([one for one, _ in batch])
    return x[:half] + x[half:] / 100


class Counting:
    calls = 0

    def __call__(self, batch):
        self.calls += 1
        return pad_sequence([one["ids"] for one in batch]), self.calls


def by_forty(batch):
    labels = torch.tensor([one["label"] + 1 for one in batch])
    return labels[: len(batch) // 40 * 40].reshape(-1, 40)


def keeping():
    return {
        "by_forty": many(by_forty),
        "even_number": pictures(even_number),
        "alike": texts(alike),
        "mixed_in_pairs": pictures(mixed_in_pairs, shuffle=True),
        "boxes_of_all": pictures(boxes_of_all),
        "as_tuples": pictures(as_tuples),
        "cut_and_padded": texts(cut_and_padded),
        "packed_whole": texts(packed_whole),
        "mixed": pictures(mixed),
        "in_place": texts(in_place),
        "only_full": pictures(only_full),
        "counting": texts(Counting()),
    }
