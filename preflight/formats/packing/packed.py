"""Unpacks a gzip, bzip2, xz or zstd stream as it is read, in flat memory.

Like tarfile's own stream reader, it stops where the first stream ends, unless it is told to go on.
"""

from __future__ import annotations

import importlib
import sys
import zlib
from collections.abc import Callable
from typing import Any

from preflight.formats.bytes.blocks import Read
from preflight.formats.packing.inflated import most_unpacked
from preflight.formats.packing.zstd import (
    CannotUnpackError,
    Unzstd,
    ZstdError,
    is_skippable,
    is_zstd,
    tarfile_unpacks,
)
from preflight.values.byte_sizes import format_size

_PIECE = 1 << 18
"""Bytes unpacked at a time, however small the stream makes them."""

_TIMES_OF_SHARDS = 100
"""Times its packed size that a larger shard is unpacked to: text comes to 5, zeros to 1,000."""

MOST_STREAMS = 500_000
"""Streams that are unpacked one after another; more only where each takes 1,024 bytes or more."""

_KEPT = 1 << 22
"""Bytes kept behind the place last read, for a reader that goes back a little."""

_KINDS = frozenset({"gzip stream", "bzip2 stream", "xz stream", "zstd stream"})

_OF_CHECKSUM = ("incorrect data check", "incorrect length check")
"""What zlib says where all was unpacked, and is not what was packed."""

_MAGIC = {"gzip": b"\x1f\x8b", "bzip2": b"BZh", "xz": b"\xfd7zXZ"}


class Packed:
    """A packed stream that can be read as if it were not packed, mostly forwards.

    With `every` it goes on through all streams that stand one after another. A large one is
    unpacked to so many `times` its packed size. `tell` is called while it is unpacked.
    """

    def __init__(
        self,
        read: Read,
        kind: str,
        *,
        every: bool = False,
        times: int = _TIMES_OF_SHARDS,
        tell: Callable[[], object] = lambda: None,
    ) -> None:
        self.kind = kind
        self.name = kind.removesuffix(" stream")
        self.error: str | None = None
        """What the unpacker said of damaged bytes; None while there were none."""

        self.ended = False
        """Whether the stream came to its own end, and its checksum, if it has one, agreed."""

        self.more = False
        """Whether another stream stands behind the one that ended."""

        self.trips = False
        """Whether tarfile's stream reader trips over the head of it: that it has read nothing."""

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
        self._times = times
        self._tell = tell
        self._waiting = b""
        self._bytes = bytearray()
        self._at = 0
        self._streams = 0
        if self.name == "gzip" and not self._every:
            self.trips = _has_extra_field(bytes(read(0, 12)))

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
        if self.ended or self.error is not None or self.endless or self.trips:
            return False
        self._tell()
        if self.unpacked > most_unpacked(self.position, self._times):
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
        except unpacking_errors() as error:
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
            self._unpacker, self._waiting, self.more = _unpacker(self.name), rest, False
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


def _has_extra_field(head: bytes) -> bool:
    """Whether there is a field that tarfile skips in what it unpacks, and not in what is packed.

    bgzip and mgzip write one.
    """
    return len(head) == 12 and bool(head[3] & 4) and any(head[10:])


class _Gunzip:
    """Unpacks one gzip stream, like the unpackers of the other modules.

    Of the piece before a wrong checksum zlib gives nothing, and tarfile, which does not compare it,
    reads that piece.
    """

    def __init__(self) -> None:
        self._unpack = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        self._error: zlib.error | None = None

    @property
    def eof(self) -> bool:
        return self._unpack.eof

    @property
    def unused_data(self) -> bytes:
        return self._unpack.unused_data

    @property
    def needs_input(self) -> bool:
        return not self._unpack.unconsumed_tail and self._error is None

    def decompress(self, packed: bytes, most: int) -> bytes:
        if self._error is not None:
            raise self._error
        packed = self._unpack.unconsumed_tail + packed
        before = self._unpack.copy()
        try:
            return self._unpack.decompress(packed, most)
        except zlib.error as error:
            if not str(error).endswith(_OF_CHECKSUM):
                raise
            self._error = error
        good, bad = 0, len(packed)
        while bad - good > 1:
            middle = (good + bad) // 2
            try:
                before.copy().decompress(packed[:middle], most)
            except zlib.error:
                bad = middle
            else:
                good = middle
        return before.decompress(packed[:good], most)


def can_unpack(kind: str | None) -> bool:
    """Whether shards are read through such a stream: by tarfile itself, or behind `zstd -d`."""
    return kind in _KINDS


def _unpacker(name: str) -> Any:
    if name == "gzip":
        return _Gunzip()
    if name == "bzip2":
        return importlib.import_module("bz2").BZ2Decompressor()
    if name == "xz":
        return importlib.import_module("lzma").LZMADecompressor()
    return Unzstd()


def unpacking_errors() -> tuple[type[Exception], ...]:
    """Give the errors of the modules that were imported to unpack, and of no others."""
    loaded = [sys.modules[name].LZMAError for name in ("lzma",) if name in sys.modules]
    return (zlib.error, OSError, EOFError, ValueError, ZstdError, *loaded)
