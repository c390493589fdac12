"""What a cached file holds, by its bytes and not by its name, and whether all of it is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from preflight.formats.arrays import npy, safetensors
from preflight.formats.arrays.npz import Arrays, names_of
from preflight.formats.by_name import (
    IS_CALLED,
    MAY_HOLD,
    NUMPY,
    SAFETENSORS,
    TORCH,
    is_foreign,
    wanted,
)
from preflight.formats.bytes import causes
from preflight.formats.bytes.blocks import BLOCK, HeldBytes, LongRead, Read, reads_every, teller_of
from preflight.formats.bytes.crc import crc32_for
from preflight.formats.bytes.damaged import DamagedError
from preflight.formats.bytes.flaw import Flaw
from preflight.formats.magic import HEAD, said_by_server, what_is, with_article
from preflight.formats.packing import gzipped
from preflight.formats.torch import legacy, torchfile
from preflight.formats.torch.pickles import WalkedPickle, walk
from preflight.formats.torch.quick import read_whole
from preflight.formats.zip import archive
from preflight.formats.zip.directory import (
    END_MAGIC,
    MAGIC,
    ZipDirectory,
    goes_on,
    read_archive,
    refuse_unopened,
    torch_finds,
)
from preflight.values.names import shown

_BEGINNINGS = (
    (MAGIC, "zip"),
    (END_MAGIC, "zip"),
    (npy.MAGIC, "npy"),
    (b"\x1f\x8b\x08", "gzip"),
)


class StoredFile(NamedTuple):
    """What a file holds."""

    format: str
    """`torch zip`, `torch legacy`, `npz`, `npy`, `safetensors`, `gzip`, `pickle`, `zip` or
    `unknown`."""

    flaw: Flaw | None = None
    verified: bool = False
    """Whether checksums were there and all of them agreed."""

    globals: tuple[str, ...] = ()
    """What a pickle in it names that torch.load refuses with weights_only, as `Walked` has it."""

    unread: str | None = None
    """What of it was not looked at, since it is too much or packed in an unknown way."""

    dtype: str = ""
    """Of a numpy array, the type of its elements; empty where it is no plain one."""

    behind: int = 0
    """Bytes behind a numpy array that are no further one."""

    arrays: tuple[str, ...] = ()
    """The names of the arrays of an `.npz`, of the tensors of safetensors, or the keys of a dict
    that torch saved, where they are few."""


def look(read: Read, size: int, suffix: str) -> StoredFile:
    """Read a file once, and say what it holds and what is wrong with it.

    Raises:
        OSError: it cannot be read, or there is more of it than is looked at.
    """
    if not size:
        return _not_whole("unknown", "empty", "is empty: most likely killed between open and write")
    head = bytes(read(0, HEAD))
    kind = _format_of(head, size, suffix)
    allowed = MAY_HOLD.get(suffix)
    if kind in _CHECKS and (allowed is None or kind in allowed):
        return _checked(kind, read, size)
    if kind == "zip":
        return _look_at_zip(read, size, head, suffix)
    if kind == "unknown":
        return _look_at_unknown(read, size, head, suffix)
    return _foreign(kind, suffix)


def look_at_whole(
    content: memoryview, suffix: str, tell: Callable[[], None] = lambda: None
) -> StoredFile:
    """Look at a file that is held whole, as `look` does; `tell` is called where that takes long."""
    if suffix in TORCH:
        whole = read_whole(content, crc32_for(len(content)), tell)
        if whole is not None:
            return StoredFile("torch zip", None, *whole[:2], arrays=whole.keys)
    return look(HeldBytes(content, tell), len(content), suffix)


def _format_of(head: bytes, size: int, suffix: str) -> str:
    """Tell a format by its beginning; a file may be cut inside of that."""
    if safetensors.is_safetensors(head, size) or (suffix == SAFETENSORS and head[8:9] == b"{"):
        return "safetensors"
    if legacy.legacy_start(head) is not None:
        return "torch legacy"
    for magic, kind in _BEGINNINGS:
        if head[: len(magic)] == magic[: len(head)]:
            return kind
    if head[:1] == b"\x80" and head[1:2] in (b"", b"\2", b"\3", b"\4", b"\5"):
        return "pickle"
    return "unknown"


def _checked(kind: str, read: Read, size: int) -> StoredFile:
    try:
        return _CHECKS[kind](read, size)
    except DamagedError as error:
        return StoredFile(kind, _with_guess(error.flaw, size))


def _with_guess(flaw: Flaw, size: int) -> Flaw:
    """Say of a file that ends with a page how that may have come about."""
    if flaw.kind != "cut" or size % causes.PAGE or "most likely" in flaw.text:
        return flaw
    return replace(flaw, text=f"{flaw.text}: {causes.MID_WRITE}")


def _look_at_zip(read: Read, size: int, head: bytes, suffix: str) -> StoredFile:
    of_torch = suffix in TORCH or torchfile.looks_like_torch(head)
    kind = "torch zip" if of_torch else "npz" if suffix in NUMPY else "zip"
    try:
        parts = read_archive(read, size)
        kind = _kind_of_zip(parts)
        if suffix in MAY_HOLD and kind not in MAY_HOLD[suffix]:
            return _foreign(kind, suffix)
        if kind == "torch zip":
            if not torch_finds(parts, size):
                raise goes_on(size, parts.end)
            whole = torchfile.check_zip(read, parts)
            return StoredFile(kind, None, *whole[:3], arrays=whole.keys)
        refuse_unopened(read, parts, size)
        arrays = Arrays()
        contents = archive.read_records(read, parts, lambda _: False, arrays.look, may_lack=False)
        left = archive.told_unread(parts, contents.unread)
        held = StoredFile(kind, arrays.bomb, contents.verified, arrays.names, left)
        return held._replace(arrays=names_of(parts) if kind == "npz" else ())
    except DamagedError as error:
        flaw = error.flaw
        least = torchfile.least_size(read, size) if flaw.kind == "cut" else None
        if least is not None:
            text = f"ends at {size:,} of at least {least:,} bytes"
            flaw = replace(flaw, text=text, member=None)
        return StoredFile(kind, _with_guess(flaw, size))


def _kind_of_zip(parts: ZipDirectory) -> str:
    if torchfile.is_torch(parts):
        return "torch zip"
    names = [one.name for one in parts.records]
    return "npz" if names and all(name.endswith(b".npy") for name in names) else "zip"


def _foreign(kind: str, suffix: str) -> StoredFile:
    return _not_whole(kind, "foreign", f"is {IS_CALLED[kind]}, not {wanted(suffix)}")


def _not_whole(kind: str, flaw: str, text: str) -> StoredFile:
    return StoredFile(kind, Flaw(kind=flaw, text=text, offset=0))


def _look_at_unknown(read: Read, size: int, head: bytes, suffix: str) -> StoredFile:
    """Judge a beginning that is none of the formats', as far as its name allows."""
    name = what_is(head)
    if suffix in MAY_HOLD and (said := said_by_server(head, size)) is not None:
        text = f"is what a server says in place of a file ({shown(said)}), not {wanted(suffix)}"
        return _not_whole("unknown", "foreign", text)
    if name == "run of zero bytes" and suffix in MAY_HOLD:
        return _look_at_zeros(read, size, suffix)
    if name is not None and is_foreign(name, suffix):
        return _not_whole("unknown", "foreign", f"is {with_article(name)}, not {wanted(suffix)}")
    if suffix == SAFETENSORS:
        return _checked("safetensors", read, size)
    if suffix in NUMPY and b"'descr'" in head[:128]:
        text = f"has a numpy header that does not begin as one, but with {head[:6].hex(' ')}"
        return _not_whole("npy", "structure", text)
    if (suffix in TORCH or suffix == ".npz") and name in (None, "text file"):
        strange = f"begins with the bytes {head[:4].hex(' ')}, and so is not {wanted(suffix)}"
        otherwise = _not_whole("unknown", "foreign", strange)
        may_be_own = suffix in TORCH and name is not None
        return _look_at_old_pickle(read, size, StoredFile("unknown") if may_be_own else otherwise)
    return StoredFile("unknown")


def _look_at_old_pickle(read: Read, size: int, otherwise: StoredFile) -> StoredFile:
    """Take a pickle of protocol 0 or 1, which has no beginning of its own, for what it is.

    One of protocol 0 is a text, and may have more behind its end; no other text passes for one that
    names something.
    """
    try:
        pickle = walk(read, 0, size)
        if pickle.end in (size, None) or (otherwise.flaw is None and pickle.globals):
            return _walked("pickle", pickle, size)
    except DamagedError:
        pass
    return otherwise


def _look_at_zeros(read: Read, size: int, suffix: str) -> StoredFile:
    """Count the zero bytes at the beginning, as a crash of the machine leaves them."""
    zeros = 0
    while zeros < size:
        if isinstance(read, LongRead):
            data = read.next_data(zeros)
            zeros = size if data is None else min(data, size)
        block = read(zeros, min(BLOCK, size - zeros))
        rest = bytes(block).lstrip(b"\0")
        zeros += len(block) - len(rest)
        if rest or not block:
            break
    if zeros == size:
        text = f"is {size:,} zero bytes: its content most likely never reached the disk"
    elif suffix == ".npy":
        return StoredFile("unknown")  # a raw array may begin so
    else:
        text = f"begins with {zeros:,} zero bytes, and so is not {wanted(suffix)}"
    return _not_whole("unknown", "zeros", text)


def _walked(kind: str, pickle: WalkedPickle, size: int) -> StoredFile:
    return StoredFile(kind, globals=pickle.globals, unread=pickle.told_left(size))


def _check_npy(read: Read, size: int) -> StoredFile:
    pickle = npy.check(read, size)
    if pickle is not None:
        return _walked("npy", pickle, size)
    behind, dtype = npy.behind(read, size)
    return StoredFile("npy", dtype=dtype, behind=behind)


def _check_safetensors(read: Read, size: int) -> StoredFile:
    return StoredFile("safetensors", arrays=safetensors.check(read, size))


def _check_legacy(read: Read, size: int) -> StoredFile:
    return StoredFile("torch legacy", None, False, *legacy.check_legacy(read, size))  # noqa: FBT003


def _check_pickle(read: Read, size: int) -> StoredFile:
    if legacy.lost_legacy_magic(bytes(read(0, HEAD))):
        text = "is a file of torch.save that begins with a wrong magic number"
        raise DamagedError("structure", text, offset=4)
    return _walked("pickle", walk(read, 0, size), size)


def _check_gzip(read: Read, size: int) -> StoredFile:
    if not reads_every(read):
        return StoredFile("gzip")
    return StoredFile(
        "gzip", None, *gzipped.check(read, size, partial(_look_inside, teller_of(read)))
    )


def _look_inside(tell: Callable[[], None], content: bytes) -> tuple[tuple[str, ...], str | None]:
    """Judge what was compressed, where it is one of torch's or numpy's formats."""
    if not content:
        raise DamagedError("empty", "is a gzip stream of nothing", offset=0)

    if content.startswith(b"\x1f\x8b"):
        return (), "the gzip stream in its gzip stream"  # this could go on without end
    inside = look(HeldBytes(content, tell), len(content), "")
    if inside.flaw is not None:
        text = f"is a gzip stream; what is in it {inside.flaw.text}"
        raise DamagedError(inside.flaw.kind, text)
    return inside.globals, inside.unread


_CHECKS: dict[str, Callable[[Read, int], StoredFile]] = {
    "gzip": _check_gzip,
    "npy": _check_npy,
    "pickle": _check_pickle,
    "safetensors": _check_safetensors,
    "torch legacy": _check_legacy,
}
