"""Files of torch.save: a zip archive since PyTorch 1.6, a row of pickles and storages before.

Layout as in torch/serialization.py (`_save` and `_legacy_save`) of PyTorch 2.13.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from preflight.formats.bytes import causes
from preflight.formats.bytes.blocks import Read, exactly, pass_over
from preflight.formats.bytes.damaged import DamagedError
from preflight.formats.torch.pickle_globals import FRAMED
from preflight.formats.torch.pickle_machine import MOST_DANGEROUS, Storage
from preflight.formats.torch.pickles import WalkedPickle, walk, walk_bytes
from preflight.formats.zip import archive
from preflight.formats.zip.directory import ZipDirectory
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

# Bytes of an element. A kind that is not here is of a later torch, and its size is not judged.
_ELEMENT = {
    **dict.fromkeys(("BoolStorage", "ByteStorage", "CharStorage", "UntypedStorage"), 1),
    **dict.fromkeys(("QInt8Storage", "QUInt2x4Storage", "QUInt4x2Storage", "QUInt8Storage"), 1),
    **dict.fromkeys(("BFloat16Storage", "HalfStorage", "ShortStorage"), 2),
    **dict.fromkeys(("FloatStorage", "IntStorage", "QInt32Storage"), 4),
    **dict.fromkeys(("ComplexFloatStorage", "DoubleStorage", "LongStorage"), 8),
    "ComplexDoubleStorage": 16,
}

# Records that only torch's writers make: torch.save, TorchScript, torch.package, torch.export.
_TORCH_NAMES = (b"/data.pkl", b"/constants.pkl", b"/version", b"/byteorder", b"/archive_format")
_DATA_PICKLE = b"/data.pkl"

# Records that torch.save writes before and behind its pickle and storages.
_AROUND = frozenset(
    {b"version", b"byteorder", b".format_version", b".storage_alignment", b".data/serialization_id"}
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


def is_torch(parts: ZipDirectory) -> bool:
    """Whether an archive is one of torch's."""
    return any(one.name.endswith(_TORCH_NAMES) or b"/.data/" in one.name for one in parts.records)


def looks_like_torch(head: bytes) -> bool:
    """Whether the first record of a zip archive, as far as it is here, has a name of torch's."""
    name = head[30 : 30 + int.from_bytes(head[26:28], "little")]
    return name.endswith(_TORCH_NAMES) or b"/data/" in name or b"/.data/" in name


def check_zip(read: Read, parts: ZipDirectory) -> tuple[bool, tuple[str, ...], str | None]:
    """Read every record, and hold the storages that the pickle names against them.

    Gives whether there were checksums, all of which agreed; what torch.load refuses in the pickle;
    and what was not read, as `told_unread` has it.

    Raises:
        DamagedError: `structure`, `checksum`, `storage` or `unfinished`.
    """
    root = parts.records[0].name.partition(b"/")[0]
    archive.refuse_twins(parts)
    _refuse_unopened(parts, root)
    contents = archive.read_records(read, parts, lambda one: one.name == root + _DATA_PICKLE)
    left = contents.unread
    if any(b"/code/" in one.name for one in parts.records):
        # TorchScript, whose reader is another
        return contents.verified, (), archive.told_unread(parts, left)
    walked = WalkedPickle(end=None)
    for pickle in contents.kept.values():  # of one record at most: torch looks in one folder only
        walked = _walk_record(pickle)
        _check_storages(parts, root, walked)
    if not contents.kept:
        _refuse_without_pickle(parts, root)
    if walked.end is None:
        pickles = (one for one in parts.records if one.name == root + _DATA_PICKLE)
        left = tuple(dict.fromkeys((*left, *pickles)))
    return contents.verified, refused_in(walked), archive.told_unread(parts, left)


def _refuse_unopened(parts: ZipDirectory, root: bytes) -> None:
    """Refuse what torch does not open: it was packed again, with more than there was."""
    outside = next((one for one in parts.records if not one.name.startswith(root + b"/")), None)
    if outside is not None:
        name = archive.name_in(parts, outside)
        text = f"holds a record, {name}, outside of the folder that torch puts all of them in"
        raise DamagedError("structure", text, offset=outside.offset, member=name)


def refused_in(walked: WalkedPickle) -> tuple[str, ...]:
    """Give what some torch.load refuses with weights_only in a pickle of torch.save's."""
    return (*walked.globals, *walked.taken, *([FRAMED] if walked.framed else ()))


def _refuse_without_pickle(parts: ZipDirectory, root: bytes) -> None:
    """Refuse what torch.save leaves where pickling raises: an archive with all but its content.

    torch.package and torch.export have records of other names, and no data.pkl either.
    """
    names = {one.name.removeprefix(root + b"/") for one in parts.records}
    if names <= _AROUND:
        text = f"holds no data.pkl, so nothing was saved in it: {causes.STOPPED}"
        raise DamagedError("unfinished", text, member="data.pkl")


def _walk_record(pickle: bytes) -> WalkedPickle:
    try:
        return walk_bytes(pickle)
    except DamagedError as error:
        text = f"holds {counted(len(pickle), 'byte')} in data.pkl that are no whole pickle"
        raise DamagedError("structure", text, member="data.pkl") from error


def _check_storages(parts: ZipDirectory, root: bytes, walked: WalkedPickle) -> None:
    misfit = misfit_of(walked, root, {one.name: one.length for one in parts.records})
    if misfit is None:
        return
    name = f"data/{shown(misfit.key)}"
    if misfit.length is None:
        text = f"lacks the record {name}, which its pickle names"
        sums = {one.name: one.checksum for one in parts.records}
        if sums[root + _DATA_PICKLE]:  # pickle and directory are of one writer: they agree
            raise DamagedError("unfinished", f"{text}: {causes.STOPPED}", member=name)
    else:
        there = counted(misfit.length, "byte")
        text = f"holds {there} in {name}; its pickle speaks of {misfit.wanted:,}"
    raise DamagedError("storage", f"{text}: {causes.SEVERAL}", member=name)


class Misfit(NamedTuple):
    """A storage that is not there (None), or of another length than the pickle says."""

    key: str
    length: int | None
    wanted: int | None


def misfit_of(walked: WalkedPickle, root: bytes, lengths: Mapping[bytes, int]) -> Misfit | None:
    """Find the first storage that a pickle names, and whose record is not as it says."""
    for storage in walked.storages:
        record = b"%s/data/%s" % (root, storage.key.encode("utf-8", "surrogatepass"))
        length, wanted = lengths.get(record), _bytes_of(storage)
        if length is None or wanted not in (None, length):
            return Misfit(storage.key, length, wanted)
    return None


def _bytes_of(storage: Storage) -> int | None:
    element = _ELEMENT.get(storage.kind)
    return None if element is None else element * storage.elements


def least_size(read: Read, size: int) -> int | None:
    """Work out how large a zip archive that was cut must have been at the least, in bytes.

    torch writes the pickle first, so what is left of the file still says how much was to come.
    """
    header = bytes(read(0, 30))
    begin = 30 + int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    if len(header) < 30 or not looks_like_torch(bytes(read(0, begin))):
        return None
    try:
        walked = walk(read, begin, size)
    except DamagedError:
        return None
    least = _end_of_storages(walked.end, walked.storages, 0)
    return least if least is not None and least > size else None


def _end_of_storages(start: int | None, storages: Iterable[Storage], each: int) -> int | None:
    """Add up where the storages end that follow, each with so many bytes in front of it."""
    if start is None:
        return None
    for size in {one.key: _bytes_of(one) for one in storages}.values():
        if size is None or size < 0:
            return None
        start += each + size
    return start


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
    storages: dict[str, Storage] = {}
    names: dict[str, None] = {}
    left: str | None = None
    for _ in ("protocol version", "system", "object", "keys"):
        if at is None:
            break
        walked = walk(read, at, size)
        _put_once(storages, walked.storages)
        names.update(dict.fromkeys(refused_in(walked)))
        left = walked.told_left(size)
        at, texts = walked.end, walked.texts
    whole = _end_of_storages(at, storages.values(), 8)
    if whole is not None and whole > size:
        text = f"ends at {size:,} of {whole:,} bytes"
        raise DamagedError("cut", text, offset=size)
    lacking = next(iter(storages.keys() - set(texts)), None) if texts else None
    if at is not None and lacking is not None:
        text = f"lacks the storage {shown(lacking)}, which its pickle names"
        raise DamagedError("storage", text, member=f"storage {shown(lacking)}")
    for key in texts:
        if at is None:
            break
        at = _check_legacy_storage(read, at, storages.get(key), key)
    return tuple(names)[:MOST_DANGEROUS], left


def _put_once(storages: dict[str, Storage], named: Iterable[Storage]) -> None:
    """Add the storages that a pickle names; of one that several tensors share it says the same."""
    for one in named:
        if storages.setdefault(one.key, one) != one:
            name = f"storage {shown(one.key)}"
            text = f"holds a pickle that names {name} twice, and not alike"
            raise DamagedError("storage", text, member=name)


def _check_legacy_storage(read: Read, at: int, storage: Storage | None, key: str) -> int | None:
    """Read one storage: its elements as 8 bytes, then its bytes. Gives where the next begins."""
    name = f"storage {shown(key)}"
    if storage is None:
        text = f"holds a {name} that its pickle does not name"
        raise DamagedError("storage", text, offset=at, member=name)
    wanted = _bytes_of(storage)
    if wanted is None:
        return None
    count = int.from_bytes(exactly(read, at, 8), "little")
    if count != storage.elements:
        text = f"holds {count:,} elements in {name}; its pickle speaks of {storage.elements:,}"
        raise DamagedError("storage", text, offset=at, member=name)
    pass_over(read, at + 8, wanted)
    return at + 8 + wanted
