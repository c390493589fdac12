"""A cached file that was packed with gzip, as a trainer's option does it, under its old name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from preflight.formats.bytes import causes
from preflight.formats.bytes.blocks import BLOCK, Read, blocks, teller_of
from preflight.formats.bytes.damaged import DamagedError
from preflight.formats.packing.inflated import MOST_TIMES
from preflight.formats.packing.packed import Packed
from preflight.values.byte_sizes import format_size
from preflight.values.names import counted

# Bytes of what was packed that are held, to be looked into.
_MOST_LOOKED_INTO = 1 << 25

_MAGIC = b"\x1f\x8b"

LookInside: TypeAlias = Callable[[bytes], tuple[tuple[str, ...], str | None]]
"""Gives the globals that what was packed names, and what of it was not looked at; or raises
DamagedError."""


def check(
    read: Read, size: int, look_inside: LookInside
) -> tuple[bool, tuple[str, ...], str | None]:
    """Unpack a stream to its end, and look into what is not too large to be held.

    Gives whether it was unpacked to its end and agrees with its checksum, the globals that it names
    and what of it was not looked at, with its sizes.

    Raises:
        DamagedError: `checksum` or `cut`; or what `look_inside` raises.
    """
    tell = teller_of(read)
    stream = Packed(read, "gzip stream", every=True, times=MOST_TIMES, tell=tell)
    held: list[bytes] | None = []
    unpacked = 0
    while piece := stream.read(unpacked, BLOCK):
        unpacked += len(piece)
        if held is not None:
            held.append(piece)
        if unpacked > _MOST_LOOKED_INTO:
            held = None
    if stream.error is not None:
        text = _with_cause(read, stream, f"is a gzip stream with wrong bytes: {stream.error}")
        raise DamagedError("checksum", text, offset=stream.position)
    if stream.endless:  # of zeros, mostly
        far = f"{format_size(stream.unpacked)} from its first {format_size(stream.position)}"
        return False, (), f"its gzip stream, of which {far} were unpacked"
    if not stream.ended:
        text = _with_cause(read, stream, f"ends at {size:,} bytes, inside its gzip stream")
        raise DamagedError("cut", text, offset=size)
    if _is_further_stream(read, size, size if stream.end is None else stream.end):
        return False, (), "a gzip stream that stands behind zero bytes"
    if held is None:
        sizes = f"{format_size(unpacked)} from {format_size(size)}"
        return True, (), f"what is in its gzip stream, {sizes}"
    return True, *look_inside(b"".join(held))


def _is_further_stream(read: Read, size: int, end: int) -> bool:
    """Whether another stream stands behind zeros, with which the last one may be filled up."""
    for block in blocks(read, end, size - end):
        rest = bytes(block).lstrip(b"\0")
        if rest.startswith(_MAGIC):
            return True
        if rest:
            text = f"goes on for {counted(size - end, 'byte')} behind the end of its gzip stream"
            raise DamagedError("trailing", text + causes.of_rest(size - end), offset=end)
    return False


def _with_cause(read: Read, stream: Packed, text: str) -> str:
    packed = stream.position
    unpacked = stream.unpacked or packed + 1  # of a first piece that is wrong, none was given
    cause = causes.of_packed_bytes(read, 0, packed, unpacked)
    return text if cause is None else f"{text}: {cause}"
