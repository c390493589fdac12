"""What stands in a folder is told apart by names alone."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from preflight.values.listing import leads_to_system, list_names


def test_files_folders_and_all_else_are_told_apart(tmp_path: Path) -> None:
    for name in ("a.png", "b.png", "c.txt"):
        (tmp_path / name).touch()
    (tmp_path / "inner").mkdir()
    if sys.platform != "win32":
        (tmp_path / "lost").symlink_to("nowhere")
        (tmp_path / "loop").symlink_to("loop")
        (tmp_path / "linked.png").symlink_to("a.png")
        (tmp_path / "linked").symlink_to("inner")
        os.mkfifo(tmp_path / "pipe")

    listed = list_names(str(tmp_path))

    links = {"linked.png"} if sys.platform != "win32" else set()
    assert set(listed.files) == {"a.png", "b.png", "c.txt"} | links
    assert set(listed.links) == links
    assert {one.name for one in listed.folders} - {"linked"} == {"inner"}
    assert set(listed.others) == ({"lost", "loop", "pipe"} if links else set())
    assert set(listed.names) == {*listed.files, *listed.others}


@pytest.mark.skipif(sys.platform == "win32", reason="links")
def test_a_link_that_may_not_be_read_or_is_gone_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "root").symlink_to("/")
    assert leads_to_system(str(tmp_path / "root"))

    def refuse(path: str, **_: object) -> str:
        raise PermissionError(path)

    monkeypatch.setattr(os, "readlink", refuse)

    assert not leads_to_system(str(tmp_path / "root"))
