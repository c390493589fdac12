"""Files of torch.save from before PyTorch 1.6, or without the zip format: pickles and storages.

Layout as in torch/serialization.py (`_legacy_save`) of PyTorch 2.13. There are no checksums: what
is told is what does not agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from preflight.formats.bytes.blocks import Read, exactly, pass_over
from preflight.formats.bytes.damaged import DamagedError
from preflight.formats.torch.laid_out import ELEMENT, bytes_of, refuse_misfits
from preflight.formats.torch.pickle_globals import is_device
from preflight.formats.torch.pickle_machine import MOST_DANGEROUS, Rebuilt, Storage
from preflight.formats.torch.pickles import walk
from preflight.formats.torch.torchfile import end_of_storages, refused_in
from preflight.values.names import counted, shown

# What a file of torch.save begins with before PyTorch 1.6, or without the zip format: a pickle of
# the number 0x1950A86A20F9469CFC6C, of which protocol and frame stand before this.
_LEGACY_MAGIC = b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."

# The same of protocol 0 or 1, which has neither in front of it.
_LEGACY_TEXT = b"L119547037146038801333356L\n."

# The pickle behind that, of the number 1001: the only version of the format that there is.
_LEGACY_VERSION = b"M\xe9\x03."
_LEGACY_VERSIONS = (_LEGACY_VERSION, b"I1001\n.")

# The two of them, whatever the number is that comes first.
_LIKE_LEGACY = re.compile(
    rb"\x80.(?:\x95.{8})?\x8a\n.{10}\.\x80.(?:\x95.{8})?" + re.escape(_LEGACY_VERSION), re.DOTALL
)


def legacy_start(head: bytes) -> int | None:
    """Where a file from before the zip format goes on behind its magic number; None: it is none."""
    if head.startswith(_LEGACY_TEXT):
        return len(_LEGACY_TEXT)
    at = head[:32].find(_LEGACY_MAGIC)
    return at + len(_LEGACY_MAGIC) if at > 0 and head[:1] == b"\x80" else None


def lost_legacy_magic(head: bytes) -> bool:
    """Whether a file that begins so would be one from before the zip format but for its magic."""
    return _LIKE_LEGACY.match(head) is not None


def check_legacy(read: Read, size: int) -> tuple[tuple[str, ...], str | None]:
    """Follow the pickles and storages of a file from before the zip format, which has no checksums.

    torch.load does not mind what stands behind the last storage, so neither does this. Gives what
    it refuses in the pickles, and what was not walked to its end.

    Raises:
        DamagedError: `cut`, `structure` or `storage`.
    """
    head = bytes(read(0, 64))
    at = legacy_start(head)
    known = at is None or any(version in head[at : at + 15] for version in _LEGACY_VERSIONS)
    if len(head) == 64 and not known:
        text = "has a version behind its magic number that torch does not know"
        raise DamagedError("structure", text, offset=at)
    texts: tuple[str, ...] = ()
    misfits: list[Rebuilt] = []
    storages: dict[str, Storage] = {}
    names: dict[str, None] = {}
    left: str | None = None
    for _ in ("protocol version", "system", "object", "keys"):
        if at is None:
            break
        walked = walk(read, at, size)
        misfits += walked.misfits
        _put_once(storages, walked.storages)
        names.update(dict.fromkeys(refused_in(walked)))
        left = walked.told_left(size)
        at, texts = walked.end, walked.texts
    if at is not None:
        _check_storages(read, size, at, _Named(storages, tuple(misfits), texts))
    return tuple(names)[:MOST_DANGEROUS], left


class _Named(NamedTuple):
    """What the pickles of a file name."""

    storages: Mapping[str, Storage]
    misfits: tuple[Rebuilt, ...]
    keys: tuple[str, ...]
    """Of storages, in the order in which they follow."""


def _check_storages(read: Read, size: int, at: int, named: _Named) -> None:
    """Hold the storages, which begin here, against what the pickles say of them."""
    storages, misfits, texts = named
    whole = end_of_storages(at, storages.values(), 8)
    if whole is not None and whole > size:
        text = f"ends at {size:,} of {whole:,} bytes"
        raise DamagedError("cut", text, offset=size)
    untyped = next((one for one in storages.values() if one.kind == "UntypedStorage"), None)
    if untyped is not None:
        text = (
            f"holds storage {shown(untyped.key)} as bytes without a type (UntypedStorage), which "
            "torch.save writes into this old format, and torch.load cannot read from it"
        )
        raise DamagedError("untyped", text, member=f"storage {shown(untyped.key)}")
    unknown = next((one for one in storages.values() if one.kind not in ELEMENT), None)
    if unknown is not None:
        name = f"storage {shown(unknown.key)}"
        text = f"names {shown(unknown.kind)} as the type of {name}, which torch does not have"
        raise DamagedError("structure", text, member=name)
    nowhere = next((one for one in storages.values() if not is_device(one.device)), None)
    if nowhere is not None:
        name = f"storage {shown(nowhere.key)}"
        text = f"names {shown(nowhere.device)!r} as the device of {name}, which torch does not know"
        raise DamagedError("structure", text, member=name)
    lacking = next(iter(storages.keys() - set(texts)), None) if texts else None
    if lacking is not None:
        text = f"lacks the storage {shown(lacking)}, which its pickle names"
        raise DamagedError("storage", text, member=f"storage {shown(lacking)}")
    refuse_misfits(misfits)
    if texts != tuple(sorted(texts)):
        text = (
            "names its storages in another order than torch.save, so each gets what is not its own"
        )
        raise DamagedError("structure", text)
    behind: int | None = at
    for key in texts:
        if behind is None:
            return
        behind = _check_storage(read, behind, storages.get(key), key)
    if behind is not None and texts:
        _refuse_rest(read, behind, size, storages[texts[-1]])


def _put_once(storages: dict[str, Storage], named: Iterable[Storage]) -> None:
    """Add the storages that a pickle names; of one that several tensors share it says the same."""
    for one in named:
        if storages.setdefault(one.key, one) != one:
            name = f"storage {shown(one.key)}"
            text = f"holds a pickle that names {name} twice, and not alike"
            raise DamagedError("storage", text, member=name)


def _check_storage(read: Read, at: int, storage: Storage | None, key: str) -> int | None:
    """Read one storage: its elements as 8 bytes, then its bytes. Gives where the next begins."""
    name = f"storage {shown(key)}"
    if storage is None:
        text = f"holds a {name} that its pickle does not name"
        raise DamagedError("storage", text, offset=at, member=name)
    wanted = bytes_of(storage)
    if wanted is None:
        return None
    count = int.from_bytes(exactly(read, at, 8), "little")
    if count != storage.elements:
        text = f"holds {count:,} elements in {name}; its pickle speaks of {storage.elements:,}"
        raise DamagedError("storage", text, offset=at, member=name)
    pass_over(read, at + 8, wanted)
    return at + 8 + wanted


def _refuse_rest(read: Read, at: int, size: int, last: Storage) -> None:
    """Refuse what is left of a storage that is said to be of smaller elements than it has.

    Other bytes may stand behind a file of torch.save, such as a second one.
    """
    left, own = size - at, ELEMENT.get(last.kind)
    if own is None or not left or last.elements <= 0 or left % last.elements:
        return
    if left // last.elements + own in ELEMENT.values() and bytes(read(at, 1)) != b"\x80":
        name = f"storage {shown(last.key)}"
        element = last.kind.removesuffix("Storage")
        text = (
            f"goes on for {counted(left, 'byte')} behind its last storage, as if that had elements "
            f"of {left // last.elements + own} bytes, and not of type {element} ({own})"
        )
        raise DamagedError("storage", text, offset=at, member=name)
