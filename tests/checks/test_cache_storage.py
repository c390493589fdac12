"""The place of a cache: what is told of it, and what is left alone."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

import preflight
from preflight.facts import Locks, ReadBack, StorageProbe, Tried
from preflight.finding import Severity
from preflight.findings.report import Report
from preflight.settings.job import Job, Launch
from preflight.testing import ask
from tests.files import WHOLE, put

pytestmark = pytest.mark.usefixtures("at_hand")

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b5500"
    "00000a49444154789c636800000082008177cd72b60000000049454e44ae426082"
)
HEALTHY = Tried(
    writers=3,
    renamed=ReadBack(reads=900, writes=200),
    created=40,
    flock=Locks(turns=90),
    fcntl=Locks(turns=90),
    folds_case=False,
)
PROBE = StorageProbe(
    file="cache", is_written=True, tried=HEALTHY, system="ext4", is_remote=False, free=10**12
)
NFS = replace(PROBE, system="nfs4", is_remote=True)
RANKS = Job(launch=Launch(world_size=4))


def told(facts: StorageProbe, job: Job = RANKS) -> list[tuple[Severity, str]]:
    return [(one.severity, one.message) for one in ask("cache-storage", facts, job)]


def of_tried(**more: object) -> StorageProbe:
    return replace(NFS, tried=HEALTHY._replace(**more))  # type: ignore[arg-type]


def without_room(**more: object) -> StorageProbe:
    given = {"tried": None, "refused": "No space left on device (OSError)", "is_full": True}
    return replace(PROBE, **{**given, **more})  # type: ignore[arg-type]


def test_a_place_without_room_for_our_files_may_have_some_for_the_jobs() -> None:
    few = {"free_files": 13}
    for more in (few, {**few, "missing": 5}, {"free": 100_000}):
        ((severity, message),) = told(without_room(**more))

        assert severity is Severity.NOTE
        assert "to try there" in message


def test_too_few_inodes_are_told_as_such_where_our_files_had_none_left() -> None:
    ((severity, message),) = told(without_room(free_files=13, missing=35, entry_size=10))

    assert severity is Severity.ERROR
    assert "inodes for 13 more files, and 35 missing entries" in message


@pytest.mark.parametrize("more", [{"free": 0}, {"free_files": 0}, {}])
def test_a_place_without_any_room_is_full_and_not_closed(more: dict[str, int]) -> None:
    (one,) = ask("cache-storage", without_room(**more), RANKS)

    assert one.severity is Severity.ERROR
    assert one.message == "is full: No space left on device (OSError) (ext4)"
    assert one.fix == "Make room there, or name a larger place."


# --- what is left alone ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "facts",
    [
        PROBE,
        NFS,
        replace(PROBE, system="tmpfs"),
        replace(PROBE, is_there=False, place="."),
        replace(PROBE, missing=100, entry_size=10**9, free_files=100),
        replace(PROBE, missing=100, entry_size=None, free=0),
        replace(PROBE, is_written=False, tried=None, read_only=True),
        replace(PROBE, tried=HEALTHY._replace(flock=None, fcntl=None)),
        replace(PROBE, tried=HEALTHY._replace(folds_case=True)),
        replace(PROBE, cased=("Dog", "dog")),
    ],
    ids=[
        *("disk", "network", "in memory", "still to be made", "just enough room"),
        *("entries of unknown size", "only read", "no locks to be had on Windows"),
        *("case without two such keys", "two such keys without case"),
    ],
)
def test_places_that_are_fit_are_left_alone(facts: StorageProbe) -> None:
    assert told(facts) == []


# --- what is told ---------------------------------------------------------------------------------


def test_a_rename_that_is_not_atomic_is_an_error_where_several_ranks_write() -> None:
    facts = of_tried(renamed=ReadBack(reads=500, torn=3, absent=2, writes=90))

    assert told(facts) == [
        (
            Severity.ERROR,
            (
                "lies where a rename over a file is not atomic (nfs4, over the network): of 500 "
                "reads, 3 gave a part or a mixture of what was written and 2 found no file, "
                "although it was there before, while 3 processes renamed whole files over it"
            ),
        )
    ]
    assert [severity for severity, _ in told(facts, Job())] == [Severity.WARNING]


def test_locks_and_creation_that_are_not_exclusive_are_warnings() -> None:
    facts = of_tried(
        created_twice=2,
        flock=Locks(said="Function not implemented (OSError)"),
        fcntl=Locks(turns=90, lost=30),
    )

    assert told(facts) == [
        (
            Severity.WARNING,
            (
                "lies where O_EXCL is not exclusive (nfs4, over the network): of 40 files that 3 "
                "processes created at once, 2 were created by more than one"
            ),
        ),
        (
            Severity.WARNING,
            (
                "lies where locks by flock cannot be had (nfs4, over the network): Function not "
                "implemented (OSError)"
            ),
        ),
        (
            Severity.WARNING,
            (
                "lies where locks by fcntl keep nobody out (nfs4, over the network): in 30 of 90 "
                "turns, another process had the lock too"
            ),
        ),
    ]


def test_locks_that_hang_are_told_once() -> None:
    said = "nobody got one in time"
    facts = of_tried(flock=Locks(said=said), fcntl=None, late="locks by flock")

    assert [message.rpartition(": ")[2] for _, message in told(facts)] == [said]


def test_what_did_not_come_to_an_end_is_a_note() -> None:
    assert [severity for severity, _ in told(of_tried(late="renames"))] == [Severity.NOTE]


@pytest.mark.parametrize(
    ("is_written", "severity"), [(True, Severity.ERROR), (False, Severity.WARNING)]
)
def test_too_little_room_is_told_with_numbers(*, is_written: bool, severity: Severity) -> None:
    facts = replace(PROBE, is_written=is_written, missing=2_000, entry_size=10**6, free=10**9)

    assert told(facts) == [
        (
            severity,
            (
                "has room for 1.0 GB, and its 2,000 missing entries of about 1.0 MB each need "
                "2.0 GB (ext4)"
            ),
        )
    ]
    assert (
        ask("cache-storage", facts)[0].fix == "Make room for 1.0 GB more, or name a larger place."
    )


def test_caches_of_one_file_system_share_its_room() -> None:
    facts = replace(PROBE, missing=500, entry_size=10**6, free=10**9, before=6 * 10**8)

    (said,) = [message for _, message in told(facts)]
    assert "need 500.0 MB, and caches before it need 600.0 MB" in said


def test_too_few_inodes_are_told_with_numbers() -> None:
    facts = replace(PROBE, missing=2_000, free_files=1_500)

    assert told(facts) == [
        (
            Severity.ERROR,
            "has inodes for 1,500 more files, and 2,000 missing entries need one each (ext4)",
        )
    ]


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (
            replace(PROBE, tried=None, read_only=True),
            "cannot be written to: its file system is mounted for reading only (ext4)",
        ),
        (
            replace(PROBE, tried=None, refused="Permission denied (PermissionError)"),
            "cannot be written to: Permission denied (PermissionError) (ext4)",
        ),
        (
            replace(PROBE, tried=None, refused="out is no folder", is_there=False),
            "cannot be made: out is no folder (ext4)",
        ),
    ],
)
def test_a_place_that_cannot_be_written_to_is_an_error(facts: StorageProbe, said: str) -> None:
    assert told(facts) == [(Severity.ERROR, said)]


def test_two_keys_that_are_one_where_case_is_folded_are_an_error() -> None:
    facts = replace(of_tried(folds_case=True), cased=("Dog", "dog"))

    assert told(facts) == [
        (
            Severity.ERROR,
            (
                "lies where capital letters make no difference (nfs4, over the network), and two "
                "samples have the keys Dog and dog"
            ),
        )
    ]


# --- which places are tried -----------------------------------------------------------------------


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """Four photos, and a cache that has the entries of two of them."""
    put(tmp_path / "photos", *(f"{one}.png" for one in "abcd"), content=PNG)
    put(tmp_path / "cache", "a.safetensors", "b.safetensors", content=WHOLE)
    return tmp_path


def look(folder: Path, cache: str = "", launch: str = "", **options: object) -> Report:
    data = '[[data]]\npath = "photos"\ncaptions = "none"\n'
    text = f'{launch}{data}[[cache]]\npath = "cache"\nof = ["photos"]\nkey = "stem"\n{cache}\n'
    (folder / "preflight.toml").write_text(text, encoding="utf-8")
    checks = ["cache-storage", "cache-incomplete"]
    return preflight.run(folder=str(folder), select=checks, **options)  # type: ignore[arg-type]


def outcome(report: Report) -> tuple[str, int, tuple[str, ...]]:
    (one,) = [one for one in report.checks if one.id == "cache-storage"]
    return one.outcome, one.looked_at, tuple(skip.reason for skip in one.skipped)


def test_a_cache_that_is_only_read_is_left_alone(job: Path) -> None:
    before = os.stat(job / "cache").st_mtime_ns

    assert outcome(look(job, "written = false", probe_storage=True))[0] == "skipped"
    assert os.stat(job / "cache").st_mtime_ns == before


def test_a_cache_of_which_nothing_is_said_is_not_written_to(job: Path) -> None:
    """Only its room is held against the entries that are missing."""
    before = os.stat(job / "cache").st_mtime_ns

    assert outcome(look(job)) == ("passed", 1, ())
    assert os.stat(job / "cache").st_mtime_ns == before


def test_a_cache_that_has_all_its_entries_is_not_asked_about(job: Path) -> None:
    put(job / "cache", "c.safetensors", "d.safetensors", content=WHOLE)

    assert outcome(look(job))[:2] == ("skipped", 0)


@pytest.mark.parametrize(
    ("cache", "options"), [("written = true", {}), ("", {"probe_storage": True})]
)
def test_a_cache_that_is_written_to_is_tried_and_left_as_it_was(
    job: Path, cache: str, options: dict[str, object]
) -> None:
    """And what is said of its entries is as it was, too."""
    before = os.stat(job / "cache").st_mtime_ns
    report = look(job, cache, **options)

    assert outcome(report) == ("passed", 1, ())
    assert os.stat(job / "cache").st_mtime_ns > before
    assert sorted(os.listdir(job / "cache")) == ["a.safetensors", "b.safetensors"]
    (missing,) = [one for one in report.findings if one.check == "cache-incomplete"]
    assert missing.severity == Severity.WARNING
    assert "lacks the entries of 2 of 4 samples" in missing.message


def test_a_cache_that_is_still_to_be_made_is_no_missing_target(job: Path) -> None:
    for one in (job / "cache").iterdir():
        one.unlink()
    (job / "cache").rmdir()
    report = look(job, "written = true")

    assert outcome(report) == ("passed", 1, ())
    assert [one.check for one in report.findings] == ["cache-incomplete"]
    assert "is empty: the entries of 4 samples are still to be made" in report.findings[0].message
    assert report.verdict == "go"
    assert not (job / "cache").exists()


def test_a_cache_of_another_machine_is_left_alone(job: Path) -> None:
    report = look(job, "written = true", elsewhere=True)

    assert outcome(report) == ("skipped", 0, ("the job will run on another machine",))
    assert report.verdict == "go"


def test_a_cache_that_a_word_names_is_tried_where_that_is_said(job: Path) -> None:
    cache = ["cache=cache"]
    asked = preflight.run(
        *cache, folder=str(job), select=["cache-storage"], no_config=True, probe_storage=True
    )

    assert outcome(asked) == ("passed", 1, ())
    unasked = preflight.run(*cache, folder=str(job), select=["cache-storage"], no_config=True)
    assert outcome(unasked)[:2] == ("skipped", 0)
