"""Checkpoints of torch.distributed.checkpoint: their parts, and `.metadata`, which names the items.

In a part, items lie one behind another, each an archive. Layout as in
torch/distributed/checkpoint/filesystem.py (`_write_item`) of PyTorch 2.13: torch.save writes each
item, tensors and other objects alike, and nothing stands between them.

`.metadata` is a pickle of `Metadata`, whose `storage_data` is a dict of `MetadataIndex` to
`_StorageInfo`, as in torch/distributed/checkpoint/{metadata,filesystem}.py of PyTorch 2.13 and, in
other modules, from 1.12 on. It is read by its opcodes, and nothing in it is made or called.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from preflight.formats.bytes.blocks import Read, blocks
from preflight.formats.torch.pickle_globals import is_dangerous
from preflight.formats.torch.pickle_machine import Machine, MadeObject, Name, Value
from preflight.formats.torch.pickle_opcodes import with_effects
from preflight.formats.torch.pickles import walk
from preflight.formats.zip.directory import END, END64, END_MAGIC, ENTRY_MAGIC, LOCATOR, MAGIC

# The end records of an archive of torch's: zip64's, its locator, and the one of all archives.
_ENDS = END64.size + LOCATOR.size + END.size


class Item(NamedTuple):
    """A stretch of a part."""

    begin: int
    end: int


def whole_items(read: Read, size: int) -> list[Item]:
    """Give the archives of a part that have an end, in order; between them may be something else.

    From the end of the part each archive tells where it begins, and so where the one before it
    ends. Where that chain is broken, all that is left is searched for ends.
    """
    found = list(items_from_end(read, size))
    end = found[-1].begin if found else size
    if end and bytes(read(0, len(MAGIC))) == MAGIC:
        found += reversed(_searched(read, end))
    return found[::-1]


def items_from_end(read: Read, size: int) -> Iterator[Item]:
    """Give the archives from the end of a part on, the last first, as far as they are a chain."""
    end = size
    while end and (begin := _begin_of(read, end)) is not None:
        yield Item(begin, end)
        end = begin


def gaps(items: list[Item], size: int) -> Iterator[Item]:
    """Give the stretches of a part that lie in none of its archives."""
    end = 0
    for item in (*items, Item(size, size)):
        if item.begin > end:
            yield Item(end, item.begin)
        end = item.end


def _begin_of(read: Read, end: int) -> int | None:
    """Work out where an archive begins that ends here; None: none does."""
    tail = bytes(read(max(0, end - _ENDS), min(end, _ENDS)))
    if tail[-END.size : -END.size + len(END_MAGIC)] != END_MAGIC or len(tail) < END.size:
        return None
    _, _, _, _, count, length, directory, comment = END.unpack(tail[-END.size :])
    behind = end - END.size
    if len(tail) == _ENDS and tail.startswith(b"PK\6\6"):
        *_, count, length, directory = END64.unpack_from(tail)
        magic, _, at, _ = LOCATOR.unpack_from(tail, END64.size)
        if magic != b"PK\6\7" or at != directory + length:
            return None
        behind = end - _ENDS
    begin = behind - length - directory
    if begin < 0 or comment or not count:
        return None
    # One of the two may be damaged.
    first = bytes(read(begin, len(MAGIC))) == MAGIC
    return begin if first or bytes(read(begin + directory, 4)) == ENTRY_MAGIC else None


def _searched(read: Read, size: int) -> list[Item]:
    """Look for the ends of archives; what lies within another one is left out."""
    found: list[Item] = []
    for end in _ends(read, size):
        begin = _begin_of(read, end)
        if begin is None:
            continue
        while found and found[-1].begin >= begin:
            found.pop()
        if not found or found[-1].end <= begin:
            found.append(Item(begin, end))
    return found


def _ends(read: Read, size: int) -> Iterator[int]:
    """Give where something ends that looks like the end record of an archive."""
    held, base = b"", 0
    for block in blocks(read, 0, size):
        held += block
        for found in re.finditer(END_MAGIC, held):
            end = base + found.start() + END.size
            if end <= size:
                yield end
        kept = held[1 - len(END_MAGIC) :]
        base += len(held) - len(kept)
        held = kept


# --- .metadata


# Attributes and keys of one object that are kept. Of larger dicts nobody asks for them.
_MOST_GIVEN = 8

_INFO = re.compile(r"torch\.distributed\.[\w.]+ _StorageInfo", re.ASCII)


class Stored(NamedTuple):
    """How far a file must reach, so that all items are there that it should hold."""

    end: int
    """In bytes from its beginning."""

    items: int
    last: str
    """The name of the item that ends there; empty where it was not told."""


class SavePlan(NamedTuple):
    """Where the items of a checkpoint lie."""

    files: Mapping[str, Stored]
    """By their paths, as they are spelled in it: relative to its folder."""

    globals: tuple[str, ...]
    """Those of its names that can do harm, once it is loaded."""


class _Machine(Machine):
    __slots__ = ("files",)

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, Stored] = {}


def read_plan(read: Read, size: int) -> SavePlan:
    """Read such a file; of one that is too long to be followed, only what stands at its beginning.

    Raises:
        DamagedError: `cut` where it has no end; `structure` where it is no pickle.
    """
    machine = _Machine()
    walked = walk(read, 0, size, machine=machine, opcodes=_OPCODES)
    return SavePlan(machine.files, tuple(filter(is_dangerous, walked.globals)))


def _memoize(machine: Machine, _: bytes) -> None:
    """Keep a value for later uses; what was made has none, and would fill the memory."""
    value = machine.stack[-1]
    machine.memo[len(machine.memo)] = None if type(value) is MadeObject else value


def _push_dict(machine: Machine, _: bytes) -> None:
    machine.stack.append(MadeObject(""))


def _make(machine: Machine, _: bytes) -> None:
    machine.stack.pop()
    of = machine.stack.pop()
    machine.stack.append(MadeObject(of.text if isinstance(of, Name) else ""))


def _build(machine: Machine, _: bytes) -> None:
    state, made = machine.stack.pop(), machine.stack[-1]
    if isinstance(made, MadeObject) and isinstance(state, MadeObject):
        made.given = state.given


def _set_item(machine: Machine, _: bytes) -> None:
    value, key = machine.stack.pop(), machine.stack.pop()
    _set(machine, key, value)


def _set_items(machine: Machine, _: bytes) -> None:
    values = machine.to_mark()
    for key, value in zip(values[::2], values[1::2], strict=True):  # ValueError: it makes no sense
        _set(machine, key, value)


def _set(machine: Machine, key: Value, value: Value) -> None:
    target = machine.stack[-1]
    if isinstance(key, MadeObject):
        if isinstance(value, MadeObject) and isinstance(machine, _Machine):
            _note(machine.files, key, value)
    elif (
        isinstance(key, str) and isinstance(target, MadeObject) and len(target.given) < _MOST_GIVEN
    ):
        target.given[key] = value


def _note(files: dict[str, Stored], index: MadeObject, info: MadeObject) -> None:
    """Keep where an item is stored, if that is what a dict was given here."""
    if not _INFO.fullmatch(info.of):
        return
    path, offset, length = map(info.given.get, ("relative_path", "offset", "length"))
    if not (isinstance(path, str) and isinstance(offset, int) and isinstance(length, int)):
        return
    known = files.get(path, Stored(0, 0, ""))
    if offset + length < known.end:
        files[path] = known._replace(items=known.items + 1)
        return
    name = index.given.get("fqn")
    last = name if isinstance(name, str) else ""
    files[path] = Stored(offset + length, known.items + 1, last)


_OPCODES = with_effects(
    {
        b"}": _push_dict,
        b"\x81": _make,
        b"\x94": _memoize,
        b"b": _build,
        b"s": _set_item,
        b"u": _set_items,
    }
)
