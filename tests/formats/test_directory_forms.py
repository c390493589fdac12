"""A directory of a known form is read as if it were the first of its kind."""

from __future__ import annotations

import io
import random
import struct
import zipfile
from typing import Any

import pytest
import torch

from preflight.formats.directory_forms import Directories


def directory_of(thing: Any, name: str = "archive") -> tuple[bytes, int]:
    """Give the directory of what torch saves, and the number of its entries."""
    out = io.BytesIO()
    torch.save(thing, out)
    content = out.getvalue()
    with zipfile.ZipFile(out) as archive:
        count = len(archive.infolist())
        start = archive.start_dir
    end = content.rindex(b"PK\6\6")
    return content[start:end].replace(b"archive", name.encode()), count


def anew(directory: bytes, count: int) -> Any:
    return Directories().records(directory, count)


def test_records_are_those_of_each_directory() -> None:
    """Of tensors of all sizes, saved under other names of the same length and of other lengths."""
    known = Directories()
    chance = random.Random(1)
    for _ in range(300):
        thing = {"a": torch.rand(chance.randrange(5000)), "b": torch.rand(chance.randrange(1, 9))}
        directory, count = directory_of(thing, chance.choice(["archive", "0123456", "abcdefg"]))

        assert known.records(directory, count) == anew(directory, count) is not None

    assert known._known > 250, "most of them are of a form that came before"


def test_records_are_what_zipfile_says() -> None:
    out = io.BytesIO()
    torch.save([torch.arange(7.0), torch.arange(300)], out)
    with zipfile.ZipFile(out) as archive:
        expected = [
            (one.CRC, one.compress_size, one.file_size, one.header_offset, one.filename.encode())
            for one in archive.infolist()
        ]
    directory, count = directory_of([torch.arange(7.0), torch.arange(300)])
    known = Directories()

    for _ in range(2):
        assert known.records(directory, count) == expected


@pytest.mark.parametrize("bits", [1, 2, 8, 128, 255])
def test_every_wrong_byte_is_read_as_if_it_were_the_first_of_its_kind(bits: int) -> None:
    """Whatever it makes of the directory, and though what was read last was another one."""
    plain, count = directory_of({"a": torch.zeros(5), "n": 3})
    known = Directories()
    for at in range(len(plain)):
        other = plain[:at] + bytes([plain[at] ^ bits]) + plain[at + 1 :]
        known.records(plain, count)

        assert known.records(other, count) == anew(other, count)


def test_another_number_of_entries_is_no_directory() -> None:
    plain, count = directory_of({"a": torch.zeros(5)})
    known = Directories()
    known.records(plain, count)

    assert known.records(plain, count + 1) is None
    assert known.records(plain, count - 1) is None


def test_an_empty_record_that_is_described_is_told_though_the_form_is_known() -> None:
    """Somebody else has emptied it: torch describes none that is empty."""
    plain, count = directory_of({"a": torch.zeros(5)})
    known = Directories()
    known.records(plain, count)
    entries = [at for at in range(len(plain)) if plain[at : at + 4] == b"PK\1\2"]
    emptied = bytearray(plain)
    for at in entries:
        if struct.unpack_from("<H", plain, at + 8)[0] & 8:
            emptied[at + 20 : at + 28] = bytes(8)

    assert emptied != plain, "torch describes its records behind their bytes"
    assert known.records(bytes(emptied), count) is None


def test_many_forms_of_one_length_are_not_learned_for_ever() -> None:
    """To learn one takes longer than to read it."""
    plain, count = directory_of({"a": torch.zeros(5)})
    known = Directories()
    for version in range(1, 1000):
        other = bytearray(plain)
        struct.pack_into("<H", other, 4, version)
        assert known.records(bytes(other), count) == anew(plain, count)

    assert known._learned < 100
