"""Remembers what readers saw in files that have not changed since: facts, and never findings.

One row a file, under its folder, its name and how it was looked at. A row holds as long as the
file's size, both of its times of change, its inode and the readers' own version are the same, and
for as long as it is trusted: bytes that rot on a disk change no time stamp. A folder of many files
has one row more, without a name, which holds as long as all of them do: one comparison for all of
its files.

Any number of runs may use one ledger at the same time, and each may be killed at any moment: rows
are written in short transactions under SQLite's rollback journal, and the file is not kept open. A
ledger that is damaged is set aside; one that cannot be used is done without.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeVar

from preflight.ledger import rows as ledger_table
from preflight.ledger.readers_version import readers_version
from preflight.ledger.rows import DamagedRowError, LedgerRow, Remembered, Rows
from preflight.secrets.hiding import Secrets
from preflight.values.stamps import YOUNG, digest_of, marked, stamps_of
from preflight.values.state_folder import make_state

if TYPE_CHECKING:
    import sqlite3

FILE = "ledger.sqlite"

T = TypeVar("T")
W = TypeVar("W")

# Seconds that another run is waited for: it writes for some milliseconds, on a busy disk for more.
_PATIENCE = 5.0

# Seconds of work that a run which is killed may lose.
_OFTEN = 2.0


@dataclass(slots=True)
class Ledger:
    """The facts of earlier runs, looked up and added to."""

    folder: str
    """Where it is kept; made when there is something to write."""

    trusted: float
    """Seconds for which a row is believed."""

    tell: Callable[[str], None]
    """Called with a sentence where the ledger cannot be used as it should."""

    hide: Secrets = field(default_factory=Secrets)
    """What it must not hold: a file of which that would be told is read again."""

    usable: bool = True
    """Whether it is used at all."""

    homeless: bool = False
    """Whether its folder could not be made, which was told."""

    _version: str = ""
    _marks: dict[tuple[str, str], str] = field(default_factory=dict)
    """What each file looked like before it was read, by how it is read and by its path."""

    _rows: dict[tuple[bytes, bytes], LedgerRow] = field(default_factory=dict)
    """What waits to be written."""

    _places: dict[tuple[str, str], bytes] = field(default_factory=dict)
    _written: float = field(default_factory=time.monotonic)

    def recall(
        self, how: str, paths: Iterable[str], *, expect: bool = True
    ) -> Mapping[str, Remembered]:
        """Look files up, and give what is known of those that have not changed.

        `how` is whatever decides, beside the file, on what is seen of it; see `expect` for the
        last.
        """
        if not self.usable:
            return {}
        by_place: dict[bytes, dict[bytes, tuple[str, str]]] = {}
        newest = time.time_ns() - YOUNG
        for path in paths:
            try:
                status = os.stat(path)
            except OSError:
                continue
            if status.st_mtime_ns <= newest:
                files = by_place.setdefault(self._place(how, path), {})
                files[_name(path)] = path, _mark(status)
        ranges = ((place, min(files), max(files)) for place, files in by_place.items())
        known = {
            files[name][0]: row.seen
            for (place, name), row in self._find(ranges).items()
            if name in (files := by_place[place]) and files[name][1] == row.mark
        }
        if not expect:
            return known
        for files in by_place.values():
            for path, mark in files.values():
                if path not in known:
                    self._marks[how, path] = mark
        return known

    def expect(self, how: str, path: str) -> None:
        """Note what a file looks like before it is read; it may then be handed to `remember`."""
        if not self.usable:
            return
        try:
            status = os.stat(path)
        except OSError:
            return
        if status.st_mtime_ns <= time.time_ns() - YOUNG:
            self._marks[how, path] = _mark(status)

    def size_before(self, how: str, path: str) -> int | None:
        """Give the bytes that a file had when it was noted what it looks like, if it was."""
        mark = self._marks.get((how, path))
        return None if mark is None else int(mark.partition(" ")[0])

    def recall_folders(
        self, how: str, folders: Iterable[str], names: Callable[[str], Sequence[str]]
    ) -> Mapping[str, Remembered]:
        """Look whole folders up, and give what is known of those in which nothing has changed.

        Only of folders that were remembered the names of their files are asked, in their order.
        """
        return {
            folder: row.seen
            for folder, row in self.rows(how, folders).items()
            if row.mark == mark_of(folder, names(folder))
        }

    def rows(self, how: str, folders: Iterable[str]) -> Mapping[str, LedgerRow]:
        """Give what was noted of whole folders, whether or not anything in them has changed."""
        places = {self._place(how, os.path.join(folder, "")): folder for folder in folders}
        rows = self._find((place, b"", b"") for place in places)
        return {places[place]: row for (place, _), row in rows.items()}

    @property
    def holds_something(self) -> bool:
        """Whether an earlier run has left something that may be used."""
        return self.usable and os.path.exists(self._file)

    def remember(self, how: str, path: str, facts: str | None) -> bool:
        """Note what was seen of a file read whole, and say so, unless it has changed meanwhile."""
        mark = self._marks.pop((how, path), None)
        if mark is None or not self.usable or self._is_secret(path, facts):
            return False
        try:
            if _mark(os.stat(path)) != mark:
                return False
        except OSError:
            return False
        self._note(how, path, LedgerRow(mark, Remembered(time.time(), facts)))
        return True

    def remember_folder(self, how: str, folder: str, mark: str, seen: Remembered) -> None:
        """Note what was seen of a folder; the mark tells the content of its files from another."""
        if self.usable and not self._is_secret("", seen.facts):
            self._note(how, os.path.join(folder, ""), LedgerRow(mark, seen))

    def _is_secret(self, path: str, facts: str | None) -> bool:
        name = path.rpartition(os.sep)[2]
        return self.hide.holds(name) or (facts is not None and self.hide.holds(facts))

    def _note(self, how: str, path: str, row: LedgerRow) -> None:
        self._rows[self._place(how, path), _name(path)] = row
        if time.monotonic() - self._written > _OFTEN:
            self.write()

    def write(self) -> None:
        """Write what waits to be written."""
        rows, self._rows = self._rows, {}
        if not (rows and self._ready()):
            return
        try:
            make_state(self.folder)
            _make_private(self._file)
        except OSError as error:
            self.usable, self.homeless = False, True
            reason = error.strerror or str(error)
            self.tell(
                f"the ledger cannot be used, and the report was not kept: {self._file}: {reason}"
            )
            return
        for _ in range(2):  # again where the first try has found it damaged
            if self._use(ledger_table.add, rows) or not self.usable:
                break
        self._written = time.monotonic()

    def _find(self, ranges: Iterable[tuple[bytes, bytes, bytes]]) -> Rows:
        if not (self.holds_something and self._ready()):
            return {}
        return self._use(ledger_table.find, ranges) or {}

    # --- the file

    @property
    def _file(self) -> str:
        return os.path.join(self.folder, FILE)

    def _ready(self) -> bool:
        """Bring in what is needed to look into the ledger, and say whether all is there."""
        if self.usable and not self._version:
            try:
                import sqlite3  # noqa: F401  some builds of Python have none

                self._version = readers_version()
            except (ImportError, OSError) as error:
                self._do_without(str(error))
        return self.usable

    def _use(self, work: Callable[[sqlite3.Connection, W, str, float], T], what: W) -> T | None:
        """Open the file and work with it; None where that cannot be done."""
        import sqlite3

        try:
            with closing(
                sqlite3.connect(self._file, timeout=_PATIENCE, isolation_level=None)
            ) as connection:
                return work(connection, what, self._version, self.trusted)
        except (DamagedRowError, UnicodeError):  # sqlite3 quotes damaged names as it finds them
            self._set_aside()
        except sqlite3.DatabaseError as error:
            # Locks and disks that refuse raise one of its subclasses.
            if type(error) is sqlite3.DatabaseError:
                self._set_aside()
            else:
                self._do_without(str(error))
        return None

    def _set_aside(self) -> None:
        """Keep a damaged ledger under another name, and with it the journal that belongs to it."""
        when = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        beside = f"{self._file}.damaged-{when}-{os.getpid()}"
        try:
            os.rename(self._file, beside)
            if os.path.exists(f"{self._file}-journal"):
                os.rename(f"{self._file}-journal", f"{beside}-journal")
        except FileNotFoundError:
            return  # another run was faster
        except OSError as error:
            self._do_without(f"is damaged, and cannot be set aside: {error.strerror}")
            return
        self.tell(f"the ledger was damaged, and was set aside as {beside}; a new one is begun")

    def _do_without(self, reason: str) -> None:
        self.usable = False
        self.tell(f"the ledger cannot be used, and is done without: {self._file}: {reason}")

    def _place(self, how: str, path: str) -> bytes:
        """Give the key of a file's real folder, together with how the file is read."""
        folder = path[: len(path) - len(path.rpartition(os.sep)[2])]
        place = self._places.get((how, folder))
        if place is None:
            real = _bytes(os.path.realpath(folder or os.curdir))
            place = blake2b(real + b"\0" + how.encode(), digest_size=16).digest()
            self._places[how, folder] = place
        return place


def mark_of(folder: str, names: Sequence[str]) -> str | None:
    """Say what tells one content of all these files from another.

    None where one of them is not there, or is too young to be told from what it may become.
    """
    return digest_of(names, stamps_of(folder, names))


def _make_private(path: str) -> None:
    """Make the file where there is none; nobody else may read it, nor the journal that SQLite adds.

    Raises:
        OSError: it cannot be made, or is a link to nowhere.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    os.chmod(path, 0o600)


def _name(path: str) -> bytes:
    return _bytes(path.rpartition(os.sep)[2])


def _bytes(name: str) -> bytes:
    """Give a name as SQLite keeps it, also one that is no Unicode."""
    return name.encode("utf-8", "surrogatepass")


def _mark(status: os.stat_result) -> str:
    return "{} {} {} {}".format(*marked(status))
