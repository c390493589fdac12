"""Files of torch.save from before 2017: tar archives of pickles, storages and tensors.

Layout as torch/serialization.py (`_legacy_load`) of PyTorch 2.13 reads it. There are no checksums:
what is told is what does not agree.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from preflight.formats.bytes.blocks import Read, exactly
from preflight.formats.bytes.damaged import DamagedError
from preflight.formats.bytes.flaw import Flaw
from preflight.formats.stored import StoredFile
from preflight.formats.tar.walk import Member, walk
from preflight.formats.torch.laid_out import beyond, bytes_of
from preflight.formats.torch.pickle_globals import TARRED
from preflight.formats.torch.pickle_machine import Machine, Name, Storage, Value
from preflight.formats.torch.pickles import walk as walk_pickle
from preflight.formats.torch.torchfile import refused_in
from preflight.values.names import counted, shown

_PARTS = ("storages", "tensors", "pickle")


class _Part(NamedTuple):
    read: Read
    at: int
    end: int


def look_at_tarred(read: Read, size: int) -> StoredFile | None:
    """Look at a tar archive that torch wrote; None: it is no such archive.

    Raises:
        OSError: it cannot be read.
    """
    found = list(walk(lambda offset, wanted: bytes(read(offset, wanted)), size))
    flaw = found[-1] if found and isinstance(found[-1], Flaw) else None
    members = {one.name: one for one in found if isinstance(one, Member)}
    is_odd = flaw is not None and flaw.kind not in ("no-end-marker", "trailing")
    named = {*members, flaw.member if flaw is not None else None}
    if named.isdisjoint(_PARTS) and not (is_odd and "sys_info" in members):
        return None
    refused: tuple[str, ...] = ()
    try:
        if not is_odd:
            flaw, refused = None, _check(read, members)
    except DamagedError as error:
        flaw = error.flaw
    return StoredFile("torch legacy", flaw, globals=(TARRED, *refused))


def _check(read: Read, members: dict[str, Member]) -> tuple[str, ...]:
    """Hold the parts against each other; give what torch.load refuses in the pickle."""
    lacking = next((name for name in _PARTS if name not in members), None)
    if lacking is not None:
        raise DamagedError("structure", f"lacks {lacking}, which torch.load reads", member=lacking)
    parts = {name: _Part(read, one.offset, one.offset + one.size) for name, one in members.items()}
    storages = _storages(parts["storages"])
    _check_tensors(parts["tensors"], storages)
    pickle = parts["pickle"]
    return refused_in(walk_pickle(pickle.read, pickle.at, pickle.end))


def _value(part: _Part) -> tuple[Value, _Part]:
    """Read the pickle that begins here; give its value, and what stands behind it."""
    machine = Machine()
    walked = walk_pickle(part.read, part.at, part.end, machine=machine)
    if walked.end is None or not machine.stack:
        raise DamagedError("structure", f"holds a pickle at {part.at:,} bytes that has no end")
    return machine.stack[-1], part._replace(at=walked.end)


def _count(part: _Part, of: str) -> tuple[int, _Part]:
    count, rest = _value(part)
    if not isinstance(count, int):
        raise DamagedError("structure", f"does not say how many {of} it holds", offset=part.at)
    return count, rest


def _storages(part: _Part) -> dict[Value, Storage]:
    """Read the storages: of each its key, place and type, its elements as 8 bytes, its bytes."""
    count, part = _count(part, "storages")
    found: dict[Value, Storage] = {}
    for _ in range(count):
        said, part = _value(part)
        if not (isinstance(said, tuple) and len(said) == 3 and isinstance(said[2], Name)):
            raise DamagedError("structure", "holds no storage where one is named", offset=part.at)
        key, kind = said[0], said[2].text.rpartition(" ")[2]
        storage = Storage(shown(str(key)), kind, _number(part))
        found[key] = storage
        length = bytes_of(storage)
        if length is None:
            return found
        part = part._replace(at=part.at + 8 + length)
        if not 0 <= length <= part.end - part.at + length:
            name = f"storage {storage.key}"
            text = f"holds {counted(storage.elements, 'element')} of type {kind} in {name}"
            raise DamagedError("storage", f"{text}, which end behind it", member=name)
    views, part = _value(part)
    if part.at < part.end:
        left = counted(part.end - part.at, "byte")
        raise DamagedError("storage", f"holds {left} behind its storages", offset=part.at)
    # Other keys may be those of views of a storage.
    return {} if views else found


def _number(part: _Part) -> int:
    return int.from_bytes(exactly(part.read, part.at, 8), "little", signed=True)


def _check_tensors(part: _Part, storages: dict[Value, Storage]) -> None:
    """Hold each tensor against its storage: its sides, steps and beginning follow its pickle."""
    count, part = _count(part, "tensors")
    for _ in range(count):
        said, part = _value(part)
        sides = int.from_bytes(exactly(part.read, part.at, 4), "little", signed=True)
        if not (isinstance(said, tuple) and len(said) == 3 and 0 <= sides <= 64):
            raise DamagedError("structure", "holds no tensor where one is named", offset=part.at)
        end = part.at + 8 + 16 * sides + 8
        if end > part.end:
            raise DamagedError("cut", "ends inside its tensors", offset=part.end)
        numbers = struct.unpack(
            f"<{2 * sides + 1}q", exactly(part.read, part.at + 8, end - part.at - 8)
        )
        part = part._replace(at=end)
        storage = storages.get(said[1])
        if storage is not None:
            _refuse_misfit(storage, said[2], numbers[-1], numbers[:sides], numbers[sides:-1])


def _refuse_misfit(
    storage: Storage, of: Value, offset: int, sizes: tuple[int, ...], steps: tuple[int, ...]
) -> None:
    name = f"storage {storage.key}"
    wrong = beyond(storage.elements, offset, sizes, steps)
    kind = of.text.rpartition(" ")[2].removesuffix("Tensor") if isinstance(of, Name) else ""
    own = storage.kind.removesuffix("Storage")
    if wrong is None and kind and kind != own:
        wrong = f"is of type {kind}, and its storage is of type {own}"
    if wrong is not None:
        raise DamagedError("storage", f"holds a tensor that {wrong} ({name})", member=name)
