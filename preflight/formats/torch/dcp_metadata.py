"""The `.metadata` of torch.distributed.checkpoint: which items of a checkpoint lie where.

It is a pickle of `Metadata`, whose `storage_data` is a dict of `MetadataIndex` to `_StorageInfo`,
as in torch/distributed/checkpoint/{metadata,filesystem}.py of PyTorch 2.13 and, in other modules,
from 1.12 on. It is read by its opcodes, and nothing in it is made or called.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from preflight.formats.bytes.blocks import Read
from preflight.formats.torch.pickle_globals import is_dangerous
from preflight.formats.torch.pickle_machine import Machine, MadeObject, Name, Value
from preflight.formats.torch.pickle_opcodes import with_effects
from preflight.formats.torch.pickles import walk

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


class Plan(NamedTuple):
    """Where the items of a checkpoint lie."""

    files: Mapping[str, Stored]
    """By their paths, as they are spelled in it: relative to its folder."""

    globals: tuple[str, ...]
    """Those of its names that can do harm, once it is loaded."""


class _Machine(Machine):
    """One that keeps where items are stored."""

    __slots__ = ("files",)

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, Stored] = {}


def read_plan(read: Read, size: int) -> Plan:
    """Read such a file; of one that is too long to be followed, only what stands at its beginning.

    Raises:
        DamagedError: `cut` where it has no end; `structure` where it is no pickle.
    """
    machine = _Machine()
    walked = walk(read, 0, size, machine=machine, opcodes=_OPCODES)
    return Plan(machine.files, tuple(filter(is_dangerous, walked.globals)))


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
