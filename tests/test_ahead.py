"""What a process beside us says of files is what we would have seen, or is not used."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy
import pytest

import preflight as package
from preflight import ahead, early, lookout
from preflight.listing import list_names
from preflight.marks import marks_of
from preflight.readers import cache_listing
from preflight.readers.cache_listing import list_cache
from preflight.report import Report

LONG_AGO = 1_600_000_000


@pytest.fixture(autouse=True)
def nothing_asks() -> Iterator[None]:
    """Leave no process behind, whatever happens."""
    yield
    ahead.end()
    early.end()


def write(folder: Path, names: Sequence[str], *, content: bytes | None = None) -> None:
    """Write files that are old enough for their times to be believed."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.fsencode(name) if content is None else content)
        os.utime(path, (LONG_AGO, LONG_AGO))


def cached(folder: Path) -> list[str]:
    """Give the names of a cache's files, as those who ask have them."""
    top = os.path.join(folder, "")
    return [path.removeprefix(top) for path in list_cache(str(folder)).files]


@pytest.mark.parametrize(
    "names",
    [
        ["a.pt", "b.npy", "c.safetensors", "d.npz", "e.pth", "__0_0.distcp"],
        ["z/a.pt", "b/c/d.pt", "b.pt", "b/a.pt", "b-c/a.pt", "a.pt"],
        ["line\nbreak.pt", "ünïcode 名.pt", "space .pt"],
        [".hidden.pt", "._a.pt", "a.pt.tmp", "a.txt", "noext", "pt", ".pt", "a.pt"],
        [f"{index:04}.pt" for index in range(3_000)],
    ],
    ids=["every kind", "nested", "odd names", "other files", "many"],
)
def test_it_is_what_we_would_have_seen(tmp_path: Path, names: list[str]) -> None:
    write(tmp_path, names)
    ahead.begin([str(tmp_path)])
    found = cached(tmp_path)

    assert ahead.marks(str(tmp_path), found) == marks_of(str(tmp_path), found)


def test_it_knows_the_same_suffixes_as_whoever_lists_a_cache() -> None:
    """It has a list of its own, since the other's home takes too long to import."""
    assert lookout._SUFFIXES == cache_listing._SURE


@pytest.mark.skipif(sys.platform != "linux", reason="names that are no Unicode")
def test_a_name_that_is_no_unicode_is_told(tmp_path: Path) -> None:
    write(tmp_path, [os.fsdecode(b"a\xff.pt"), "b.pt"])
    ahead.begin([str(tmp_path)])
    found = cached(tmp_path)

    assert ahead.marks(str(tmp_path), found) == marks_of(str(tmp_path), found)


@pytest.mark.parametrize("count", [1, 3_000])
def test_a_folder_of_files_is_listed_as_we_would(tmp_path: Path, count: int) -> None:
    write(tmp_path, [*(f"{index:04}.pt" for index in range(count)), ".hidden", "a.txt"])
    ahead.begin([str(tmp_path)])

    found, expected = ahead.listed(str(tmp_path)), list_names(str(tmp_path))
    assert found is not None
    assert sorted(found.files) == sorted(expected.files)
    assert replace(found, files=[]) == replace(expected, files=[])
    assert ahead.listed(str(tmp_path)) is None  # whoever took it may have used it up


@pytest.mark.parametrize("what", ["a folder", "a link", "a broken link", "a pipe", "nothing"])
def test_a_folder_with_anything_but_files_is_listed_by_us(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "cache"
    write(folder, ["a.pt", "b.pt"] if what != "nothing" else [])
    folder.mkdir(exist_ok=True)
    if what == "a folder":
        (folder / "inner").mkdir()
    elif "link" in what:
        (folder / "c.pt").symlink_to("b.pt" if what == "a link" else "none")
    elif what == "a pipe" and hasattr(os, "mkfifo"):
        os.mkfifo(folder / "c.pt")
    ahead.begin([str(folder)])

    assert ahead.listed(str(folder)) is None


def test_a_folder_into_which_something_was_put_since_is_listed_by_us(tmp_path: Path) -> None:
    write(tmp_path, ["a.pt", "b.pt"])
    ahead.begin([str(tmp_path)])
    ahead._lookouts[0].popen.wait()
    write(tmp_path, ["c.pt"])

    assert ahead.listed(str(tmp_path)) is None


def test_folders_are_told_in_any_order_and_each_once(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder in folders:
        write(folder, [f"{folder.name}.pt"])
    ahead.begin([str(one) for one in folders])

    assert ahead.marks(str(folders[1]), ["b.pt"]) == marks_of(str(folders[1]), ["b.pt"])
    assert ahead.marks(str(folders[0]), ["a.pt"]) == marks_of(str(folders[0]), ["a.pt"])
    assert ahead.listed(str(folders[2])) is not None
    assert ahead.marks(str(folders[2]), ["c.pt"]) == marks_of(str(folders[2]), ["c.pt"])
    assert ahead.marks(str(folders[2]), ["c.pt"]) is None


def test_a_folder_is_the_same_under_a_relative_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "cache", ["a.pt"])
    monkeypatch.chdir(tmp_path)
    ahead.begin(["./cache/"])

    assert ahead.marks(str(tmp_path / "cache"), ["a.pt"]) == marks_of("cache", ["a.pt"])


@pytest.mark.parametrize(
    "asked", [["a.pt"], ["a.pt", "b.pt", "c.pt"], ["a.pt", "c.pt"], []], ids=str
)
def test_of_other_files_than_it_saw_nothing_is_said(tmp_path: Path, asked: list[str]) -> None:
    """A file came, or went; or whoever lists a cache leaves it out for a reason of his own."""
    write(tmp_path, ["a.pt", "b.pt"])
    ahead.begin([str(tmp_path)])

    assert not ahead.marks(str(tmp_path), asked)


def test_files_that_may_change_again_unseen_are_asked_about_later(tmp_path: Path) -> None:
    write(tmp_path, ["a.pt", "b.pt"])
    os.utime(tmp_path / "b.pt", (time.time() - 1, time.time() - 1))
    ahead.begin([str(tmp_path)])

    assert ahead.marks(str(tmp_path), ["a.pt", "b.pt"]) is None


@pytest.mark.parametrize("what", ["a file", "gone", "empty"])
def test_where_there_is_nothing_to_ask_about_nothing_is_said(tmp_path: Path, what: str) -> None:
    place = tmp_path / "cache"
    if what == "a file":
        place.touch()
    elif what == "empty":
        place.mkdir()
    ahead.begin([str(place)])

    assert not ahead.marks(str(place), [])
    assert not ahead.marks(str(place), ["a.pt"])


def test_a_folder_that_nobody_asked_about_takes_no_time(tmp_path: Path) -> None:
    assert ahead.marks(str(tmp_path), ["a.pt"]) is None
    ahead.begin([str(tmp_path)])
    assert ahead.marks(str(tmp_path / "other"), ["a.pt"]) is None


@pytest.mark.parametrize("when", ["at once", "in the middle"])
def test_a_process_that_dies_is_done_without(tmp_path: Path, when: str) -> None:
    names = [f"{index:0200}.pt" for index in range(4_000)]  # more than a pipe holds
    write(tmp_path, names)
    ahead.begin([str(tmp_path)])
    popen = ahead._lookouts[0].popen
    if when == "in the middle":
        assert popen.stdout is not None
        popen.stdout.peek(1)  # type: ignore[attr-defined]
    popen.kill()
    popen.wait()

    assert ahead.marks(str(tmp_path), names) is None


def test_an_interpreter_that_cannot_be_started_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    ahead.begin([str(tmp_path)])

    assert ahead.marks(str(tmp_path), ["a.pt"]) is None


def test_it_ends_with_us_though_nobody_hears_it(tmp_path: Path) -> None:
    """It waits for room in the pipe, and nothing else would end it."""
    write(tmp_path, [f"{index:0200}.pt" for index in range(4_000)])
    ahead.begin([str(tmp_path)])
    popen = ahead._lookouts[0].popen
    ahead.end()

    assert popen.returncode is not None


def test_whoever_begins_a_run_over_what_is_remembered_has_it_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there are many files, a ledger, and a second processor."""
    write(tmp_path, [f"cache/{index}.pt" for index in range(1_100)])
    write(tmp_path, ["few/1.pt", ".preflight/ledger.sqlite"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    for words, folders in (
        (["cache"], ["cache"]),
        (["cache=cache", "few"], ["cache", "few"]),
        (["few"], []),
        (["cache", "--no-ledger"], []),
        (["cache", "--help"], []),
    ):
        early.begin(["run", *words])
        looked_at = [one for each in ahead._lookouts for what, one in each._to_come]
        asked = [os.path.basename(one) for one in dict.fromkeys(looked_at)]
        ahead.end()
        early.end()
        assert asked == folders
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    early.begin(["run", "cache"])
    assert not ahead._lookouts


def test_a_run_that_is_helped_finds_what_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that asks by itself does: all are known, then one is not, and is damaged."""
    stream = io.BytesIO()
    numpy.save(stream, numpy.arange(40))
    names = [f"cache/{index:04}.npy" for index in range(1_100)]
    write(tmp_path, names, content=stream.getvalue())
    monkeypatch.chdir(tmp_path)

    def look() -> tuple[Report, bool]:
        early.begin(["run", "cache"])
        was_asked = bool(ahead._lookouts)
        report = package.run("cache", elsewhere=True)
        ahead.end()
        early.end()
        return report, was_asked

    assert look()[0].remembered == ()
    report, was_asked = look()
    assert was_asked
    assert [(one.count, one.of) for one in report.remembered] == [(1_100, 1_100)]
    assert report.findings == ()
    write(tmp_path, names[7:8], content=stream.getvalue()[:-8])
    report, was_asked = look()
    assert was_asked
    assert [(one.count, one.of) for one in report.remembered] == [(1_099, 1_100)]
    assert [one.at.file for one in report.findings] == [names[7]]


def test_the_process_needs_no_package_and_takes_none_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, ["a.pt"])
    for name in ("array.py", "preflight.py", "sitecustomize.py", "contextlib.py"):
        (tmp_path / name).write_text("import os; os._exit(9)\n")
    monkeypatch.chdir(tmp_path)
    ahead.begin([str(tmp_path)])

    assert ahead.marks(str(tmp_path), ["a.pt"]) == marks_of(str(tmp_path), ["a.pt"])
    assert isinstance(ahead._lookouts[0].popen, subprocess.Popen)
