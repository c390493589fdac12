"""The demo is as the README shows it, and the last one lies where the one before it did."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path

import pytest

from preflight import demo
from tests.conftest import Run
from tests.files import put
from tests.test_readme import GENERATE, README


def test_demos_are_as_the_readme_shows_them_and_leave_one_folder(
    preflight: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after the other, since each takes seconds; what is not of a demo is left alone."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setenv("TEMP", str(temporary))
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    mine = Path(demo.place())
    put(mine, "mine.txt", content=b"mine")

    broken = preflight("demo")

    assert broken.returncode == 1
    assert [one.name for one in mine.iterdir()] == ["mine.txt"]
    parts = GENERATE.PART.findall(README.read_text(encoding="utf-8"))
    with contextlib.suppress(GENERATE.CannotMakeError):
        page = GENERATE.shown_of_demo(broken.stdout)
        assert [text for _, name, text, _ in parts if name == GENERATE.DEMO] == [page]

    (beside,) = temporary.glob("preflight-demo-new-*")
    shutil.rmtree(mine)
    assert demo.leave(str(beside)) == demo.place()
    # Its loader has no end: each rank draws from it for seconds, and what is spawned imports torch.
    quick = {"PREFLIGHT_WORLD_SIZE": "1", "PREFLIGHT_START_METHOD": "fork"}

    assert preflight("demo", "--healthy", env=quick).returncode == 0

    assert len(list(temporary.glob("preflight-demo*"))) == 1
    shown = preflight("report", "--format", "json")
    assert json.loads(shown.stdout)["verdict"] == "go"
