"""Remembers the form of an archive's directory, so that its like is read in one step.

The directories of one cache mostly differ in checksums, sizes, places and names only. Where these
stand in one of them, they stand in all that are equal everywhere else.
"""

from __future__ import annotations

import struct
from typing import NamedTuple, TypeAlias

from preflight.formats.archive import DESCRIBED_BEHIND, FOLDER, UNREADABLE_FLAGS
from preflight.formats.archive_directory import ENTRY_MAGIC

_ENTRY = struct.Struct("<4s4x2H4x3L4H2x2L")

ENTRY_SIZE = _ENTRY.size
"""Bytes of an entry, without its name and what follows that."""

# Of an entry, what may differ: times, checksum and sizes; what its writer says of the inside of a
# file; the place. And the same fields to be read: checksum, bytes stored, bytes, place.
_MAY_DIFFER = ((12, 28), (36, 38), (42, 46))
_READ = "16x3L14xL"

# Directories of other lengths than that are read anew each time, and so many forms are kept.
_LONGEST = 1 << 14
_MOST_FORMS = 512

# Forms that are learned before it is asked whether any of them came again.
_TRIED = 64

Record: TypeAlias = tuple[int, int, int, int, bytes]
"""Its checksum, the bytes that it takes, those that were put in, its place, and its name."""


class _Form(NamedTuple):
    """A directory without what may differ."""

    mask: int
    """All its bytes as one number: 255 where they count."""

    rest: int
    """What the others are, as one number."""

    fields: struct.Struct

    described: bool
    """Whether a record is described behind its bytes, as torch does with none that is empty."""


class Directories:
    """Reads directories of which every entry is as torch.save writes it."""

    __slots__ = ("_forms", "_known", "_learned")

    def __init__(self) -> None:
        self._forms: dict[int, _Form] = {}
        self._learned = 0
        self._known = 0

    def records(self, directory: bytes, count: int) -> list[Record] | None:
        """Give the records in their order; None where an entry is not as usual.

        Args:
            directory: all its bytes.
            count: the entries in it.
        """
        form = self._forms.get(len(directory))
        if form is not None and int.from_bytes(directory, "little") & form.mask == form.rest:
            values = iter(form.fields.unpack(directory))
            records = list(zip(values, values, values, values, values, strict=True))
            if len(records) == count and not (form.described and _some_empty(records)):
                self._known += 1
                return records
        found = _read(directory, count)
        if found is not None and self._known >= self._learned - _TRIED:
            self._learn(directory)
        return found

    def _learn(self, directory: bytes) -> None:
        if len(directory) > _LONGEST:
            return
        if len(self._forms) >= _MOST_FORMS:
            self._forms.clear()
        self._learned += 1
        self._forms[len(directory)] = _form_of(directory)


def _some_empty(records: list[Record]) -> bool:
    return any(not size for _, _, size, _, _ in records)


def _read(directory: bytes, count: int) -> list[Record] | None:
    records: list[Record] = []
    after = 0
    for _ in range(count):
        at = after + ENTRY_SIZE
        if at > len(directory):
            return None
        magic, flags, method, checksum, stored, size, *more = _ENTRY.unpack_from(directory, after)
        name_size, extra_size, comment_size, disk, attributes, offset = more
        not_usual = UNREADABLE_FLAGS if size else UNREADABLE_FLAGS | DESCRIBED_BEHIND
        if magic != ENTRY_MAGIC or flags & not_usual or method or disk or attributes & FOLDER:
            return None
        records.append((checksum, stored, size, offset, directory[at : at + name_size]))
        after = at + name_size + extra_size + comment_size
    return records if after == len(directory) else None


def _form_of(directory: bytes) -> _Form:
    """Take the form of a directory that was read to its end."""
    mask = bytearray(b"\xff") * len(directory)
    fields, described, at = "<", False, 0
    while at < len(directory):
        _, flags, _, _, _, _, name_size, *others, _, _, _ = _ENTRY.unpack_from(directory, at)
        described = described or bool(flags & DESCRIBED_BEHIND)
        for begin, end in _MAY_DIFFER:
            mask[at + begin : at + end] = bytes(end - begin)
        at += ENTRY_SIZE
        end = at + name_size + sum(others)
        mask[at:end] = bytes(end - at)
        fields += f"{_READ}{name_size}s{end - at - name_size}x"
        at = end
    as_number = int.from_bytes(mask, "little")
    rest = int.from_bytes(directory, "little") & as_number
    return _Form(as_number, rest, struct.Struct(fields), described)
