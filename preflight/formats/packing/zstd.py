"""Unpacks zstd frames (RFC 8878) a few blocks at a time, so that no stream unpacks at once to more.

The frames and blocks are told apart here, and what is in them is left to the package that is there:
`compression.zstd` of Python 3.14, or `zstandard`.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from typing import Any

from preflight.values.byte_sizes import format_size

MAGIC = b"\x28\xb5\x2f\xfd"

MOST_WINDOW = 1 << 27
"""Bytes that may have to be held to unpack a frame; `zstd -d` refuses more unless it is told."""

_BLOCK = 1 << 17
"""Bytes that one block unpacks to at most."""

_LONGEST_HEADER = 18
"""Bytes of a frame's header, with its magic."""

_SMALLEST_WINDOW = 1024

# Kinds of blocks: bytes as they are, and one byte many times.
_AS_IT_IS, _SAME = 0, 1


class ZstdError(ValueError):
    """These bytes are no zstd frame, or one that was damaged."""


class CannotUnpackError(Exception):
    """A frame that may be sound, and cannot be unpacked here."""

    def __init__(self, reason: str, fix: str) -> None:
        """Say why as a predicate of the file, and what to do."""
        super().__init__(reason)
        self.fix = fix


def is_skippable(head: bytes) -> bool:
    """Whether a frame of this beginning holds no data: an index of `pzstd`, or somebody's note."""
    return head[1:4] == b"\x2a\x4d\x18" and head[0] & 0xF0 == 0x50


def is_zstd(head: bytes) -> bool:
    """Whether a file of this beginning is packed with zstd; lz4 passes over such frames too."""
    while is_skippable(head):
        head = head[8 + int.from_bytes(head[4:8], "little") :]
    return head.startswith(MAGIC)


def tarfile_unpacks() -> bool:
    """Whether Python's tarfile reads through zstd by itself: the first frame, since Python 3.14."""
    return sys.version_info >= (3, 14)


class Unzstd:
    """Unpacks one frame, and passes over the skippable ones before it."""

    def __init__(self) -> None:
        self.eof = False
        self.unused_data = b""
        self.begun = False
        """Whether anything of a frame was met, that has to go on to its end."""

        self.needs_input = True
        """Whether nothing can be unpacked of what it has been given."""

        self._given = b""
        self._at = 0
        """How far of that it has come."""

        self._skip = 0
        self._frame: Any = None
        self._error: type[Exception] = ZstdError
        self._block_most = _BLOCK
        self._checked = False
        """Whether a checksum stands behind the last block."""

        self._last = False
        """Whether that block was met."""

    def decompress(self, packed: bytes, most: int) -> bytes:
        """Unpack some blocks; there may be nothing as yet.

        Raises:
            ZstdError: it is damaged.
            CannotUnpackError: it needs what is not here.
        """
        if packed:
            self._given, self._at = self._given[self._at :] + packed, 0
        self.needs_input = self._frame is None and not self._begin()
        if self.needs_input:
            return b""
        begin = self._at
        while not self._last and most > 0:
            block = self._block()
            if block is None:
                break
            most -= block
        if self._last and begin == self._at and len(self._given) >= begin + 4:
            # By itself, since nothing is given of what comes together with a wrong checksum.
            self._at, self._checked = begin + 4, False
        piece = self._given[begin : self._at]
        self.needs_input = not piece
        if self._last and not self._checked:
            self.eof, self.unused_data = True, self._given[self._at :]
        return self._unpacked(piece)

    def _unpacked(self, piece: bytes) -> bytes:
        try:
            unpacked: bytes = self._frame.decompress(piece)
        except self._error as error:
            said = str(error)
            for own in ("zstd decompressor error: ", "zstd decompress error: "):
                said = said.removeprefix(own)  # the names of its own functions
            raise ZstdError(said) from error
        return unpacked

    def _block(self) -> int | None:
        """Pass over a block, and give the bytes that it may unpack to; None where it is cut."""
        begin = self._at + 3
        if begin > len(self._given):
            return None
        header = int.from_bytes(self._given[self._at : begin], "little")
        kind, stated = header >> 1 & 3, header >> 3
        size = 1 if kind == _SAME else stated
        if size > _BLOCK:
            raise ZstdError(f"a block of {size:,} bytes, and {_BLOCK:,} are the most")
        if begin + size > len(self._given):
            return None
        self._at = begin + size
        self._last = bool(header & 1)
        return size if kind == _AS_IT_IS else self._block_most

    def _begin(self) -> bool:
        """Pass over what holds no data, and read a frame's header; False where more is needed."""
        while True:
            skipped = min(self._skip, len(self._given) - self._at)
            self._at, self._skip = self._at + skipped, self._skip - skipped
            head = self._given[self._at : self._at + _LONGEST_HEADER]
            self.begun = bool(self._skip or head)
            if self._skip or len(head) < 8:
                return False
            if not is_skippable(head):
                break
            self._skip = 8 + int.from_bytes(head[4:8], "little")
        if not head.startswith(MAGIC):
            raise ZstdError("no frame begins here")
        header = _header(head)
        if header is None:
            return False
        size, window, self._checked = header
        self._block_most = min(_BLOCK, max(window, _SMALLEST_WINDOW))
        self._frame, self._error = _new_frame()
        self._unpacked(head[:size])
        self._at += size
        return True


def _header(head: bytes) -> tuple[int, int, bool] | None:
    """Read what a frame says of itself (RFC 8878, 3.1.1.1); None where it goes on.

    Gives its own bytes, how many the frame refers back to, and whether it ends with a checksum.
    """
    descriptor = head[4]
    is_one_segment = bool(descriptor & 32)
    number = (0, 1, 2, 4)[descriptor & 3]
    content = (0, 2, 4, 8)[descriptor >> 6] or int(is_one_segment)
    begin = 5 if is_one_segment else 6
    end = begin + number + content
    if len(head) < end:
        return None
    if is_one_segment:  # the window is all of its content
        window = int.from_bytes(head[end - content : end], "little") + 256 * (content == 2)
    else:
        base = 1 << 10 + (head[5] >> 3)
        window = base + base // 8 * (head[5] & 7)
    if window > MOST_WINDOW:
        raise CannotUnpackError(
            f"takes {format_size(window)} of memory to unpack; zstd -d takes no more than "
            f"{format_size(MOST_WINDOW)} unless it is told so",
            "Pack it again with a smaller window; or unpack it (zstd -d --long=31), and look "
            "at what comes out.",
        )
    if dictionary := int.from_bytes(head[begin : begin + number], "little"):
        raise CannotUnpackError(
            f"was packed with a zstd dictionary (number {dictionary}), which is not at hand",
            "Unpack it (zstd -d -D DICTIONARY), and look at what comes out.",
        )
    return end, window, bool(descriptor & 4)


def _new_frame() -> tuple[Any, type[Exception]]:
    """Give what unpacks one frame, and what it raises."""
    with contextlib.suppress(ImportError):
        module = importlib.import_module("compression.zstd")
        return module.ZstdDecompressor(), module.ZstdError
    try:
        import zstandard
    except ImportError as error:
        raise CannotUnpackError(
            f"is packed with zstd, and zstandard, which unpacks it, cannot be imported: {error}",
            "Install it:  pip install zstandard",
        ) from error
    unpacker = zstandard.ZstdDecompressor(max_window_size=MOST_WINDOW)
    return unpacker.decompressobj(), zstandard.ZstdError
