"""What takes long over few bytes says all the while that it goes on."""

from __future__ import annotations

import gzip
import io
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from preflight.cached_files.read import read_cache
from preflight.file_access.place import HERE
from tests import contents

MANY, SHORT, ZEROS = 40_000, 300_000, 1 << 25


def packed_zeros() -> bytes:
    """Give a stream of few bytes, of which very many come."""
    return gzip.compress(bytes(ZEROS), 1, mtime=0)


def deflated() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        said = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({ZEROS},), }}"
        header = b"\x93NUMPY\x01\x00v\x00" + said.encode()
        archive.writestr("a.npy", header.ljust(127) + b"\n" + bytes(ZEROS))
    return out.getvalue()


def numbers() -> dict[str, int]:
    return {f"{number:x}": number for number in range(MANY)}


CASES: dict[str, Callable[[], bytes]] = {
    "gzip.pt": packed_zeros,
    "deflated.npz": deflated,
    "raw.pt": lambda: pickle.dumps(numbers(), 2),
    "short.pt": lambda: pickle.dumps([1] * SHORT, 2),
    "archive.pt": lambda: contents.saved(numbers()),
    "short_archive.pt": lambda: contents.saved([1] * SHORT),
    "legacy.pt": lambda: contents.saved(numbers(), _use_new_zipfile_serialization=False),
    "packed.pt": lambda: gzip.compress(pickle.dumps(numbers(), 2), mtime=0),
}


@pytest.mark.parametrize("name", CASES)
def test_life_is_shown_all_the_while(tmp_path: Path, name: str) -> None:
    """At each piece that is unpacked, and at each thousand opcodes: some milliseconds."""
    path = tmp_path / name
    path.write_bytes(CASES[name]())
    told: list[str] = []
    HERE.at, HERE.size = 0, 0

    found = read_cache(str(path), str(tmp_path), told.append)

    assert found.damage is None
    assert HERE.size == path.stat().st_size
    assert len(told) > (25 if name in ("gzip.pt", "deflated.npz") else 100)
