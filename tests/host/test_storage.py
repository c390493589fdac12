"""Free room is told for a folder, and for one that is still to be made."""

from __future__ import annotations

from pathlib import Path

from preflight.host.storage import free_bytes


def test_a_folder_has_room(tmp_path: Path) -> None:
    assert (free_bytes(str(tmp_path)) or 0) > 0


def test_of_a_folder_to_come_the_one_above_is_asked(tmp_path: Path) -> None:
    assert (free_bytes(str(tmp_path / "runs" / "7")) or 0) > 0


def test_of_a_file_its_folder_is_asked(tmp_path: Path) -> None:
    (tmp_path / "last.pt").touch()

    assert (free_bytes(str(tmp_path / "last.pt")) or 0) > 0
