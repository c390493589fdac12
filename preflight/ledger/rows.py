"""The table of a ledger: what is noted of files and of whole folders, each row with a checksum."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

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
_WRITE = "INSERT OR REPLACE INTO files_1 VALUES (?, ?, ?, ?, ?, ?, ?)"
_DROP = "DELETE FROM files_1 WHERE read_at < ?"


Rows: TypeAlias = Mapping[tuple[bytes, bytes], "LedgerRow"]
"""By their folder, together with how the files there are read, and by their name.

The name is empty where a row is of the whole folder.
"""


class Remembered(NamedTuple):
    """What was seen of a file that has not changed since."""

    read_at: float
    """In seconds since the epoch."""

    facts: str | None
    """As it was handed over: any text, or None."""


class LedgerRow(NamedTuple):
    """What was noted of a file, or of all files of a folder."""

    mark: str
    """What told its content from another."""

    seen: Remembered


class DamagedRowError(Exception):
    """A row is not what was written."""


def find(
    connection: sqlite3.Connection,
    ranges: Iterable[tuple[bytes, bytes, bytes]],
    version: str,
    trusted: float,
) -> Rows:
    """Give the rows of each place, from the first name to the last.

    Only those of this version of the readers, and read no longer ago than rows are trusted.

    Raises:
        DamagedRowError: a row is not what was written.
    """
    found: dict[tuple[bytes, bytes], LedgerRow] = {}
    if connection.execute(_IS_THERE).fetchone() is None:
        return found
    now = time.time()
    for place, first, last in ranges:
        key = (place, first, last, version, now - trusted, now)
        for name, mark, read_at, facts, checksum in connection.execute(_LOOK_UP, key):
            if not (facts is None or isinstance(facts, str)) or _checksum(facts) != checksum:
                raise DamagedRowError  # it may hold bytes or a number for its text
            found[place, name] = LedgerRow(mark, Remembered(read_at, facts))
    return found


def add(connection: sqlite3.Connection, rows: Rows, version: str, trusted: float) -> bool:
    """Write rows, in the place of those that are there, and drop what nobody will believe."""
    written = (
        (place, name, mark, *seen, _checksum(seen.facts), version)
        for (place, name), (mark, seen) in rows.items()
    )
    # A disk that is slow to sync would keep other runs waiting. What a power cut then damages is
    # set aside, and read again.
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(_TABLE)
    connection.executemany(_WRITE, written)
    connection.execute(_DROP, (time.time() - max(trusted, _KEPT),))
    connection.execute("COMMIT")
    return True


def _checksum(facts: str | None) -> int:
    return _NOTHING if facts is None else zlib.crc32(facts.encode())
