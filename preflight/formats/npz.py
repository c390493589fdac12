"""numpy's `.npz`: a zip archive of arrays, of which some may be pickles.

What a record holds is told by its first bytes, as numpy.load does, and not by its name.
"""

from __future__ import annotations

from preflight.formats import npy
from preflight.formats.archive_directory import Record
from preflight.formats.blocks import Read
from preflight.formats.damaged import DamagedError
from preflight.formats.pickle_machine import MOST_DANGEROUS
from preflight.formats.pickles import MOST_OPERATIONS, walk
from preflight.names import shown, text_of

# As much of a record as most headers take.
_FIRST = 256


class Objects:
    """What the arrays of objects in an archive name."""

    __slots__ = ("_left", "_names")

    def __init__(self) -> None:
        """Begin with none."""
        self._names: dict[str, None] = {}
        self._left = MOST_OPERATIONS

    @property
    def names(self) -> tuple[str, ...]:
        """The first of the globals that they name, as `Walked` has them."""
        return tuple(self._names)[:MOST_DANGEROUS]

    def look(self, record: Record, read: Read) -> None:
        """Walk a record's pickle, where it has one; of all records so much as of one pickle.

        Args:
            record: of the archive.
            read: gives its bytes, unpacked, and forwards only.

        Raises:
            DamagedError: `structure` where its pickle makes no sense, or has no end.
        """
        begin = npy.begin_of_objects(read, record.length, _FIRST)
        if begin is None or self._left <= 0:
            return
        try:
            walked = walk(read, begin, record.length, self._left)
        except DamagedError as error:
            name = shown(text_of(record.name[:120]))
            text = f"holds an array of objects, {name}, that {error.flaw.text}"
            raise DamagedError("structure", text, member=name) from error
        self._left -= walked.steps
        self._names.update(dict.fromkeys(walked.globals))
