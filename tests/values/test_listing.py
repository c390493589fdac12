"""A large folder is listed once for two that ask in turn, and never as it was before a change."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from preflight.values import listing
from preflight.values.listing import keep, list_names, take


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of three files and one folder, where three are many; nothing else is kept."""
    monkeypatch.setattr(listing, "_MANY", 3)
    monkeypatch.setattr(listing, "_kept", {})
    for name in ("a.png", "b.png", "c.txt"):
        (tmp_path / name).touch()
    (tmp_path / "inner").mkdir()
    return tmp_path


def test_files_folders_and_all_else_are_told_apart(folder: Path) -> None:
    if sys.platform != "win32":
        (folder / "lost").symlink_to("nowhere")
        (folder / "loop").symlink_to("loop")
        (folder / "linked.png").symlink_to("a.png")
        (folder / "linked").symlink_to("inner")
        os.mkfifo(folder / "pipe")

    listed = list_names(str(folder))

    links = {"linked.png"} if sys.platform != "win32" else set()
    assert set(listed.files) == {"a.png", "b.png", "c.txt"} | links
    assert {one.name for one in listed.folders} - {"linked"} == {"inner"}
    assert set(listed.others) == ({"lost", "loop", "pipe"} if links else set())
    assert set(listed.names) == {*listed.files, *listed.others}


def test_what_was_kept_is_given_once_by_whichever_path(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(str(folder), list_names(str(folder)))
    monkeypatch.chdir(folder.parent)

    assert take(str(folder / "inner")) is None
    found = take(f"./{folder.name}/")
    assert found is not None
    assert sorted(found.files) == ["a.png", "b.png", "c.txt"]
    assert take(str(folder)) is None


@pytest.mark.parametrize("change", ["put in", "taken out", "gone"])
def test_a_folder_that_has_changed_is_listed_anew(folder: Path, change: str) -> None:
    """A step of the clock of many file systems is some milliseconds; a second is none of theirs."""
    os.utime(folder, (1e9, 1e9))
    keep(str(folder), list_names(str(folder)))
    if change == "put in":
        (folder / "d.png").touch()
    elif change == "taken out":
        (folder / "a.png").unlink()
    else:
        folder.rename(folder.with_name("elsewhere"))
        folder.mkdir()

    assert take(str(folder)) is None


def test_only_the_last_large_folder_is_kept(folder: Path) -> None:
    keep(str(folder), list_names(str(folder)))
    keep(str(folder / "inner"), list_names(str(folder / "inner")))  # holds nothing

    assert take(str(folder)) is not None
