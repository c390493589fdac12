"""Moves what is listed into a quarantine."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Sequence
from dataclasses import replace

from preflight.quarantine.manifest import Entry, begin, place_of
from preflight.quarantine.moving import (
    ChangedError,
    alone,
    copy_new,
    identity_of,
    rename_new,
    store_names,
)
from preflight.quarantine.quarantined import QuarantineRow, State
from preflight.values.names import name_of

OTHER_FILE_SYSTEM = (
    "it lies on another file system than the quarantine: --copy copies it there, and takes it away "
    "once the copy is whole"
)
PART = ".part"
"""Ends the name of a copy in the quarantine that is not whole yet."""

OUT = ".out"
"""Ends the name of an original whose copy is whole, and that is about to go."""

_CHANGED = "it has changed since it was listed: look again"


def move_away(
    rows: Sequence[QuarantineRow], *, root: str, state: str, report: str
) -> tuple[tuple[QuarantineRow, ...], str]:
    """Move each file that is listed, and say where to; the others stay as they are.

    Raises:
        OSError: the quarantine cannot be made; nothing was moved.
    """
    listed = [one for one in rows if one.state is State.LISTED]
    folder, entries = begin(state, listed, report=report)
    with alone(folder):
        done = {
            row.path: _moved(row, entry, folder, root)
            for row, entry in zip(listed, entries, strict=True)
        }
    return tuple(done.get(one.path, one) for one in rows), name_of(folder, root)


def _moved(row: QuarantineRow, entry: Entry, folder: str, root: str) -> QuarantineRow:
    place = place_of(folder, entry)
    try:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if entry.copied:
            _copy_away(row, entry, place)
        else:
            _rename_away(row, place)
    except ChangedError:
        return replace(row, state=State.LEFT, why=_CHANGED)
    except (FileNotFoundError, NotADirectoryError):
        return replace(row, state=State.GONE, why="it is not there any more")
    except OSError as error:
        if error.errno == errno.EXDEV:
            return replace(row, state=State.LEFT, why=OTHER_FILE_SYSTEM)
        why = f"it cannot be moved: {error.strerror or error}"
        return replace(row, state=State.FAILED, why=why)
    return replace(row, state=State.MOVED, to=name_of(place, root))


def _rename_away(row: QuarantineRow, place: str) -> None:
    """Rename a file; what turns out to be another one, put there since, is put back."""
    rename_new(row.path, place)
    if identity_of(place) != row.identity:
        rename_new(place, row.path)
        raise ChangedError


def _copy_away(row: QuarantineRow, entry: Entry, place: str) -> None:
    """Copy a file, and take the original away once the copy is whole.

    Another name is given to the original first: what somebody else puts in its place meanwhile
    stays there.
    """
    if identity_of(row.path) != row.identity:
        raise ChangedError
    part = f"{place}{PART}"
    beside = os.path.join(os.path.dirname(row.path), f"{entry.beside}{OUT}")
    try:
        copy_new(row.path, part)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
    rename_new(part, place)
    store_names(os.path.dirname(place))
    rename_new(row.path, beside)
    if identity_of(beside) != row.identity or not os.path.lexists(place):
        rename_new(beside, row.path)
        raise ChangedError
    os.unlink(beside)
