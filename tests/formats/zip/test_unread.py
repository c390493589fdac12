"""Whatever of a cached file is not looked at, since it takes too long, is told with its sizes."""

from __future__ import annotations

import gzip
import pickle
import random
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch

from preflight.formats.arrays import npz
from preflight.formats.packing import inflated, packed
from preflight.formats.stored import StoredFile, look_at_whole
from preflight.formats.torch import pickles
from tests.contents import archive, flaw_in, held_in, saved, written

MANY = {"a": [None] * 50_000}
"""More than is followed in these tests, and in itself nothing odd."""


def look_at(content: bytes, suffix: str = ".pt") -> StoredFile:
    held = held_in(content, suffix)
    assert look_at_whole(memoryview(content), suffix) == held
    return held


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Follow fewer opcodes."""
    monkeypatch.setattr(pickles.walk, "__defaults__", (10_000,))
    monkeypatch.setattr(npz, "MOST_OPERATIONS", 10_000)


CONTENTS = {
    "zip.pt": saved(MANY),
    "legacy.pt": saved(MANY, _use_new_zipfile_serialization=False),
    "pickle.pt": pickle.dumps(MANY, 2),
    "text.pt": pickle.dumps(MANY, 0),
    "gzip.pt": gzip.compress(saved(MANY)),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_a_pickle_that_is_followed_to_its_end_is_not_told(name: str) -> None:
    held = look_at(CONTENTS[name])

    assert (held.flaw, held.unread) == (None, None)


@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("zip.pt", "data.pkl, "),
        ("legacy.pt", "its pickle, "),
        ("pickle.pt", "its pickle, "),
        ("text.pt", "its pickle, "),
        ("gzip.pt", "data.pkl, "),
    ],
)
def test_a_pickle_that_is_too_long_is_told(name: str, said: str) -> None:
    """What it names behind that, and what it says of storages, nobody has seen."""
    held = look_at(CONTENTS[name])

    assert held.flaw is None
    assert (held.unread or "").startswith(said)


def test_a_pickle_that_is_too_large_to_be_held_is_told_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(inflated, "MOST_UNPACKED", 1 << 20)
    held = look_at(archive(("x/data.pkl", bytes(40_000_000)), ("x/version", b"3\n")))

    assert (held.flaw, held.verified) == (None, False)
    assert held.unread == "data.pkl, 40.0 MB from 38.9 kB"


TOLD = {
    "one array": (written(np.save, np.array([None] * 12_000)), ".npy", "its pickle, 12.3 kB"),
    "arrays that together are too long": (
        written(np.savez, a=np.array([None] * 9_000), b=np.array([None] * 9_000), c=np.arange(9)),
        ".npz",
        "b.npy, 9.3 kB",
    ),
    "a stream in a stream": (
        gzip.compress(gzip.compress(saved(3))),
        ".pt",
        "the gzip stream in its gzip stream",
    ),
}


@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize(("content", "suffix", "unread"), TOLD.values(), ids=TOLD)
def test_what_is_not_followed_is_told(content: bytes, suffix: str, unread: str) -> None:
    held = look_at(content, suffix)

    assert (held.flaw, held.verified) == (None, suffix != ".npy")
    assert held.unread == unread


def test_what_a_pickle_names_before_it_is_too_much_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflated, "MOST_UNPACKED", 7 << 20)
    out = written(np.savez_compressed, a=np.array([Path, bytes(4_000_000)], dtype=object))
    held = look_at(out, ".npz")

    assert held.flaw is None
    assert f"{Path.__module__}.Path" in held.globals
    assert held.unread is not None


def test_what_is_too_large_to_be_looked_into_is_told_though_its_checksum_agrees() -> None:
    held = look_at(gzip.compress(saved(torch.zeros(9_000_000))))

    assert (held.flaw, held.verified) == (None, True)
    assert (held.unread or "").startswith("what is in its gzip stream, 36.0 MB from ")


def test_of_millions_of_empty_streams_some_are_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes 20 bytes; those of `bgzip`, which hold something, are all unpacked."""
    monkeypatch.setattr(packed, "MOST_STREAMS", 5_000)
    noise = random.Random(4).randbytes(2_000)
    held = look_at(gzip.compress(b"", mtime=0) * 100_000)

    assert (held.flaw, held.verified) == (None, False)
    assert (held.unread or "").startswith("its gzip stream, of which 0 bytes from its first ")
    assert look_at(gzip.compress(noise, mtime=0) * 6_000, ".dat").verified


def test_ten_thousand_wrong_records_are_counted() -> None:
    """Of which only some are kept."""
    records = [(f"{number}.npy", b"some text") for number in range(10_000)]
    content = archive(*records, method=zipfile.ZIP_STORED)
    content = content.replace(zlib.crc32(b"some text").to_bytes(4, "little"), b"\1\2\3\4")

    assert flaw_in(content, ".npz").text.startswith(
        "has wrong bytes in 10,000 of its 10,000 records, first in 0.npy (their CRCs differ): "
    )
