"""The ledger remembers what has not changed, and forgets rather than being wrong or in the way."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from preflight.ledger import readers_version as versions
from preflight.ledger.store import FILE, Ledger, Remembered, mark_of
from tests.archives import zeroed
from tests.conftest import ROOT, said_by
from tests.files import HOUR, stamp, write

pytestmark = pytest.mark.usefixtures("at_hand")

VERSION = "of the readers"


@dataclass
class Desk:
    """A folder with files in it, and a ledger beside it that each run opens anew."""

    folder: Path
    told: list[str] = field(default_factory=list)

    @property
    def path(self) -> Path:
        """Where the ledger lies."""
        return self.folder / "state" / FILE

    def run(self, *, trusted: float = 24 * HOUR, version: str = VERSION) -> Ledger:
        """Begin a run."""
        state = str(self.folder / "state")
        ledger = Ledger(folder=state, trusted=trusted, tell=self.told.append)
        ledger._version = version
        return ledger

    def file(self, name: str, content: bytes = b"content", *, age: float = HOUR) -> str:
        """Write a file that changed so many seconds ago."""
        write(self.folder / name, content, age=age)
        return str(self.folder / name)

    def read(self, *paths: str, how: str = "how", facts: str | None = "[]") -> None:
        """Let a run read files."""
        ledger = self.run()
        ledger.recall(how, paths)
        for path in paths:
            ledger.remember(how, path, facts)
        ledger.write()

    def set_back(self, age: float) -> None:
        """Have all that is remembered be read so many seconds ago."""
        with contextlib.closing(sqlite3.connect(self.path)) as file, file:
            file.execute("UPDATE files_1 SET read_at = ?", (time.time() - age,))

    def known(self, *paths: str, how: str = "how") -> list[str]:
        """What the next run remembers."""
        return list(self.run().recall(how, paths))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def keep(tmp_path: Path) -> Iterator[Callable[[Path], None]]:
    """Lock a ledger in another process, as one does that writes for ever."""
    with contextlib.ExitStack() as stack:

        def lock(path: Path) -> None:
            code = (
                "import sqlite3, sys\n"
                "held = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
                "held.execute('BEGIN EXCLUSIVE')\nprint('locked', flush=True)\nsys.stdin.read()"
            )
            words, pipe = [sys.executable, "-c", code, str(path)], subprocess.PIPE
            process = stack.enter_context(subprocess.Popen(words, stdin=pipe, stdout=pipe))
            stack.callback(process.kill)
            assert process.stdout and process.stdout.readline() == b"locked\n"

        yield lock


# --- what has not changed -------------------------------------------------------------------------


def test_of_what_is_to_be_read_next_the_size_is_known(desk: Desk) -> None:
    """Until it was read; of what is remembered, and of what is too young, it is not noted."""
    known, next_one, young = (desk.file(name) for name in ("a.jpg", "b.jpg", "c.jpg"))
    desk.read(known)
    stamp(Path(young), 0)
    ledger = desk.run()
    ledger.recall("how", [known, next_one, young])

    assert [ledger.size_before("how", one) for one in (known, next_one, young)] == [None, 7, None]
    ledger.remember("how", next_one, None)
    assert ledger.size_before("how", next_one) is None


def test_a_run_that_trusts_nothing_notes_what_it_reads(desk: Desk) -> None:
    path = desk.file("a.jpg")
    desk.read(path, facts="old")
    ledger = desk.run(trusted=0)

    assert ledger.recall("how", [path]) == {}
    assert ledger.remember("how", path, "new")
    ledger.write()
    (seen,) = desk.run().recall("how", [path]).values()
    assert seen.facts == "new"


def test_what_was_read_is_remembered_as_it_was_handed_over(desk: Desk) -> None:
    odd, whole = desk.file("odd.jpg"), desk.file("whole.jpg")
    desk.read(odd, facts='[{"kind": "cut", "text": "\\u00e9"}]')
    desk.read(whole, facts=None)

    known = desk.run().recall("how", [odd, whole])

    assert {path: one.facts for path, one in known.items()} == {
        odd: '[{"kind": "cut", "text": "\\u00e9"}]',
        whole: None,
    }
    assert all(0 <= time.time() - one.read_at < 60 for one in known.values())
    assert desk.told == []


@pytest.mark.fresh
def test_nothing_is_written_and_nothing_imported_where_nothing_was_read(desk: Desk) -> None:
    """A run that looks at no file pays nothing for the ledger."""
    code = (
        "from preflight.ledger.store import Ledger\n"
        f"ledger = Ledger(folder={str(desk.folder / 'state')!r}, trusted=1, tell=print)\n"
        f"ledger.recall('how', [{desk.file('a')!r}])\nledger.write()\n"
        "print('sqlite3' in sys.modules)"
    )

    assert said_by(code) == "False"
    assert not (desk.folder / "state").exists()


def test_one_folder_is_the_same_by_every_path(desk: Desk) -> None:
    """Through a link, or with a step up and down again."""
    path = desk.file("real/a.tar")
    (desk.folder / "link").symlink_to("real", target_is_directory=True)
    desk.read(path)

    for other in ("link/a.tar", "real/../real/a.tar"):
        assert desk.known(f"{desk.folder}/{other}") == [f"{desk.folder}/{other}"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
@pytest.mark.parametrize("name", [b"caf\xe9.jpg", b"two\nlines.jpg", "\U0001f436.jpg".encode()])
def test_every_name_can_be_remembered(desk: Desk, name: bytes) -> None:
    path = desk.file(os.fsdecode(name))
    desk.read(path)

    assert desk.known(path) == [path]


def test_files_of_one_folder_are_kept_apart(desk: Desk) -> None:
    one, other, below = desk.file("a"), desk.file("b"), desk.file("below/a")
    desk.read(one)

    assert desk.known(one, other, below) == [one]
    assert desk.known(one, how="other") == []


# --- what has changed -----------------------------------------------------------------------------


def grow(path: Path) -> None:
    """Keep the time of change, as a copy may do."""
    before = path.stat()
    path.write_bytes(b"longer content")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def age(path: Path) -> None:
    stamp(path, 2 * HOUR)


@pytest.mark.parametrize("change", [grow, age, os.unlink], ids=["its size", "its time", "gone"])
def test_a_file_that_is_not_what_it_was_is_read_again(
    desk: Desk, change: Callable[[Path], None]
) -> None:
    path = desk.file("a")
    desk.read(path)
    change(Path(path))

    assert desk.known(path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="keeps no time of a change of the inode")
def test_a_file_written_in_place_with_its_old_time_is_read_again(desk: Desk) -> None:
    """As `cp -p` and `rsync --inplace` write the good copy over the damaged one."""
    path = desk.file("a", b"1234567")
    before = os.stat(path)
    desk.read(path)
    marked = mark_of(str(desk.folder), ["a"])
    time.sleep(0.02)
    Path(path).write_bytes(b"7654321")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = os.stat(path)

    for name in ("st_size", "st_mtime_ns", "st_ino"):
        assert getattr(after, name) == getattr(before, name)
    assert desk.known(path) == []
    assert None is not marked != mark_of(str(desk.folder), ["a"])


@pytest.mark.skipif(sys.platform == "win32", reason="not every file system there numbers files")
def test_another_file_of_the_same_size_and_time_is_read_again(desk: Desk) -> None:
    path, other = desk.file("a", b"1234567"), desk.file("other", b"7654321")
    desk.read(path)
    before = os.stat(path)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    os.replace(other, path)
    after = os.stat(path)

    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert desk.known(path) == []


def test_a_link_that_leads_elsewhere_is_read_again(desk: Desk) -> None:
    """What it leads to counts, not the link."""
    first, second = desk.file("1"), desk.file("2")
    link = desk.folder / "a"
    link.symlink_to(first)
    desk.read(str(link))
    assert desk.known(str(link)) == [str(link)]
    link.unlink()
    link.symlink_to(second)

    assert desk.known(str(link)) == []


@pytest.mark.parametrize("age", [0, 1.5, -HOUR], ids=["new", "young", "from the future"])
def test_a_file_that_changed_just_now_is_read_again(desk: Desk, age: float) -> None:
    """It may change once more within the same tick of its clock."""
    path = desk.file("a", age=age)
    desk.read(path)
    assert desk.known(path) == []
    stamp(Path(path), HOUR)
    desk.read(path)
    stamp(Path(path), age)

    assert desk.known(path) == []


def test_a_file_that_changes_while_it_is_read_is_not_remembered(desk: Desk) -> None:
    """Nobody knows which of the two was seen."""
    path = desk.file("a")
    ledger = desk.run()
    ledger.recall("how", [path])
    Path(path).write_bytes(b"other content")
    stamp(Path(path), HOUR / 2)
    ledger.remember("how", path, "[]")
    ledger.write()

    assert desk.known(path) == []


def test_another_version_of_the_readers_reads_again(desk: Desk) -> None:
    path = desk.file("a")
    desk.read(path, facts="old")

    newer = desk.run(version="newer")
    assert newer.recall("how", [path]) == {}
    newer.remember("how", path, "new")
    newer.write()

    assert desk.run(version="newer").recall("how", [path])[path].facts == "new"
    assert desk.known(path) == []


def test_the_version_is_that_of_every_source_and_every_decoder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One byte in a reader is enough, and so is another build of Pillow."""
    home = tmp_path / "preflight"
    shutil.copytree(ROOT / "preflight", home, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(versions, "PACKAGE", str(home))
    package = tmp_path / "decoders" / "PIL"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    seen = [versions.readers_version()]
    assert versions.readers_version() == seen[0]
    (home / "shards" / "__pycache__").mkdir()  # as a first run makes it
    assert versions.readers_version() == seen[0]

    for path in (home / "formats" / "tar" / "walk.py", home / "shards" / "read.py"):
        path.write_bytes(path.read_bytes() + b"#")
        seen.append(versions.readers_version())
    os.utime(path, (1_700_000_000, 1_700_000_000))  # of the same size, and put in later
    seen.append(versions.readers_version())
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.delitem(sys.modules, "PIL", raising=False)
    for name in ("_version.py", "_imaging.so"):
        (package / name).write_text("12.0.0")
        seen.append(versions.readers_version())

    assert len(set(seen)) == len(seen)


def test_rows_are_believed_for_as_long_as_is_said(desk: Desk) -> None:
    """Not at all where nothing is; and one from the future is from a clock that was wrong."""
    path = desk.file("a", age=48 * HOUR)
    desk.read(path)
    assert desk.run(trusted=HOUR).recall("how", [path])
    assert desk.run(trusted=0).recall("how", [path]) == {}

    for age in (2 * HOUR, -2 * HOUR):
        desk.set_back(age)
        assert desk.run(trusted=HOUR).recall("how", [path]) == {}


def test_rows_that_nobody_would_believe_are_dropped(desk: Desk) -> None:
    """So that the ledger of a cache that is made anew each week stays small."""
    desk.read(desk.file("old"))
    desk.set_back(91 * 24 * HOUR)
    desk.read(desk.file("new"))

    with contextlib.closing(sqlite3.connect(desk.path)) as file:
        assert file.execute("SELECT name FROM files_1").fetchall() == [(b"new",)]


# --- damaged, locked, not to be written -----------------------------------------------------------


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "garbled": lambda whole: random.Random(1).randbytes(len(whole)),
    "cut": lambda whole: whole[:4096],
    "with a page of zeros": lambda whole: zeroed(whole, 4096, 8192),
    "with a turned bit": lambda whole: whole.replace(b"the facts", b"the fects"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_ledger_is_set_aside_and_kept(
    desk: Desk, damage: Callable[[bytes], bytes]
) -> None:
    path = desk.file("a")
    desk.read(path, facts="the facts")
    damaged = damage(desk.path.read_bytes())
    desk.path.write_bytes(damaged)

    assert desk.known(path) == []
    desk.read(path, facts="the facts")
    assert desk.run().recall("how", [path])[path].facts == "the facts"

    (beside,) = desk.path.parent.glob(f"{FILE}.damaged-*")
    assert beside.read_bytes() == damaged
    assert len(desk.told) == 1
    assert str(beside) in desk.told[0]


def test_wherever_a_ledger_is_damaged_nothing_is_raised_and_nothing_wrong_is_believed(
    desk: Desk,
) -> None:
    """Also where a turned bit makes bytes of a text, or a schema that is no UTF-8."""
    path = desk.file("a")
    desk.read(path, facts="the facts")
    whole = desk.path.read_bytes()
    used = [place for place, byte in enumerate(whole) if byte]
    chance = random.Random(4)

    for _ in range(150):
        content = bytearray(whole)
        for _ in range(chance.choice((1, 3, 50))):
            content[chance.choice(used)] = chance.randrange(256)
        desk.path.write_bytes(content)
        known = desk.run().recall("how", [path])

        assert [one.facts for one in known.values()] in ([], ["the facts"])
        desk.read(path, facts="the facts")


def test_a_ledger_whose_text_has_become_bytes_is_set_aside(desk: Desk) -> None:
    """One bit tells the two apart in SQLite's files."""
    path = desk.file("a")
    desk.read(path, facts="the facts")
    with contextlib.closing(sqlite3.connect(desk.path)) as file, file:
        file.execute("UPDATE files_1 SET facts = CAST(facts AS BLOB)")

    assert desk.known(path) == []
    assert "set aside" in desk.told[0]


def test_a_ledger_that_is_damaged_while_it_is_added_to_is_set_aside(desk: Desk) -> None:
    path = desk.file("a")
    desk.path.parent.mkdir()
    ledger = desk.run()
    ledger.recall("how", [path])
    ledger.remember("how", path, "[]")
    desk.path.write_bytes(b"no database " * 1000)
    ledger.write()

    assert desk.known(path) == [path]
    assert len(desk.told) == 1


def test_an_empty_ledger_is_none(desk: Desk) -> None:
    """A run that was killed may leave one."""
    path = desk.file("a")
    desk.path.parent.mkdir()
    desk.path.touch()

    assert desk.known(path) == []
    desk.read(path)
    assert desk.known(path) == [path]
    assert desk.told == []


def test_a_ledger_that_is_locked_is_done_without(desk: Desk, keep: Callable[[Path], None]) -> None:
    path = desk.file("a")
    desk.read(path)
    keep(desk.path)
    begun = time.monotonic()

    ledger = desk.run()
    assert ledger.recall("how", [path]) == {}
    ledger.remember("how", path, "[]")
    ledger.write()

    assert time.monotonic() - begun < 60
    assert desk.told == [
        f"the ledger cannot be used, and is done without: {desk.path}: database is locked"
    ]


def test_a_ledger_that_is_no_file_is_done_without(desk: Desk) -> None:
    path = desk.file("a")
    desk.path.mkdir(parents=True)

    assert desk.known(path) == []
    assert len(desk.told) == 1


def test_a_folder_that_cannot_be_made_is_done_without(desk: Desk) -> None:
    desk.file("state")
    desk.read(desk.file("a"), desk.file("b"))

    assert len(desk.told) == 1
    assert str(desk.path) in desk.told[0]


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere"
)
def test_a_ledger_that_cannot_be_written_is_read_all_the_same(desk: Desk) -> None:
    """It may lie on a disk that is mounted for reading."""
    old, new = desk.file("old"), desk.file("new")
    desk.read(old)
    desk.path.chmod(0o444)
    desk.path.parent.chmod(0o555)
    try:
        desk.read(new)
        assert desk.known(old, new) == [old]
    finally:
        desk.path.parent.chmod(0o755)
    assert len(desk.told) == 1


def test_git_leaves_the_ledger_alone(desk: Desk) -> None:
    """The folder ignores itself, whoever makes it first."""
    desk.read(desk.file("a"))

    assert (desk.path.parent / ".gitignore").read_text() == "*\n"


# --- several runs, and runs that are killed -------------------------------------------------------

WRITER = """
import sys, time
from preflight.ledger.store import Ledger
state, folder, first, last, pause = sys.argv[1:]
paths = [f"{folder}/{number}" for number in range(int(first), int(last))]
ledger = Ledger(folder=state, trusted=1e9, tell=lambda text: sys.exit(text))
ledger._version = "of the readers"
ledger.recall("how", paths)
print("begun", flush=True)
for path in paths:
    ledger.remember("how", path, "x" * 200)
    ledger.write()
    time.sleep(float(pause))
"""


def begin_to_write(
    desk: Desk, first: int, last: int, *, pause: float = 0.0
) -> subprocess.Popen[bytes]:
    words = [str(desk.path.parent), str(desk.folder / "data"), str(first), str(last), str(pause)]
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_runs_at_the_same_time_lose_nothing_of_each_other(desk: Desk) -> None:
    paths = [desk.file(f"data/{number}") for number in range(300)]
    writers = [begin_to_write(desk, n * 100, n * 100 + 100, pause=0.02) for n in range(3)]

    for writer in writers:
        assert writer.communicate(timeout=120)[1] == b""
        assert writer.returncode == 0
    assert set(desk.known(*paths)) == set(paths)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9")
def test_a_run_that_is_killed_leaves_a_sound_ledger(desk: Desk) -> None:
    paths = [desk.file(f"data/{number}") for number in range(2_000)]
    desk.read(paths[0])
    dice = random.Random(7)
    known = 1
    for _ in range(25):
        with begin_to_write(desk, 1, len(paths)) as writer:
            assert writer.stdout and writer.stdout.readline()
            time.sleep(dice.uniform(0, 0.1))
            writer.kill()
            writer.communicate()

        remembered = desk.run().recall("how", paths)
        assert remembered[paths[0]].facts == "[]"
        assert len(remembered) >= known
        known = len(remembered)
        assert all(isinstance(one, Remembered) for one in remembered.values())
        with contextlib.closing(sqlite3.connect(desk.path)) as file:
            assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert known > 1
    assert desk.told == []
    assert list(desk.path.parent.glob("*.damaged-*")) == []
