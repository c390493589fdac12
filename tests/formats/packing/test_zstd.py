"""zstd frames are unpacked as `zstd -d` unpacks them, and whatever they say, a little at a time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time

import pytest

from preflight.formats.magic import what_is
from preflight.formats.packing import inflated
from preflight.formats.packing.packed import Packed
from preflight.formats.packing.zstd import MAGIC, MOST_WINDOW
from tests.archives import flipped
from tests.contents import with_peak

zstandard = pytest.importorskip("zstandard")

CONTENT = bytes(range(256)) * 5000 + os.urandom(500_000)
SKIPPED = b"\x50\x2a\x4d\x18\x04\0\0\0abcd"
"""A frame that holds no data, as pzstd writes it before each of its frames."""

behind_a_pipe = pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="tarfile reads the first frame by itself"
)


def frame(content: bytes, **options: object) -> bytes:
    done: bytes = zstandard.ZstdCompressor(write_checksum=True, **options).compress(content)
    return done


def unpacked(content: bytes, most: int = 1 << 23) -> tuple[bytes, Packed]:
    stream = Packed(lambda offset, size: content[offset : offset + size], "zstd stream")
    parts = []
    while part := stream.read(at := sum(map(len, parts)), 100_000):
        parts.append(part)
        if at > most:
            break
    return b"".join(parts), stream


def of_blocks(*blocks: bytes, window: int = 0x38, flags: int = 0) -> bytes:
    """Make a frame of raw parts; a window of 0x38 is 128 kB."""
    return MAGIC + bytes([flags, window]) + b"".join(blocks)


def block(size: int, kind: int, content: bytes, *, last: bool = False) -> bytes:
    return (size << 3 | kind << 1 | last).to_bytes(3, "little") + content


@pytest.mark.parametrize("level", [-5, 1, 3, 19])
@pytest.mark.parametrize("content", [CONTENT, bytes(1 << 20), b"", b"x"], ids=len)
def test_a_frame_unpacks_to_what_was_packed(content: bytes, level: int) -> None:
    found, stream = unpacked(frame(content, level=level))

    assert found == content
    assert (stream.ended, stream.more, stream.error, stream.tail) == (True, False, None, "")


@pytest.mark.skipif(shutil.which("zstd") is None, reason="the command zstd is not installed")
@pytest.mark.parametrize("options", [("-1",), ("-19",), ("--no-check",), ("--long=27",), ("-T2",)])
def test_what_the_command_packs_is_unpacked(options: tuple[str, ...]) -> None:
    done = subprocess.run(
        ["zstd", "-c", *options], input=CONTENT, capture_output=True, check=True
    ).stdout

    assert unpacked(done)[0] == CONTENT


@behind_a_pipe
@pytest.mark.parametrize(
    "content",
    [
        frame(b"first") + frame(b"second"),
        SKIPPED + frame(b"first") + SKIPPED + SKIPPED + frame(b"second") + SKIPPED,
        b"\x5f" + SKIPPED[1:] + frame(b"firstsecond"),
    ],
    ids=["two", "with others between", "behind one"],
)
def test_all_frames_are_one_stream(content: bytes) -> None:
    found, stream = unpacked(content)

    assert what_is(content) == "zstd stream"
    assert found == b"firstsecond"
    assert (stream.ended, stream.more, stream.error, stream.tail) == (True, False, None, "")


def test_a_frame_that_holds_no_data_is_no_zstd_by_itself() -> None:
    """lz4 passes over such frames, too."""
    assert what_is(SKIPPED) is None
    assert what_is(SKIPPED + b"\x04\x22\x4d\x18") is None


@pytest.mark.parametrize("kept", [5, 12, 17, 100, 200_000, -1, -4])
def test_a_stream_cut_anywhere_says_so(kept: int) -> None:
    content = frame(CONTENT)[:kept]

    found, stream = unpacked(content)

    assert CONTENT.startswith(found)
    assert (stream.ended, stream.tail) == (
        False,
        f"ends inside a zstd frame, at {len(content):,} bytes",
    )


@behind_a_pipe
def test_a_second_frame_that_is_cut_says_so() -> None:
    found, stream = unpacked(frame(b"first") + SKIPPED[:10])

    assert (found, stream.ended, stream.more) == (b"first", False, False)
    assert stream.tail.startswith("ends inside a zstd frame")


@behind_a_pipe
@pytest.mark.parametrize("junk", [b"abc", bytes(512)])
def test_what_is_no_frame_behind_one_is_told_as_zstd_refuses_it(junk: bytes) -> None:
    found, stream = unpacked(frame(CONTENT) + junk)

    assert found == CONTENT
    assert stream.tail.startswith("has bytes behind its zstd stream that are none of it: ")


def test_a_wrong_checksum_keeps_nothing_back() -> None:
    found, stream = unpacked(flipped(frame(CONTENT), -1))

    assert len(found) > len(CONTENT) - (1 << 18)
    assert "doesn't match checksum" in (stream.error or "")


def test_a_wrong_byte_anywhere_ends_quietly_in_an_error_or_other_bytes() -> None:
    whole = frame(bytes(range(200)) * 9)
    for position in range(len(whole)):
        found, stream = unpacked(flipped(whole, position, 0x55))

        told = stream.error or stream.tail or stream.endless
        assert told or found == bytes(range(200)) * 9, position


# --- streams that were made to hurt


def test_a_few_bytes_that_unpack_to_gigabytes_are_unpacked_a_little_at_a_time() -> None:
    """Each block of four bytes stands for 128 kB: a piece that is read at once, for 8 GB."""
    bomb = of_blocks(block(1 << 17, 1, b"\0") * 60_000)
    (found, _), peak = with_peak(lambda: unpacked(bomb, most=1 << 22))

    assert len(found) < 1 << 23
    assert peak < 48 << 20


def test_a_stream_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflated, "MOST_UNPACKED", 1 << 22)

    _, stream = unpacked(of_blocks(block(1 << 17, 1, b"\0") * 60_000), most=1 << 40)

    assert "of zstd: it was not read on" in stream.endless


def test_blocks_of_nothing_cost_little() -> None:
    begun = time.process_time()

    found, stream = unpacked(of_blocks(block(0, 0, b"") * 1_000_000, block(0, 0, b"", last=True)))

    assert (found, stream.ended) == (b"", True)
    assert time.process_time() - begun < 60


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (of_blocks(block(1 << 20, 0, b"x")), "a block of 1,048,576 bytes"),
        (of_blocks(block(5, 3, b"xxxxx", last=True)), ""),
        (of_blocks(block(5, 2, b"\xff" * 5, last=True)), ""),
        (of_blocks(flags=0x08), ""),
    ],
    ids=["too long", "of no kind", "of noise", "a reserved bit"],
)
def test_a_frame_that_lies_is_an_error(content: bytes, said: str) -> None:
    found, stream = unpacked(content + bytes(99))

    assert found == b""
    assert stream.error is not None and said in stream.error


@pytest.mark.parametrize(
    "header", [MAGIC + b"\x00\xa0", MAGIC + b"\xe0" + b"\xff" * 8], ids=["stated", "one segment"]
)
def test_a_window_of_gigabytes_is_not_taken(header: bytes) -> None:
    _, stream = unpacked(header + bytes(99))

    assert stream.error is None
    assert "of memory to unpack; zstd -d takes no more than 134.2 MB" in stream.endless
    assert "--long" in (stream.way_out or "")


def test_the_largest_window_that_zstd_takes_is_taken() -> None:
    assert MOST_WINDOW == 1 << 27
    content = of_blocks(block(3, 0, b"abc", last=True), window=0x88)

    assert unpacked(content)[0] == b"abc"


def test_a_dictionary_that_is_missing_is_no_damage() -> None:
    samples = [os.urandom(50) + b"a dog on a beach" * 9 for _ in range(300)]
    trained = zstandard.train_dictionary(4096, samples)
    packer = zstandard.ZstdCompressor(dict_data=trained)

    found, stream = unpacked(packer.compress(samples[0]))

    assert (found, stream.error) == (b"", None)
    number = trained.dict_id()
    assert stream.endless == (
        f"was packed with a zstd dictionary (number {number}), which is not at hand"
    )


@behind_a_pipe
def test_without_the_package_it_is_no_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)

    found, stream = unpacked(frame(CONTENT))

    assert (found, stream.error) == (b"", None)
    assert stream.endless.startswith("is packed with zstd, and zstandard, which unpacks it, cannot")
    assert stream.way_out == "Install it:  pip install zstandard"
