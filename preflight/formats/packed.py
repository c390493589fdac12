"""Unpacks a gzip, bzip2, xz or zstd stream as it is read, in flat memory.

Like tarfile's own stream reader, it stops where the first stream ends, unless it is told to go on.
"""

from __future__ import annotations

import importlib
import sys
import zlib
from typing import Any

from preflight.formats.blocks import Read
from preflight.formats.zstd import (
    CannotUnpackError,
    Unzstd,
    ZstdError,
    is_skippable,
    is_zstd,
    tarfile_unpacks,
)
from preflight.sizes import format_size

_PIECE = 1 << 18
"""Bytes unpacked at a time, however small the stream makes them."""

_LONGEST_HEADER = 1 << 20

MOST_UNPACKED = 4 << 30
"""Bytes that are unpacked however little they were packed into."""

MOST_TIMES = 100
"""Times its packed size that a larger stream is unpacked to: text comes to 5, zeros to 1,000."""

MOST_STREAMS = 500_000
"""Streams that are unpacked one after another; more only where each takes 1,024 bytes or more."""

_KEPT = 1 << 22
"""Bytes kept behind the place last read, for a reader that goes back a little."""

_NAMES = {
    "gzip stream": "gzip",
    "bzip2 stream": "bzip2",
    "xz stream": "xz",
    "zstd stream": "zstd",
}
_MAGIC = {"gzip": b"\x1f\x8b", "bzip2": b"BZh", "xz": b"\xfd7zXZ"}


class Packed:
    """A packed stream that can be read as if it were not packed, mostly forwards."""

    def __init__(self, read: Read, kind: str, *, every: bool = False) -> None:
        """Begin at the first byte.

        Args:
            read: gives the packed bytes.
            kind: what `what_is` calls them, such as `gzip stream`.
            every: go on through all streams that stand one after another.
        """
        self.name = _NAMES[kind]
        self.error: str | None = None
        """What the unpacker said of damaged bytes; None while there were none."""

        self.ended = False
        """Whether the stream came to its own end, and its checksum, if it has one, agreed."""

        self.more = False
        """Whether another stream stands behind the one that ended."""

        self.endless = ""
        """Why it was not unpacked to its end; empty where it was."""

        self.way_out: str | None = None
        """What to do about that, where it is not to unpack it elsewhere."""

        self.tail = ""
        """What is wrong behind all that was unpacked, where `zstd -d` ends with an error."""

        self.position = 0
        """Packed bytes read so far."""

        self.end: int | None = None
        """Where the stream ended among the packed bytes; None: it has not yet."""

        self._read = read
        # Where tarfile cannot unpack zstd, `zstd -d` does it in a pipe, and takes all frames.
        self._every = every or (self.name == "zstd" and not tarfile_unpacks())
        self._unpacker = _unpacker(self.name)
        self._waiting = b""
        self._bytes = bytearray()
        self._at = 0
        self._streams = 0

    @property
    def unpacked(self) -> int:
        """Bytes unpacked so far."""
        return self._at + len(self._bytes)

    def read(self, offset: int, size: int) -> bytes:
        """Give unpacked bytes; fewer where the stream ends or is damaged.

        Raises:
            ValueError: the place lies too far behind what was read last.
        """
        if offset < self._at:
            raise ValueError(f"bytes at {offset:,} of a packed stream are no longer at hand")
        while self.unpacked < offset + size and self._unpack():
            surplus = offset - _KEPT - self._at
            if surplus > _KEPT:
                surplus = min(surplus, len(self._bytes))
                del self._bytes[:surplus]
                self._at += surplus
        begin = offset - self._at
        return bytes(self._bytes[begin : begin + size])

    def _unpack(self) -> bool:
        """Unpack a piece more; False where there is none."""
        if self.ended or self.error is not None or self.endless:
            return False
        if self.unpacked > max(MOST_UNPACKED, MOST_TIMES * self.position):
            self.endless = (
                f"unpacks to more than {format_size(self.unpacked)} from "
                f"{format_size(self.position)} of {self.name}: it was not read on"
            )
            return False
        packed, self._waiting = self._waiting, b""
        if not packed and self._unpacker.needs_input:
            packed = bytes(self._read(self.position, _PIECE))
            self.position += len(packed)
            if not packed:
                self._run_out()
                return False
        try:
            self._bytes += self._unpacker.decompress(packed, _PIECE)
        except CannotUnpackError as error:
            self.endless, self.way_out = str(error), error.fix
            return False
        except _own_errors() as error:
            self.error = str(error)
            return False
        if self._unpacker.eof:
            self._end()
        return True

    def _end(self) -> None:
        rest = self._unpacker.unused_data
        if not rest:
            rest = bytes(self._read(self.position, _PIECE))
            self.position += len(rest)
        zstd = self.name == "zstd"
        self.more = is_zstd(rest) if zstd else rest.startswith(_MAGIC[self.name])
        if self._every and (self.more or (zstd and is_skippable(rest))):
            self._streams += 1
            if self._streams > max(MOST_STREAMS, self.position >> 10):
                self.endless = (
                    f"is more than {MOST_STREAMS:,} streams of {self.name}, one after another: it "
                    "was not read on"
                )
                return
            self._unpacker = _unpacker(self.name)
            self._waiting = rest
            self.more = False
            return
        self.ended = True
        self.end = self.position - len(rest)
        if self._every and zstd and rest:
            self.tail = f"has bytes behind its zstd stream that are none of it: {rest[:8].hex(' ')}"

    def _run_out(self) -> None:
        """Tell an end behind a skippable frame from one in the middle of anything."""
        if self.name != "zstd":
            return
        if self._unpacker.begun:
            self.tail = f"ends inside a zstd frame, at {self.position:,} bytes"
        else:
            self.ended = True


class _Gunzip:
    """Unpacks one gzip stream (RFC 1952), like the unpackers of the other modules.

    zlib's own gzip reader keeps back the last piece where the checksum differs, and tarfile, which
    does not compare it, reads that piece.
    """

    def __init__(self) -> None:
        self.eof = False
        self.unused_data = b""
        self._deflated = zlib.decompressobj(wbits=-zlib.MAX_WBITS)
        self._header: bytes | None = b""
        self._trailer = b""
        self._checksum = 0
        self._length = 0

    @property
    def needs_input(self) -> bool:
        return not self._deflated.unconsumed_tail and not self._differs()

    def decompress(self, packed: bytes, most: int) -> bytes:
        if self._differs():
            raise zlib.error("its checksum differs")
        if self._header is not None:
            self._header += packed
            end = _gzip_header_end(self._header)
            if end is None and len(self._header) > _LONGEST_HEADER:
                raise zlib.error("its header has no end")
            if end is None:
                return b""
            packed, self._header = self._header[end:], None
        if self._deflated.eof:
            self._trailer += packed
            unpacked = b""
        else:
            unpacked = self._deflated.decompress(self._deflated.unconsumed_tail + packed, most)
            self._trailer = self._deflated.unused_data
        self._checksum = zlib.crc32(unpacked, self._checksum)
        self._length += len(unpacked)
        if self._deflated.eof and len(self._trailer) >= 8 and not self._differs():
            self.eof, self.unused_data = True, self._trailer[8:]
        return unpacked

    def _differs(self) -> bool:
        if not self._deflated.eof or len(self._trailer) < 8:
            return False
        stated = self._checksum.to_bytes(4, "little") + (self._length % 2**32).to_bytes(4, "little")
        return self._trailer[:8] != stated


def _gzip_header_end(data: bytes) -> int | None:
    """Find where a gzip header ends (RFC 1952, section 2.3); None where more is needed."""
    if len(data) < 10:
        return None
    flags, end = data[3], 10
    if flags & 4:  # a field of extra data, behind its length
        end += 2 + int.from_bytes(data[end : end + 2], "little")
    for flag in (8, 16):  # a name, and a comment, each up to a zero byte
        if flags & flag:
            end = data.find(b"\0", end) + 1
            if end == 0:
                return None
    end += 2 if flags & 2 else 0  # a checksum of the header
    return end if end <= len(data) else None


def can_unpack(kind: str | None) -> bool:
    """Whether shards are read through such a stream: by tarfile itself, or behind `zstd -d`."""
    return kind in _NAMES


def _unpacker(name: str) -> Any:
    if name == "gzip":
        return _Gunzip()
    if name == "bzip2":
        return importlib.import_module("bz2").BZ2Decompressor()
    if name == "xz":
        return importlib.import_module("lzma").LZMADecompressor()
    return Unzstd()


def _own_errors() -> tuple[type[Exception], ...]:
    """Give the errors of the modules that were imported to unpack, and of no others."""
    loaded = [sys.modules[name].LZMAError for name in ("lzma",) if name in sys.modules]
    return (zlib.error, OSError, EOFError, ValueError, ZstdError, *loaded)
