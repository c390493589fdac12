"""The table of a ledger: what is noted of files and of whole folders, each row with a checksum."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import sqlite3

# The checksum of a row that holds no facts.
_NOTHING = -1

# Seconds after which rows are dropped, unless they are trusted for longer.
_KEPT = 90 * 86_400

# The number is of this form of the table. Another version's table may lie beside it.
_TABLE = """CREATE TABLE IF NOT EXISTS files_1 (
    place BLOB, name BLOB, mark TEXT, read_at REAL, facts TEXT, checksum INTEGER, version TEXT,
    PRIMARY KEY (place, name)) WITHOUT ROWID"""
_IS_THERE = "SELECT 1 FROM sqlite_master WHERE name = 'files_1'"
_LOOK_UP = """SELECT name, mark, read_at, facts, checksum FROM files_1
    WHERE place = ? AND name BETWEEN ? AND ? AND version = ? AND read_at > ? AND read_at <= ?"""
_LOOK_UP_FOLDER = """SELECT mark, read_at, facts, checksum FROM files_1
    WHERE place = ? AND name = x'' AND version = ? AND read_at > ? AND read_at <= ?"""
_WRITE = "INSERT OR REPLACE INTO files_1 VALUES (?, ?, ?, ?, ?, ?, ?)"
_DROP = "DELETE FROM files_1 WHERE read_at < ?"


class Remembered(NamedTuple):
    """What was seen of a file that has not changed since."""

    read_at: float
    """In seconds since the epoch."""

    facts: str | None
    """As it was handed over: any text, or None."""


class Row(NamedTuple):
    """What was noted of all files of a folder."""

    mark: str
    """What told their content from another."""

    seen: Remembered


class DamagedRowError(Exception):
    """A row is not what was written."""


class Note(NamedTuple):
    """A row that is to be written."""

    place: bytes
    """Its folder, and how the files there are read."""

    name: bytes
    """The file's; empty where it is of the whole folder."""

    mark: str
    """What tells its content from another."""

    seen: Remembered


class Valid(NamedTuple):
    """Which rows are believed."""

    version: str
    """Of the readers by whom they are."""

    trusted: float
    """Seconds for which that is done."""

    def now(self) -> tuple[str, float, float]:
        """Give the version, and from when to when a row was read."""
        now = time.time()
        return self.version, now - self.trusted, now


def find(
    connection: sqlite3.Connection,
    by_place: Mapping[bytes, Mapping[bytes, tuple[str, str]]],
    valid: Valid,
) -> dict[str, Remembered]:
    """Give what is known of files that have not changed.

    Raises:
        DamagedRowError: a row is not what was written.
    """
    known: dict[str, Remembered] = {}
    if connection.execute(_IS_THERE).fetchone() is None:
        return known
    window = valid.now()
    for place, files in by_place.items():
        key = (place, min(files), max(files), *window)
        for name, mark, read_at, facts, checksum in connection.execute(_LOOK_UP, key):
            if name not in files or (file := files[name])[1] != mark:
                continue
            _compare(facts, checksum)
            known[file[0]] = Remembered(read_at, facts)
    return known


def find_folders(
    connection: sqlite3.Connection, places: Mapping[str, bytes], valid: Valid
) -> dict[str, Row]:
    """Give what was noted of whole folders.

    Raises:
        DamagedRowError: a row is not what was written.
    """
    found: dict[str, Row] = {}
    if connection.execute(_IS_THERE).fetchone() is None:
        return found
    window = valid.now()
    for folder, place in places.items():
        for mark, read_at, facts, checksum in connection.execute(_LOOK_UP_FOLDER, (place, *window)):
            _compare(facts, checksum)
            found[folder] = Row(mark, Remembered(read_at, facts))
    return found


def add(connection: sqlite3.Connection, notes: Iterable[Note], valid: Valid) -> bool:
    """Write rows, in the place of those that are there, and drop what nobody will believe."""
    rows = (
        (place, name, mark, *seen, _checksum(seen.facts), valid.version)
        for place, name, mark, seen in notes
    )
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(_TABLE)
    connection.executemany(_WRITE, rows)
    connection.execute(_DROP, (time.time() - max(valid.trusted, _KEPT),))
    connection.execute("COMMIT")
    return True


def _checksum(facts: str | None) -> int:
    return _NOTHING if facts is None else zlib.crc32(facts.encode())


def _compare(facts: Any, checksum: Any) -> None:
    """Hold a row against its checksum; a damaged one may hold bytes or a number for its text."""
    if not (facts is None or isinstance(facts, str)) or _checksum(facts) != checksum:
        raise DamagedRowError
