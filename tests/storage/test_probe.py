"""A folder is tried by real processes; file systems that break promises are simulated."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from preflight.storage import probe, system_files
from preflight.storage.facts import StorageProbe, Tried
from preflight.storage.read import look_at

LAYERS = Path(__file__).parent / "layers.py"


@pytest.fixture(params=["tmp_path", "/dev/shm"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Give a folder on a disk, then one in memory."""
    if request.param == "tmp_path":
        yield tmp_path
        return
    if not os.path.isdir("/dev/shm"):
        pytest.skip("there is no /dev/shm here")
    folder = Path("/dev/shm") / f"preflight-test-{os.getpid()}"
    folder.mkdir()
    yield folder
    folder.rmdir()


@pytest.fixture
def write_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have four processes write for a moment only, where something else is what is tested."""
    monkeypatch.setattr(probe, "_RENAMED", 0.05)


def seen(path: Path, simulated: str | None = None, *, is_written: bool = True) -> StorageProbe:
    """Look at a place, by a layer of the tests where one is simulated."""
    name = system_files.PLAIN if simulated is None else f"{LAYERS}:{simulated}"
    return look_at(str(path), str(path), lambda: None, is_written=is_written, layer=name)


def tried(path: Path, simulated: str | None = None) -> Tried:
    facts = seen(path, simulated)
    assert facts.tried is not None, facts.refused
    assert os.listdir(path) == []
    return facts.tried


def test_an_ordinary_file_system_does_what_writers_rely_on(place: Path) -> None:
    found = tried(place)

    assert found.renamed.bad == 0
    assert min(found.renamed.reads, found.renamed.writes) > 0
    assert (found.created, found.created_twice) == (40, 0)
    assert found.late == ""
    for locks in (found.flock, found.fcntl):
        assert locks is not None
        assert locks.turns > 0
        assert (locks.lost, locks.said) == (0, "")


def test_a_simulated_rename_that_copies_is_seen_and_nothing_else(tmp_path: Path) -> None:
    found = tried(tmp_path, "RenameByCopying")

    assert found.renamed.absent > 0
    assert found.renamed.torn > 0
    assert found.created_twice == 0
    assert found.flock is not None
    assert found.flock.lost == 0


@pytest.mark.usefixtures("write_briefly")
def test_simulated_locks_that_do_nothing_are_seen_and_nothing_else(tmp_path: Path) -> None:
    found = tried(tmp_path, "IdleLocks")

    for locks in (found.flock, found.fcntl):
        assert locks is not None
        assert locks.lost > 0
    assert (found.renamed.bad, found.created_twice) == (0, 0)


@pytest.mark.usefixtures("write_briefly")
def test_a_simulated_mount_without_flock_says_why(tmp_path: Path) -> None:
    found = tried(tmp_path, "NoFlock")

    assert found.flock is not None
    assert found.flock.said == "Function not implemented (OSError)"
    assert found.fcntl is not None
    assert found.fcntl.said == ""


def test_a_simulated_system_without_locks_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)  # as the layer does, and for this test only
    found = tried(tmp_path, "NoFcntl")

    for locks in (found.flock, found.fcntl):
        assert locks is not None
        assert locks.said == "this system has no such locks (OSError)"
    assert (found.renamed.bad, found.late) == (0, "")


@pytest.mark.usefixtures("write_briefly")
def test_a_simulated_creation_by_several_is_seen(tmp_path: Path) -> None:
    assert tried(tmp_path, "SharedCreation").created_twice > 0


@pytest.mark.usefixtures("write_briefly")
def test_a_simulated_file_system_that_folds_case_is_seen(tmp_path: Path) -> None:
    assert tried(tmp_path, "FoldedCase").folds_case
    assert not probe._folds_case(str(tmp_path), system_files.Files())


def test_simulated_locks_that_hang_are_left_after_their_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what was to be tried then is not."""
    monkeypatch.setattr(probe, "_LATE", 1.0)
    begun = time.monotonic()

    found = tried(tmp_path, "HangingLocks")

    assert found.late == "locks by flock"
    assert found.flock is not None
    assert found.flock.said == "nobody got one in time"
    assert (found.fcntl, found.renamed.reads) == (None, 0)
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize(
    ("simulated", "said"),
    [
        ("ReadOnly", "Read-only file system (OSError)"),
        ("Full", "No space left on device (OSError)"),
        ("FullLater", "No space left on device (OSError)"),
    ],
)
def test_a_simulated_refusal_is_said_and_nothing_is_left(
    tmp_path: Path, simulated: str, said: str
) -> None:
    facts = seen(tmp_path, simulated)

    assert (facts.refused, facts.tried) == (said, None)
    assert facts.is_full is (simulated != "ReadOnly")
    assert os.listdir(tmp_path) == []


@pytest.mark.usefixtures("write_briefly")
def test_a_cache_that_is_still_to_be_made_is_tried_in_what_is_there(tmp_path: Path) -> None:
    facts = look_at(str(tmp_path / "out" / "cache"), str(tmp_path), lambda: None)

    assert (facts.file, facts.place, facts.is_there) == ("out/cache", ".", False)
    assert facts.tried is not None
    assert os.listdir(tmp_path) == []


@pytest.mark.usefixtures("write_briefly")
def test_a_link_to_a_folder_is_tried_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "cache").symlink_to("disk")

    facts = look_at(str(tmp_path / "cache"), str(tmp_path), lambda: None)

    assert (facts.file, facts.place, facts.is_there) == ("cache", "disk", True)
    assert facts.tried is not None


def test_nothing_is_written_to_a_cache_that_nobody_says_is_written_to(tmp_path: Path) -> None:
    before = os.stat(tmp_path).st_mtime_ns

    facts = seen(tmp_path, is_written=False)

    assert facts.tried is None
    assert facts.free is not None
    assert os.stat(tmp_path).st_mtime_ns == before


def test_a_file_where_a_folder_is_to_be_is_said(tmp_path: Path) -> None:
    (tmp_path / "out").touch()

    facts = look_at(str(tmp_path / "out" / "cache"), str(tmp_path), lambda: None)

    assert facts.refused == "out is no folder"
