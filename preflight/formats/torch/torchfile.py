"""Files of torch.save: a zip archive since PyTorch 1.6.

Layout as in torch/serialization.py (`_save`) of PyTorch 2.13.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from preflight.formats.bytes import causes
from preflight.formats.bytes.blocks import Read, teller_of
from preflight.formats.bytes.damaged import DamagedError
from preflight.formats.torch.laid_out import bytes_of, refuse_misfits
from preflight.formats.torch.pickle_globals import DEVICE, FRAMED, is_device
from preflight.formats.torch.pickle_machine import Storage
from preflight.formats.torch.pickles import WalkedPickle, walk, walk_bytes
from preflight.formats.zip import archive
from preflight.formats.zip.directory import MAGIC, ZipDirectory
from preflight.formats.zip.local_header import name_in
from preflight.values.names import counted, shown

# Records that only torch's writers make: torch.save, TorchScript, torch.package, torch.export.
_TORCH_NAMES = (b"/data.pkl", b"/constants.pkl", b"/version", b"/byteorder", b"/archive_format")
_DATA_PICKLE = b"/data.pkl"

# Records that torch.save writes before and behind its pickle and storages.
_AROUND = frozenset(
    {b"version", b"byteorder", b".format_version", b".storage_alignment", b".data/serialization_id"}
)


def is_torch(parts: ZipDirectory) -> bool:
    """Whether an archive is one of torch's."""
    return any(one.name.endswith(_TORCH_NAMES) or b"/.data/" in one.name for one in parts.records)


def looks_like_torch(head: bytes) -> bool:
    """Whether this is a zip archive whose first record, as far as it is here, is named by torch.

    Any text has bytes where the length of that name would stand, and may speak of `/data/`.
    """
    if not head.startswith(MAGIC):
        return False
    name = head[30 : 30 + int.from_bytes(head[26:28], "little")]
    return name.endswith(_TORCH_NAMES) or b"/data/" in name or b"/.data/" in name


class TorchArchive(NamedTuple):
    """A whole archive of torch's."""

    verified: bool
    """Whether there were checksums, all of which agreed."""

    globals: tuple[str, ...] = ()
    """What torch.load refuses in its pickle."""

    unread: str | None = None
    """What was not read, as `told_unread` has it."""

    keys: tuple[str, ...] = ()
    """As `WalkedPickle` has them."""


def check_zip(read: Read, parts: ZipDirectory) -> TorchArchive:
    """Read every record, and hold the storages that the pickle names against them.

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
        return TorchArchive(contents.verified, (), archive.told_unread(parts, left))
    walked = WalkedPickle(end=None)
    for pickle in contents.kept.values():  # of one record at most: torch looks in one folder only
        walked = _walk_record(pickle, teller_of(read))
        _check_storages(parts, root, walked)
    if not contents.kept:
        _refuse_without_pickle(parts, root)
    if walked.end is None:
        pickles = (one for one in parts.records if one.name == root + _DATA_PICKLE)
        left = tuple(dict.fromkeys((*left, *pickles)))
    unread = archive.told_unread(parts, left)
    return TorchArchive(contents.verified, refused_in(walked), unread, walked.keys)


def _refuse_unopened(parts: ZipDirectory, root: bytes) -> None:
    """Refuse what torch does not open: it was packed again, with more than there was."""
    outside = next((one for one in parts.records if not one.name.startswith(root + b"/")), None)
    if outside is not None:
        name = name_in(parts, outside)
        text = f"holds a record, {name}, outside of the folder that torch puts all of them in"
        raise DamagedError("structure", text, offset=outside.offset, member=name)


def refused_in(walked: WalkedPickle) -> tuple[str, ...]:
    """Give what some torch.load refuses with weights_only in a pickle of torch.save's."""
    devices = sorted({one.device for one in walked.storages} - {"cpu"})
    strange = (DEVICE + repr(shown(one)) for one in devices if not is_device(one))
    return (*walked.globals, *walked.taken, *([FRAMED] if walked.framed else ()), *strange)


def _refuse_without_pickle(parts: ZipDirectory, root: bytes) -> None:
    """Refuse what torch.save leaves where pickling raises: an archive with all but its content.

    torch.package and torch.export have records of other names, and no data.pkl either.
    """
    names = {one.name.removeprefix(root + b"/") for one in parts.records}
    if names <= _AROUND:
        text = f"holds no data.pkl, so nothing was saved in it: {causes.STOPPED}"
        raise DamagedError("unfinished", text, member="data.pkl")


def _walk_record(pickle: bytes, tell: Callable[[], None]) -> WalkedPickle:
    try:
        return walk_bytes(pickle, tell)
    except DamagedError as error:
        text = f"holds {counted(len(pickle), 'byte')} in data.pkl that are no whole pickle"
        raise DamagedError("structure", text, member="data.pkl") from error


def _check_storages(parts: ZipDirectory, root: bytes, walked: WalkedPickle) -> None:
    misfit = wrong_storage(walked, root, {one.name: one.length for one in parts.records})
    if misfit is None:
        return refuse_misfits(walked.misfits)
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


class WrongStorage(NamedTuple):
    """A storage that is not there (None), or of another length than the pickle says."""

    key: str
    length: int | None
    wanted: int | None


def wrong_storage(
    walked: WalkedPickle, root: bytes, lengths: Mapping[bytes, int]
) -> WrongStorage | None:
    """Find the first storage that a pickle names, and whose record is not as it says."""
    for storage in walked.storages:
        record = b"%s/data/%s" % (root, storage.key.encode("utf-8", "surrogatepass"))
        length, wanted = lengths.get(record), bytes_of(storage)
        if length is None or wanted not in (None, length):
            return WrongStorage(storage.key, length, wanted)
    return None


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
    least = end_of_storages(walked.end, walked.storages, 0)
    return least if least is not None and least > size else None


def end_of_storages(start: int | None, storages: Iterable[Storage], each: int) -> int | None:
    """Add up where the storages end that follow, each with so many bytes in front of it."""
    if start is None:
        return None
    for size in {one.key: bytes_of(one) for one in storages}.values():
        if size is None or size < 0:
            return None
        start += each + size
    return start
