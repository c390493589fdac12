"""Where the bytes show how damage came about, it is said; a guess is said to be one."""

from __future__ import annotations

import random
import zipfile
import zlib

import pytest
import torch

from preflight.formats.bytes import causes
from preflight.formats.bytes.damaged import DamagedError
from preflight.formats.zip import archive
from preflight.formats.zip.directory import read_archive
from tests import contents
from tests.archives import flipped
from tests.contents import saved


@pytest.mark.parametrize("size", [1, 2, 100, 4096, 100_003])
def test_a_turned_bit_is_found_wherever_it_is(size: int) -> None:
    """By the difference that it makes to the checksum alone."""
    chance = random.Random(size)
    content = chance.randbytes(size)
    for _ in range(50):
        at = chance.choice([0, size - 1, chance.randrange(size)])
        turned = flipped(content, at, 1 << chance.randrange(8))

        assert causes.turned_bit(zlib.crc32(turned) ^ zlib.crc32(content), size) == at


def test_anything_else_is_no_turned_bit() -> None:
    """Two bits, a byte, a page of something else."""
    chance = random.Random(4)
    content = chance.randbytes(100_000)
    found = 0
    for _ in range(300):
        other = bytearray(content)
        at, size = chance.randrange(90_000), chance.randrange(1, 9000)
        other[at : at + size] = chance.randbytes(size)
        other[0] ^= 3
        found += causes.turned_bit(zlib.crc32(other) ^ zlib.crc32(content), 100_000) is not None

    assert not found


def test_a_turned_bit_of_the_checksum_itself_is_told_apart() -> None:
    assert causes.turned_bit(1 << 17, 5000) == 5000


def test_in_very_much_no_single_bit_is_looked_for() -> None:
    """Chance alone would find one."""
    assert causes.turned_bit(0x12345678, 1 << 30) is None


# --- in an archive --------------------------------------------------------------------------------

CONTENT = random.Random(3).randbytes(60_000)


def written(content: bytes = CONTENT) -> bytes:
    records = ("x/data.pkl", b"\x80\x02}q\x00."), ("x/data/0", content)
    return contents.archive(*records, method=zipfile.ZIP_STORED)


WHOLE = written()
BEGIN = WHOLE.index(CONTENT)


def said(content: bytes) -> str:
    """Give what is said of an archive."""
    read = contents.reader(content)
    with pytest.raises(DamagedError) as caught:
        archive.read_records(read, read_archive(read, len(content)), lambda _: False)
    return str(caught.value)


def put(at: int, new: bytes, content: bytes = WHOLE) -> bytes:
    """Put other bytes at this place."""
    return content[:at] + new + content[at + len(new) :]


def test_a_bit_that_is_turned_is_named_by_its_byte() -> None:
    assert said(flipped(WHOLE, BEGIN + 777, 4)) == (
        f"has wrong bytes in data/0 (its CRC differs): "
        f"one bit is turned, in byte {BEGIN + 777:,}, most likely by memory or a disk"
    )


OTHER = random.Random(9).randbytes(8192)
LOST = ": {} of zero bytes in it most likely never reached the disk"
NAME = WHOLE.index(b"x/data/0")
"""Where a record's name stands in its own header, which begins 30 bytes before."""

SAID = {
    "a bit of the checksum": (
        flipped(WHOLE, WHOLE.rindex(b"PK\1\2") + 16),
        ": one bit of the CRC is turned, and most likely none of the record",
    ),
    # Pages are those of the file, not of the record.
    "a page of zeros": (put(8192, bytes(4096)), LOST.format("1 page")),
    "pages of zeros": (put(8192, bytes(4096 * 3)), LOST.format("3 pages")),
    # The right size, and another content.
    "bytes of another file": (
        put(BEGIN + 12_345, OTHER),
        "(its CRC differs): most likely several processes wrote it at once",
    ),
    "a bit of a name": (
        flipped(WHOLE, NAME, 8),
        "one bit is turned, most likely by memory or a disk",
    ),
    "another name": (put(NAME, b"other/00"), causes.SEVERAL),
    "no header": (put(NAME - 30, b"garb"), causes.SEVERAL),
    "a header of zeros": (put(NAME - 30, bytes(60)), causes.NEVER_WRITTEN),
    # A crash of the machine; a writer that is killed leaves a shorter file.
    "an end of zeros": (
        put(20_480, bytes(len(WHOLE) - 20_480))[:57_344],
        "its end most likely never reached the disk",
    ),
    "bytes far behind the end": (
        WHOLE + bytes(90_000),
        "most likely written over a longer file",
    ),
    # numpy.savez_compressed on a disk that is full.
    "an archive of nothing with an array behind it": (
        b"PK\5\6" + bytes(18) + bytes(90_000),
        causes.STOPPED,
    ),
}


@pytest.mark.parametrize(("content", "end"), SAID.values(), ids=SAID)
def test_a_cause_is_told(content: bytes, end: str) -> None:
    assert said(content).endswith(end)


def test_zeros_that_are_the_content_are_no_cause() -> None:
    """An embedding may be padded with them."""
    content = bytes(50_000) + CONTENT[:10_000]
    whole = written(content)
    at = whole.index(CONTENT[:100])

    assert said(put(at, b"\xff" * 9, whole)).endswith(f": {causes.SEVERAL}")


def test_an_archive_cut_in_its_last_bytes_is_cut() -> None:
    """With torch's end records, and with the one that others write."""
    out = saved({"a": torch.zeros(9)})
    for content in (out, WHOLE):
        for missing in range(1, 23):
            assert "inside its directory" in said(content[:-missing]), missing
