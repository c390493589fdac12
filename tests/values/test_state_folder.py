"""What preflight keeps by itself stays in the job's folder, and is its owner's alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from preflight.values.state_folder import make_state
from tests.conftest import Run
from tests.files import WHOLE, write

posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")


@pytest.mark.parametrize("state", [".preflight", ".preflight/here", "link/../.preflight"])
def test_a_link_to_nowhere_makes_no_folder(tmp_path: Path, state: str) -> None:
    job = tmp_path / "job"
    job.mkdir()
    (job / ".preflight").symlink_to("../outside/deep")
    (job / "link").mkdir()
    with pytest.raises(OSError, match=r"is a link to ../outside/deep, which is not there"):
        make_state(str(job / state))

    assert not (tmp_path / "outside").exists()


def test_a_link_to_a_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / ".preflight").symlink_to("outside")
    make_state(str(tmp_path / ".preflight"))
    make_state(str(tmp_path / ".preflight" / "more"))

    assert os.listdir(tmp_path / "outside") == ["more"]


def test_a_run_says_so_once_and_its_verdict_stays(tmp_path: Path, preflight: Run) -> None:
    (tmp_path / "job").mkdir()
    write(tmp_path / "job/cache/a.safetensors", WHOLE)
    (tmp_path / "job" / ".preflight").symlink_to("../outside/deep")
    done = preflight("run", "cache", cwd=tmp_path / "job")

    assert done.returncode == 0, done
    assert done.stderr.count("which is not there") == 1
    assert not (tmp_path / "outside").exists()


def test_a_ledger_that_is_a_link_to_nowhere_is_not_made_there(
    tmp_path: Path, preflight: Run
) -> None:
    (tmp_path / "job" / ".preflight").mkdir(parents=True)
    write(tmp_path / "job/cache/a.safetensors", WHOLE)
    (tmp_path / "job" / ".preflight" / "ledger.sqlite").symlink_to("../../outside.sqlite")
    done = preflight("run", "cache", cwd=tmp_path / "job")

    assert done.returncode == 0, done
    assert "ledger" in done.stderr
    assert not (tmp_path / "outside.sqlite").exists()
    assert (tmp_path / "job" / ".preflight" / "last.json").is_file()


@posix
def test_a_report_that_was_there_keeps_its_permissions(tmp_path: Path, preflight: Run) -> None:
    write(tmp_path / "cache/a.safetensors", WHOLE)
    page = tmp_path / "out.md"
    page.write_text("for all to read", encoding="utf-8")
    page.chmod(0o644)

    preflight("run", "cache", "-o", "out.md")

    assert page.stat().st_mode & 0o777 == 0o644
    assert "for all" not in page.read_text(encoding="utf-8")


@posix
def test_what_is_kept_is_the_owners_alone(tmp_path: Path, preflight: Run) -> None:
    """Also what an earlier version has left for all to read, and a report that was asked for."""
    write(tmp_path / "cache/a.safetensors", WHOLE)
    for _ in range(2):
        before = os.umask(0o022)
        try:
            preflight("run", "cache", "--reread", "0", "-o", "out.json")
        finally:
            os.umask(before)
        kept = [
            one
            for one in (tmp_path / ".preflight").rglob("*")
            if one.suffix in {".json", ".sqlite"}
        ]

        assert {one.name for one in kept} >= {"ledger.sqlite", "last.json"}
        assert {oct(one.stat().st_mode & 0o777) for one in kept} == {"0o600"}
        assert (tmp_path / "out.json").stat().st_mode & 0o777 == 0o600
        for one in kept:
            one.chmod(0o644)
