"""Brings back what lies in a quarantine."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator, Sequence

from preflight.quarantine.away import OUT, PART
from preflight.quarantine.manifest import Entry, place_of, read
from preflight.quarantine.moving import (
    alone,
    copy_new,
    digest_of,
    identity_of,
    rename_new,
    store_names,
)
from preflight.quarantine.quarantined import QuarantineRow, State
from preflight.values.names import name_of

_IN = ".in"
"""Ends the name of a copy that is not whole yet."""

_NEW = "something new lies in its place: move that first"
_OUTSIDE = "its place is outside the job's folder: --yes brings it back there"
_MADE = "its folder was not there any more, and was made: was that renamed?"
_COPY = "its place is on another file system: --copy copies it there"


def waiting(folder: str) -> list[Entry]:
    """Give the entries that lie in a quarantine.

    Raises:
        ManifestError: its manifest cannot be read.
    """
    return [one for one in read(folder) if os.path.lexists(place_of(folder, one))]


def settle(folder: str, *, root: str) -> None:
    """Take away copies of ours that a process which died has not ended.

    Of each, the original lies in its place, as it was when it was listed; else the copy stays.

    Raises:
        ManifestError: the manifest cannot be read.
    """
    entries = read(folder)
    places = {place_of(folder, one) for one in entries}
    begun = {
        f"{place}{PART}": one
        for one in entries
        if one.copied and not os.path.lexists(place := place_of(folder, one))
    }
    if not any(os.path.lexists(part) for part in begun.keys() - places):
        return
    with alone(folder):  # nobody is copying any more
        for part in begun.keys() - places:
            with contextlib.suppress(OSError):
                path = os.path.join(root, begun[part].file)
                if _lies_there(begun[part], path) or _is_same(part, path):
                    os.unlink(part)
        _sweep(folder, entries)


def _lies_there(entry: Entry, path: str) -> bool:
    return identity_of(path)[:2] == (entry.bytes, entry.mtime_ns)


def bring_back(
    folders: Sequence[str], *, root: str, copy: bool, may: Callable[[Sequence[str]], bool]
) -> Iterator[QuarantineRow]:
    """Bring back all that lies in these quarantines, each file to where it lay.

    Args:
        folders: the quarantines.
        root: the job's folder.
        copy: whether to copy what was renamed before, where its place is on another file system.
        may: asked once about the places that are outside the job's folder.

    Raises:
        ManifestError: a manifest cannot be read; nothing of its quarantine was moved.
    """
    for folder in folders:
        with alone(folder):
            entries = waiting(folder)
            places = [os.path.join(root, one.file) for one in entries]
            gone = {each for one in places if not os.path.isdir(each := os.path.dirname(one))}
            outside = {one for one in places if not is_below(os.path.dirname(one), [root])}
            allowed = not outside or may(sorted(outside))
            for entry, path in zip(entries, places, strict=True):
                refused = path in outside and not allowed
                state, why = (
                    (State.LEFT, _OUTSIDE) if refused else _back(entry, path, folder, copy=copy)
                )
                if state is State.RESTORED and os.path.dirname(path) in gone:
                    why = _MADE
                to = place_of(folder, entry)
                yield QuarantineRow(
                    file=entry.file,
                    path=path,
                    state=state,
                    why=why,
                    check=entry.check,
                    reason=entry.reason,
                    bytes=entry.bytes,
                    goes_with=entry.goes_with,
                    to=None if state is State.RESTORED else name_of(to, root),
                )
            _sweep(folder, entries)


def is_below(folder: str, roots: Sequence[str]) -> bool:
    """Whether a folder lies in one of these or below, wherever links lead."""
    real = os.path.join(os.path.realpath(folder), "")
    return any(real.startswith(os.path.join(os.path.realpath(one), "")) for one in roots)


def _back(entry: Entry, path: str, folder: str, *, copy: bool) -> tuple[State, str]:
    held = place_of(folder, entry)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        _finish(entry, path)
        try:
            rename_new(held, path)
        except OSError as error:
            if error.errno != errno.EXDEV or (os.name == "nt" and os.path.lexists(path)):
                raise
            if os.path.lexists(path):
                raise FileExistsError from error
            if not (entry.copied or copy):
                return State.LEFT, _COPY
            _copy_back(entry, held, path)
    except FileExistsError:
        if (entry.copied or copy) and _is_same(held, path):  # a process has died between the two
            os.unlink(held)
            return State.RESTORED, ""
        return State.LEFT, _NEW
    except FileNotFoundError:
        return State.GONE, "another process has brought it back"
    except OSError as error:
        return State.FAILED, f"it cannot be brought back: {error.strerror or error}"
    return State.RESTORED, ""


def _finish(entry: Entry, path: str) -> None:
    """Take away what a process that died has left beside the place; the file is whole here."""
    begin = os.path.join(os.path.dirname(path), entry.beside)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{begin}{_IN}")
    with contextlib.suppress(FileNotFoundError):
        if identity_of(f"{begin}{OUT}")[:2] == (entry.bytes, entry.mtime_ns):
            os.unlink(f"{begin}{OUT}")


def _copy_back(entry: Entry, held: str, path: str) -> None:
    beside = os.path.join(os.path.dirname(path), f"{entry.beside}{_IN}")
    try:
        copy_new(held, beside)
        rename_new(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
    store_names(os.path.dirname(path))
    os.unlink(held)


def _is_same(one: str, other: str) -> bool:
    """Whether two files, or two links, hold the same."""
    with contextlib.suppress(OSError):
        return os.path.islink(one) == os.path.islink(other) and digest_of(one) == digest_of(other)
    return False


def _sweep(folder: str, entries: Sequence[Entry]) -> None:
    """Take away the folders of a quarantine that are empty now; its manifest stays."""
    for one in sorted({os.path.dirname(place_of(folder, one)) for one in entries}, reverse=True):
        place = one
        with contextlib.suppress(OSError):  # something lies in it still
            while place != folder:
                os.rmdir(place)
                place = os.path.dirname(place)
