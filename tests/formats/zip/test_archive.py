"""Zip archives are held against their own directory, headers and checksums; nothing is believed."""

from __future__ import annotations

import io
import random
import struct
import zipfile
import zlib

import pytest
import torch

from preflight.formats.bytes.blocks import Block
from preflight.formats.bytes.damaged import DamagedError, TooMuchError
from preflight.formats.torch.quick import read_whole
from preflight.formats.zip import archive
from preflight.formats.zip import directory as archive_directory
from preflight.formats.zip.archive import ReadRecords
from preflight.formats.zip.directory import MOST_DIRECTORY, ZipDirectory, read_archive
from tests.contents import archive as zipped
from tests.contents import damage_by, reader, saved, with_peak

RECORDS = {
    "x/data.pkl": b"\x80\x02}q\x00.",
    "x/data/0": bytes(range(256)) * 40,
    "x/version": b"3\n",
}


def written(records: dict[str, bytes] = RECORDS, method: int = zipfile.ZIP_STORED) -> bytes:
    return zipped(*records.items(), method=method)


WHOLE = written()


def looked_at(content: bytes) -> tuple[ZipDirectory, ReadRecords]:
    """Read the directory and every record."""
    parts = read_archive(reader(content), len(content))
    return parts, archive.read_records(reader(content), parts, lambda one: b"pkl" in one.name)


def flaw_of(content: bytes) -> str:
    return damage_by(lambda _, __: looked_at(content), content)[0]


def said_of(content: bytes) -> str:
    return damage_by(lambda _, __: looked_at(content), content)[1]


def patched(content: bytes, at: int, new: bytes) -> bytes:
    """Put other bytes at this place; a negative one is counted from the end."""
    at %= len(content)
    return content[:at] + new + content[at + len(new) :]


# --- healthy --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED], ids=["as is", "packed"]
)
def test_a_whole_archive_is_verified_and_the_wanted_record_kept(method: int) -> None:
    """Every record, whichever way it is packed."""
    parts, contents = looked_at(written(method=method))

    assert contents == ReadRecords(kept={b"x/data.pkl": RECORDS["x/data.pkl"]}, verified=True)
    assert [one.name.decode() for one in parts.records] == list(RECORDS)


def test_an_archive_of_nothing_is_whole() -> None:
    """It is 22 bytes long."""
    content = written({})

    assert len(content) == 22
    assert read_archive(reader(content), 22).records == ()


def test_sizes_that_need_64_bits_are_read_from_the_extra_field() -> None:
    """As every archive that was written to a pipe, or is larger than 4 GiB, has them."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file, file.open("a.npy", "w", force_zip64=True) as member:
        member.write(b"abc" * 1000)

    assert flaw_of(out.getvalue()) == "none"


def test_checksums_that_are_all_zero_were_switched_off() -> None:
    """`torch.serialization.set_crc32_options(False)` does it; that is no damage, and no proof."""
    content = written()
    for data in RECORDS.values():
        content = content.replace(zlib.crc32(data).to_bytes(4, "little"), bytes(4))

    assert looked_at(content)[1].verified is False


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA], ids=["bzip2", "lzma"])
def test_other_ways_of_packing_are_left_alone(method: int) -> None:
    """They can be read by numpy; what is in them is not looked into here."""
    assert looked_at(written(method=method))[1].verified is False
    assert looked_at(written({"a": b"", "b": bytes(3_000_000)}, method))[1].verified is False


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA], ids=["bzip2", "lzma"])
def test_wrong_bytes_in_other_ways_of_packing_are_found(method: int) -> None:
    """As zipfile finds them, which unpacks and compares."""
    content = written({"a.npy": random.Random(3).randbytes(20_000).hex().encode()}, method)
    begin, end = 30 + len("a.npy"), content.index(b"PK\1\2")

    for at in random.Random(4).sample(range(begin + 9, end), 80):
        wrong = patched(content, at, bytes([content[at] ^ 0x10]))
        try:
            whole = zipfile.ZipFile(io.BytesIO(wrong)).testzip() is None
        except Exception:  # noqa: BLE001  whatever it raises, it says so
            whole = False
        assert flaw_of(wrong) == ("none" if whole else "checksum"), at


def test_a_record_of_lzma_that_asks_for_gigabytes_is_left_alone() -> None:
    """Of memory, before anything is unpacked."""
    content = written({"a.npy": bytes(100)}, zipfile.ZIP_LZMA)
    at = content.index(b"a.npy") + 5 + 5

    assert flaw_of(patched(content, at, b"\xff\xff\xff\xff")) == "none"


@pytest.mark.parametrize("count", [1, 20, 65_535], ids=["1 byte", "20 bytes", "a longest comment"])
def test_bytes_behind_the_end_that_torch_and_numpy_accept_are_accepted(count: int) -> None:
    """Both look for the end record that far back, and mind nothing behind it."""
    content = written() + b"x" * count

    assert flaw_of(content) == "none"
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        assert file.testzip() is None


# --- damaged --------------------------------------------------------------------------------------


NOTHING = written({})
"""An end record and nothing else, which may end anywhere."""

CUTS = {
    "from its first byte to its last but one": (WHOLE, range(1, len(WHOLE)), {"cut", "structure"}),
    "before the directory": (WHOLE, range(len(WHOLE) // 2, len(WHOLE) // 2 + 1), {"cut"}),
    "an archive of nothing": (NOTHING, range(4, len(NOTHING)), {"cut"}),
}


@pytest.mark.parametrize(("content", "sizes", "kinds"), CUTS.values(), ids=CUTS)
def test_a_file_cut_anywhere_is_found(content: bytes, sizes: range, kinds: set[str]) -> None:
    assert {flaw_of(content[:size]) for size in sizes} <= kinds


def test_a_record_that_is_empty_by_the_directory_alone_is_found() -> None:
    """Nothing is compared with nothing, and agrees."""
    of_torch = saved([torch.zeros(0), torch.zeros(9)])
    for content in (written(), of_torch):
        at = content.rindex(b"PK\1\2", 0, content.rindex(b"/version"))
        emptied = patched(content, at + 16, bytes(12))

        assert flaw_of(content) == "none"
        assert flaw_of(emptied) == "structure"
        assert read_whole(memoryview(emptied), zlib.crc32) is None


@pytest.mark.parametrize("behind", [b"", b"x" * 9], ids=["at once", "some bytes further"])
def test_an_archive_behind_another_of_its_size_is_told(behind: bytes) -> None:
    """Places are told from an archive's own beginning: by the second's end it reads the first."""
    first = saved(torch.zeros(9))
    both = first + behind + saved(torch.ones(9))

    assert torch.equal(torch.load(io.BytesIO(both)), torch.zeros(9))
    assert flaw_of(first) == "none"
    assert "a second archive was written behind the first" in said_of(both)


def test_a_tail_of_zeros_is_told_with_its_length() -> None:
    """As a crash leaves a file whose size was noted and whose last pages were not written."""
    lost = len(WHOLE) - 4096
    said = said_of(WHOLE[:4096] + bytes(lost))

    assert said.startswith(f"ends in {lost:,} zero bytes, where its directory")


def test_bytes_behind_the_end_that_nobody_accepts_are_trailing() -> None:
    """The archive itself is whole, and its readers do not look that far back."""
    content = written() + b"x" * 80_000

    with pytest.raises(DamagedError, match=r"goes on for 80,000 bytes behind the end") as caught:
        looked_at(content)
    assert caught.value.flaw.kind == "trailing"
    assert caught.value.flaw.offset == len(content) - 80_000


def test_a_wrong_byte_is_named_with_its_record_and_place() -> None:
    """The folder that torch puts every record in is left out."""
    place = WHOLE.index(bytes(range(256)))

    wrong = r"has wrong bytes in data/0 \(its CRC differs\)"
    with pytest.raises(DamagedError, match=wrong) as caught:
        looked_at(patched(WHOLE, place + 5, b"\xff"))
    assert caught.value.flaw.member == "data/0"
    assert caught.value.flaw.offset == place


def test_several_wrong_records_are_counted() -> None:
    """One file is one problem."""
    content = patched(WHOLE, WHOLE.index(b"3\n"), b"4")
    content = patched(content, content.index(bytes(range(256))), b"\xff")

    assert "2 of its 3 records, first in data/0" in said_of(content)


def test_a_wrong_byte_in_a_packed_record_is_found_wherever_it_is() -> None:
    """Either it no longer unpacks, or its checksum differs."""
    content = written({"a.npy": bytes(range(256)) * 4}, zipfile.ZIP_DEFLATED)
    begin, end = 30 + len("a.npy"), content.index(b"PK\1\2")

    for at in range(begin, end):
        assert flaw_of(patched(content, at, bytes([content[at] ^ 0x10]))) == "checksum", at


@pytest.mark.parametrize(
    ("at", "new"),
    [
        pytest.param(-22 + 8, b"\x04\x00\x04\x00", id="a record too many"),
        pytest.param(-22 + 10, b"\xff\xff", id="65,535 records"),
        pytest.param(-22 + 12, b"\x01\x00\x00\x00", id="a directory of 1 byte"),
        pytest.param(-22 + 16, b"\x00\x00\x00\x00", id="a directory at 0"),
        pytest.param(-22 + 4, b"\x01\x00", id="another disk"),
        pytest.param(-22 + 6, b"\x01\x00", id="a directory that begins on another disk"),
        pytest.param(0, b"PK\7\x08", id="no header where it should be"),
        pytest.param(8, b"\x08\x00", id="another method"),
        pytest.param(30, b"y", id="another name"),
        pytest.param(26, b"\xff\xff", id="a longer name"),
        pytest.param(28, b"\xff\xff", id="a longer extra field"),
    ],
)
def test_a_directory_and_headers_that_disagree_are_found(at: int, new: bytes) -> None:
    """Two writers of one file leave the directory of one and the records of the other."""
    assert flaw_of(patched(written(), at, new)) == "structure"


@pytest.mark.parametrize(
    ("field", "new", "said"),
    [
        (8, b"\x01", "is marked as encrypted"),
        (38, b"\x10", "is marked as a folder"),
        (24, b"\x01", "has another size or method"),
        (42, b"\xff", "is not where the directory says"),
    ],
    ids=["encrypted", "a folder", "another size", "another place"],
)
def test_an_entry_that_makes_readers_skip_a_record_is_found(
    field: int, new: bytes, said: str
) -> None:
    """A record that is marked as a folder comes out of torch.load as whatever its memory held."""
    entry = WHOLE.index(b"PK\1\2", WHOLE.index(b"PK\1\2") + 1)

    assert said in said_of(patched(WHOLE, entry + field, new))


def test_every_byte_of_a_shorter_file_written_over_a_longer_one_is_found() -> None:
    """A writer that opens without emptying leaves the end of what was there before."""
    longer = written({"x/data/0": b"a" * 9000, "x/version": b"3\n"})
    shorter = written({"x/data/0": b"b" * 5000, "x/version": b"3\n"})

    assert flaw_of(shorter + longer[len(shorter) :]) != "none"


# --- hostile --------------------------------------------------------------------------------------


def test_a_directory_of_four_billion_records_costs_nothing() -> None:
    """The count is held against the directory's length before anything is made of it."""
    end64 = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 2**32, 2**32, 0, 0)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, 0, 1)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 65535, 65535, 0, 0xFFFFFFFF, 0)

    said = said_of(end64 + locator + end)

    assert said == "names 4,294,967,296 records in a directory of 0 bytes"


def test_a_directory_larger_than_is_looked_at_is_no_damage_and_no_pass() -> None:
    """It is told as something that could not be looked at."""
    length = MOST_DIRECTORY + 46
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, length, 0, 0)

    def read(offset: int, size: int) -> Block:
        assert size < 1 << 20, "the directory is not to be read"
        whole = bytes(min(size, max(0, length - offset)))
        return whole + end[max(0, offset - length) :][: size - len(whole)]

    with pytest.raises(TooMuchError, match="more than is looked at"):
        read_archive(read, length + len(end))


def test_more_records_than_are_looked_at_are_no_damage_and_no_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(archive_directory, "MOST_RECORDS", 2)
    with pytest.raises(TooMuchError, match="its 3 records are more than are looked at"):
        read_archive(reader(WHOLE), len(WHOLE))
    assert flaw_of(written({"a": b"", "b": b""})) == "none"


def test_records_that_share_their_bytes_are_found() -> None:
    """A zip bomb of one kernel that every entry points to."""
    content = written({"a": b"x" * 100, "b": b"x" * 100})
    second = content.index(b"PK\1\2", content.index(b"PK\1\2") + 1)
    content = patched(content, second + 42, bytes(4))

    assert "overlaps the record before it" in said_of(content)


@pytest.mark.filterwarnings("ignore:Duplicate name")  # zipfile says so, and writes it
def test_a_name_that_occurs_twice_is_found_before_anything_is_unpacked() -> None:
    """Readers differ in which of the two they take; sixty of them would fill the memory."""
    content = zipped(("x/version", b"3\n"), *[("x/data.pkl", bytes(3_000_000))] * 60)
    parts = read_archive(reader(content), len(content))

    with pytest.raises(DamagedError, match=r"60 records by the name of data\.pkl") as caught:
        archive.refuse_twins(parts)
    assert caught.value.flaw.kind == "structure"
    assert caught.value.flaw.member == "data.pkl"


def test_pages_that_were_lost_from_a_packed_record_are_told() -> None:
    """No packer makes a page of zeros; one wrong bit has no such cause."""
    content = zipped(("a.npy", random.Random(1).randbytes(40_000).hex().encode()))
    lost = patched(content, 8192, bytes(8192))

    assert "2 pages of zero bytes in it most likely never reached" in said_of(lost)
    with pytest.raises(DamagedError, match=r"differs\)|unpack to 80,000 bytes\)$"):
        looked_at(patched(content, 9000, bytes([content[9000] ^ 1])))


def test_what_is_kept_is_bounded_over_all_records() -> None:
    """A record that finds no room is read and compared as all others, and let go."""
    content = written({f"{number}/data.pkl": bytes(9_000_000) for number in range(12)})
    parts = read_archive(reader(content), len(content))
    kept, peak = with_peak(lambda: archive.read_records(reader(content), parts, lambda _: True))

    assert kept.verified
    assert 1 <= len(kept.kept) <= 7
    assert all(data == bytes(9_000_000) for data in kept.kept.values())
    assert peak < 90_000_000


def test_a_packed_record_that_holds_less_than_it_says_is_found() -> None:
    """Its checksum agrees with what is there."""
    content = written({"a.npy": bytes(1000)}, zipfile.ZIP_DEFLATED)
    entry = content.index(b"PK\1\2")

    assert flaw_of(patched(content, entry + 24, (2000).to_bytes(4, "little"))) == "checksum"


def test_a_name_that_leads_elsewhere_is_only_a_name() -> None:
    """Nothing is unpacked to disk, so `..` leads nowhere; what a console would obey is escaped."""
    content = written({"../../etc/passwd\x1b[2J": b"abc", "x": b"d"})

    assert flaw_of(content) == "none"
    with pytest.raises(DamagedError) as caught:
        looked_at(patched(content, content.index(b"abc"), b"?"))
    assert "\x1b" not in caught.value.flaw.text


def test_a_bomb_is_unpacked_in_flat_memory_and_no_further_than_it_says() -> None:
    """64 MB of zeros that pass for 1,000 bytes."""
    content = written({"a.npy": bytes(64_000_000)}, zipfile.ZIP_DEFLATED)
    entry = content.index(b"PK\1\2")
    claimed = patched(content, entry + 24, (1000).to_bytes(4, "little"))
    kinds, peak = with_peak(lambda: (flaw_of(content), flaw_of(claimed)))

    assert kinds == ("none", "checksum")
    assert peak < 8_000_000


def test_what_is_read_that_became_shorter_meanwhile_is_an_error_of_reading() -> None:
    """It is neither damage nor a pass."""
    with pytest.raises(OSError, match="became shorter"):
        read_archive(reader(WHOLE[:-100]), len(WHOLE))


def test_every_byte_is_read_once_but_for_headers() -> None:
    """Large files are slow to read; the bytes of records pass by once."""
    content = written({"x/data/0": bytes(3_000_000), "x/version": b"3\n"})
    counted: list[int] = []
    plain = reader(content)

    def counting(offset: int, size: int) -> Block:
        counted.append(size)
        return plain(offset, size)

    archive.read_records(counting, read_archive(counting, len(content)), lambda _: False)

    assert sum(counted) < len(content) + 1000
