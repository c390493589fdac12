"""Members become samples as webdataset makes them, whichever way their names are taken apart."""

from __future__ import annotations

import random
import re
import warnings

import pytest

from preflight.formats.tar.walk import Found
from preflight.shards.samples import Samples

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from webdataset.tariterators import group_by_keys

FOLDERS = ("", "a/", "a/b/", "v1.0/", "v1.0/a.b/", "a.", "_/", "__a__/", "狗/", "./", "a/./")
BASES = ("000", "001", "a_b", "v1-0", "狗", "", "_", ".a", "a/b", "jpg", "000/")
SUFFIXES = (".jpg", ".txt", ".json", ".seg.png", "", ".", ".jpg.bak", ".d/c.jpg", ".000")


def gathered(names: list[str]) -> tuple[list[tuple[str, tuple[str, ...]]], list[int], list[str]]:
    """Give the samples, the bytes of each, and the images, of members of 1, 2, 3, ... bytes."""
    samples = Samples()
    members: list[Found] = [(name, 0, size, "file") for size, name in enumerate(names, 1)]
    images = [name for name, *_ in samples.gather(members)]
    return [(one.key, one.suffixes) for one in samples.groups], list(samples.sizes), images


def as_webdataset_groups(names: list[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Group them as it does what its walk over an archive gives, which passes over `__a__/`."""
    read = (name for name in names if not re.match(r"__[^/]*__($|/)", name))
    given = ({"fname": name, "data": b"x", "__url__": "x"} for name in read)
    return [
        (one["__key__"], tuple(suffix for suffix in one if not suffix.startswith("__")))
        for one in group_by_keys(given, handler=lambda _: True)
    ]


@pytest.mark.parametrize("seed", range(60))
def test_samples_are_those_of_webdataset(seed: int) -> None:
    """Folders with dots, names of odd letters, members without a suffix: in runs, as writers do."""
    chance = random.Random(seed)
    folders = chance.choices(FOLDERS, k=3)
    names: list[str] = []
    for _ in range(80):
        start = chance.choice(folders) + chance.choice(BASES)
        names += [start + suffix for suffix in chance.sample(SUFFIXES, chance.randrange(1, 4))]

    made, sizes, _ = gathered(names)

    once = [(key, tuple(dict.fromkeys(suffixes))) for key, suffixes in made]
    assert once == as_webdataset_groups(names)
    assert len(sizes) == len(made)


@pytest.mark.parametrize("folder", ["", "a/", "v1.0/", "v1.0/a.b/"])
def test_each_sample_has_the_bytes_of_its_members(folder: str) -> None:
    stems = [f"{folder}{number:03}" for number in range(50)]
    names = [f"{stem}.{suffix}" for stem in stems for suffix in ("jpg", "txt")]

    made, sizes, images = gathered(names)

    assert made == [(stem, ("jpg", "txt")) for stem in stems]
    assert sizes == [4 * number + 3 for number in range(50)]
    assert images == [f"{stem}.jpg" for stem in stems]


def test_what_belongs_to_no_sample_counts_to_the_one_at_hand() -> None:
    names = ["000.jpg", "no-dot", "000.txt", "__meta__", "001.jpg", "000"]

    assert gathered(names)[:2] == ([("000", ("jpg", "txt")), ("001", ("jpg",))], [10, 11])
