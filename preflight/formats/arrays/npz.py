"""numpy's `.npz`: a zip archive of arrays, of which some may be pickles.

What a record holds is told by its first bytes, as numpy.load does, and not by its name.
"""

from __future__ import annotations

from preflight.formats.arrays import npy
from preflight.formats.bytes import causes
from preflight.formats.bytes.blocks import Read
from preflight.formats.bytes.damaged import DamagedError
from preflight.formats.bytes.flaw import Flaw
from preflight.formats.bytes.part_names import told_names
from preflight.formats.torch.pickle_machine import MOST_DANGEROUS, Machine
from preflight.formats.torch.pickles import MOST_OPERATIONS, walk
from preflight.formats.zip.archive import DEFLATED
from preflight.formats.zip.directory import Record, ZipDirectory
from preflight.values.byte_sizes import format_size
from preflight.values.names import shown, text_of

# As much of a record as most headers take.
_FIRST = 256

# Bytes behind an array, and times its own size, that nobody packs by mistake.
_BOMB = 1 << 30
_TIMES = 10


class Arrays:
    """What the records of an archive hold."""

    __slots__ = ("_left", "_names", "bomb")

    def __init__(self) -> None:
        self._names: dict[str, None] = {}
        self._left = MOST_OPERATIONS
        self.bomb: Flaw | None = None
        """The first record that unpacks to far more than its array."""

    @property
    def names(self) -> tuple[str, ...]:
        """The first of the globals that their pickles name, as `Walked` has them."""
        return tuple(self._names)[:MOST_DANGEROUS]

    def look(self, record: Record, read: Read) -> bool:
        """Hold a record against its header, and walk its pickle, where it has one.

        Of all pickles so much is walked as of one. Gives whether its own was walked to its end.

        Raises:
            DamagedError: `unfinished` where the record ends before its array; `structure` where its
                pickle makes no sense, or has no end, or where it has an array's name and is none.
        """
        begun = npy.begin(read, record.length, _FIRST)
        if begun is None:
            if record.name.endswith(b".npy"):
                raise _no_array(record, read)
            return True
        if begun.data > record.length:
            raise _unfinished(record, f"ends at {record.length:,} bytes, inside its header")
        if begun.refused and record.name.endswith(b".npy"):
            text = f"holds an array, {_name(record)}, whose header numpy cannot read"
            raise DamagedError("structure", text, member=_name(record))
        if begun.objects:
            return self._walk(record, read, begun.data)
        if begun.end is not None:
            self._compare(record, begun.end)
        return True

    def _walk(self, record: Record, read: Read, begin: int) -> bool:
        if self._left <= 0:
            return False
        machine = Machine()
        try:
            walked = walk(read, begin, record.length, self._left, machine=machine)
        except DamagedError as error:
            name = _name(record)
            text = f"holds an array of objects, {name}, that {error.flaw.text}"
            raise DamagedError("structure", text, member=name) from error
        finally:
            self._names.update(dict.fromkeys(machine.globals))
        self._left -= walked.steps
        return walked.end is not None

    def _compare(self, record: Record, end: int) -> None:
        if record.length < end:
            raise _unfinished(record, f"ends at {record.length:,} of {end:,} bytes")
        behind = record.length - end
        if self.bomb is None and record.method == DEFLATED and behind > max(_BOMB, _TIMES * end):
            name = _name(record)
            text = (
                f"unpacks {format_size(record.stored)} of {name} to {format_size(record.length)}, "
                f"of which its array takes {format_size(end)}: most likely made to do harm"
            )
            self.bomb = Flaw(kind="bomb", text=text, offset=record.offset, member=name)


def _unfinished(record: Record, said: str) -> DamagedError:
    """Say of a record that its writer was stopped: numpy closes the archive all the same."""
    name = _name(record)
    text = f"holds an array, {name}, that {said}: {causes.STOPPED}"
    return DamagedError("unfinished", text, member=name)


def _no_array(record: Record, read: Read) -> DamagedError:
    """Say of a record that it bears the name numpy gives to arrays, and does not begin as one."""
    if not record.length:
        return _unfinished(record, "holds nothing")
    name = _name(record)
    first = "zero bytes" if not any(read(0, 8)) else "other bytes"
    text = f"holds {name}, which begins with {first} where numpy.save writes its mark"
    return DamagedError("structure", text, member=name)


def _name(record: Record) -> str:
    return shown(text_of(record.name[:120]))


def names_of(archive: ZipDirectory) -> tuple[str, ...]:
    """Name its arrays, as `told_names` does."""
    return told_names(text_of(one.name).removesuffix(".npy") for one in archive.records)
