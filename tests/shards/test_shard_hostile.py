"""Shards that were made to hurt cost bounded time and memory, and each is told with its reason."""

from __future__ import annotations

import functools
import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest

from preflight.formats.packing import inflated
from preflight.kinds.asked import CannotLookError
from preflight.shards import read as reading
from preflight.shards.facts import ShardFacts
from preflight.shards.read import read_shard
from preflight.targets.targets import CaptionRule, Shard
from tests.archives import SAMPLE, bounded, samples, shard_facts, tarred

WHOLE = tarred(samples(6))


def look(folder: Path) -> ShardFacts:
    shard = Shard(path="x.tar", captions=CaptionRule(rule="none"))
    return read_shard(shard, str(folder), lambda _: None)


read = functools.partial(shard_facts, rule="none")


def header(name: str, size: bytes, type_: bytes = b"0") -> bytes:
    """Make a header with any size field, and the right checksum."""
    made = bytearray(tarfile.TarInfo(name).tobuf(tarfile.GNU_FORMAT))
    made[124:136] = size.ljust(12, b"\0")
    made[156:157] = type_
    made[148:156] = b"%06o\0 " % (sum(made[:148]) + 8 * 32 + sum(made[156:]))
    return bytes(made)


def pax(*records: bytes, size: int | None = None) -> bytes:
    body = b"".join(records)
    stated = b"%011o" % (len(body) if size is None else size)
    return header("pax", stated, b"x") + body + bytes(-len(body) % 512)


BEHIND = header("a.jpg", b"00000000000")

REFUSED: dict[str, tuple[bytes, str]] = {
    "a size of 2 to the 63": (
        header("a.jpg", b"\x80\0\0\0\x80" + bytes(7)),
        "ends inside a.jpg, after 15,360 of its 9,223,372,036,854,775,808 bytes",
    ),
    "a size below zero": (
        header("a.jpg", b"\xff" * 11 + b"\xfb"),
        "has a header at 5,120 bytes (a.jpg) that has a size of -5 bytes",
    ),
    "a size in words": (
        header("a.jpg", b"five"),
        "has a header at 5,120 bytes (a.jpg) that has a size that is no number",
    ),
    "a long name of a size below zero": (
        header("a.jpg", b"\xff" * 12, b"L"),
        "has an extended header at 5,120 bytes that has a size of -1 bytes",
    ),
    "a pax record of length 0": (
        pax(b"0 path=a\n") + BEHIND,
        "has an extended header at 5,120 bytes that holds a pax record that cannot be read",
    ),
    "a pax record that is too long": (
        pax(b"99 path=a\n") + BEHIND,
        "has an extended header at 5,120 bytes that holds a pax record that cannot be read",
    ),
    "a pax size of many digits": (
        pax(b"5014 size=" + b"9" * 5003 + b"\n") + BEHIND,
        "ends inside a.jpg, after ",
    ),
    "a map of holes without end": (
        header("a.jpg", b"0", b"S")[:482] + b"\1" + header("a.jpg", b"0", b"S")[483:],
        "has a damaged header at 5,120 bytes of what looks like a.jpg: its checksum is wrong",
    ),
    "many long names": (
        (header("n", b"00000000005", b"L") + b"a.jpg".ljust(512, b"\0")) * 9000 + BEHIND,
        "that stands behind 64 others, and tarfile gives up at some 300",
    ),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_a_header_that_lies_is_told_with_its_reason(
    tmp_path: Path, case: tuple[bytes, str]
) -> None:
    hostile, text = case
    content = WHOLE[: 2 * SAMPLE] + hostile + WHOLE[2 * SAMPLE :]

    with bounded():
        facts = read(tmp_path, content)

    (damage,) = facts.damage
    assert text in damage.text
    assert facts.samples == 2
    if damage.kind == "header" and "others" not in text:
        behind = (5, "a") if BEHIND in hostile else (4, "dog-0002")
        assert (facts.lost, facts.first_lost) == behind


def test_a_pax_header_of_gigabytes_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "x.tar").open("wb") as stream:
        stream.write(WHOLE[:SAMPLE] + pax(size=3 << 30))
        stream.seek(3 << 30, os.SEEK_CUR)
        stream.write(BEHIND + bytes(1024))

    with bounded():
        (damage,) = look(tmp_path).damage

    assert damage.text == (
        "has an extended header at 2,560 bytes that is 3.2 GB long, all of which tarfile takes "
        "into memory"
    )


@pytest.mark.skipif(not hasattr(os, "SEEK_DATA"), reason="this system does not tell of holes")
def test_a_sparse_tail_of_terabytes_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "x.tar").open("wb") as stream:
        stream.write(tarred(samples(6, image=b"x" * 70_000))[:80_000])
        stream.truncate(1 << 42)

    with bounded():
        (damage,) = look(tmp_path).damage

    assert damage.text.startswith("is zeros from inside dog-0001.jpg to its end, 4.4 TB")


@pytest.mark.skipif(not hasattr(os, "SEEK_DATA"), reason="this system does not tell of holes")
def test_a_second_archive_behind_a_hole_of_a_terabyte_is_found(tmp_path: Path) -> None:
    with (tmp_path / "x.tar").open("wb") as stream:
        stream.write(WHOLE)
        stream.seek(1 << 40)
        stream.write(tarred(samples(2, start=9)))

    with bounded():
        facts = look(tmp_path)

    assert (facts.damage[0].kind, facts.lost, facts.first_lost) == ("trailing", 2, "dog-0009")


def test_a_stream_that_inflates_for_ever_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound is lower here, so that the test is quick."""
    monkeypatch.setattr(inflated, "MOST_UNPACKED", 1 << 24)
    (tmp_path / "x.tar").write_bytes(gzip.compress(WHOLE[:SAMPLE] + bytes(1 << 26)))

    with bounded(), pytest.raises(CannotLookError, match=r"unpacks to more than \d+\.\d MB from"):
        look(tmp_path)


def test_a_file_that_shrinks_while_it_is_read_is_an_error_and_no_finding(tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    path.write_bytes(tarred(samples(2, image=b"\xff\xd8" + b"x" * 70_000)))

    def cut(_: str) -> None:
        os.truncate(path, 1000)

    with pytest.raises(OSError, match="became shorter while it was read"):
        read_shard(Shard(path="x.tar"), str(tmp_path), cut)


def test_names_of_any_bytes_are_kept_and_shown(tmp_path: Path) -> None:
    """All bytes but zero, which ends a name, and the slash."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for code in set(range(1, 256)) - {0x2F, 0x2E}:
            archive.addfile(tarfile.TarInfo(os.fsdecode(b"a" + bytes([code]) + b".jpg")))

    facts = read(tmp_path, stream.getvalue())

    assert (facts.damage, facts.samples) == ((), 253)


def test_a_link_that_leads_to_itself_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.tar").symlink_to("x.tar")

    with pytest.raises(OSError, match="symbolic links"):
        look(tmp_path)


def test_a_large_image_in_a_packed_shard_is_read(tmp_path: Path) -> None:
    """Larger than what is kept of the unpacked bytes for a reader that goes back."""
    image = os.urandom(1 << 20) * 24

    facts = read(tmp_path, gzip.compress(tarred({"a.bmp": image, "a.txt": b"x"}), 1))

    assert (facts.damage, facts.samples) == ((), 1)


def test_many_extended_headers_before_each_of_many_damages_are_walked_once(tmp_path: Path) -> None:
    """What stands behind a damage is looked at once, however much of it is damaged again."""
    name = header("n", b"00000000000", b"L")

    with bounded(seconds=60):
        facts = read(tmp_path, WHOLE[:SAMPLE] + name * 20_000)

    assert [one.kind for one in facts.damage] == ["header"]


@pytest.mark.parametrize("tar_format", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_very_long_names_are_held_shortened_and_still_pair(tmp_path: Path, tar_format: int) -> None:
    """A gzip stream of some kilobytes may hold gigabytes of them."""
    files = [(f"a/{'b' * 500_000}{n}.{of}", b"x") for n in range(60) for of in ("json", "txt")]
    files.append((f"{'b' * 500_000}.{'c' * 500_000}.txt", b"x"))

    content = gzip.compress(tarred(files, tar_format), 1)

    with bounded(memory=24 << 20):
        facts = read(tmp_path, content)

    assert (facts.damage, facts.members, facts.samples) == ((), 121, 61)
    assert [(one.kind, one.count) for one in facts.oddities] == [("long", 121)]
    assert max(len(name) for one in facts.oddities for name in one.names) < 200


def test_many_samples_take_little_memory_each(tmp_path: Path) -> None:
    """Three hundred bytes a sample, with all that is worked out of them."""
    count = 20_000
    block = tarred({"0000000.txt": b"x"})[:1024]
    blocks = []
    for number in range(count):
        name = b"%07d.txt" % number
        head = name + block[len(name) : 148] + b" " * 8 + block[156:512]
        blocks.append(head[:148] + b"%06o\0 " % sum(head) + head[156:] + block[512:])
    (tmp_path / "x.tar").write_bytes(b"".join(blocks) + bytes(1024))
    del blocks

    with bounded(seconds=60, memory=300 * count):
        facts = look(tmp_path)

    assert (facts.damage, facts.samples) == ((), count)


def test_the_reader_does_without_pread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows."""
    monkeypatch.delattr(reading.os, "pread", raising=False)

    facts = read(tmp_path, WHOLE)

    assert (facts.damage, facts.samples) == ((), 6)
