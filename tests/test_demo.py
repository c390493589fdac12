"""The demo is as the README shows it, and the last one lies where the one before it did."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from preflight import demo
from tests.conftest import START, Run
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


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a temporary folder of our own, of this process and of those that it starts."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.setenv(name, str(temporary))
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    return temporary


def killed(temporary: Path, number: int) -> list[Path]:
    """End a demo while it looks at its job, and give the folders of demos that are left."""
    # What `nohup` has its children ignore is heeded here all the same.
    heeds = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL); "
    command = [sys.executable, "-c", heeds + START, "demo"]
    demo_of = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        waited = time.monotonic() + 60
        while not list(temporary.glob("*new*/typed-in")) and time.monotonic() < waited:
            time.sleep(0.01)
        demo_of.send_signal(number)
        assert demo_of.wait(60) == -number
    finally:
        demo_of.kill()
    return list(temporary.glob("preflight-demo*"))


@pytest.mark.fresh
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_demo_that_is_asked_to_end_leaves_no_folder_that_is_not_over(
    temporary: Path, name: str
) -> None:
    left = killed(temporary, getattr(signal, name))

    assert left in ([], [Path(demo.place())])


@pytest.mark.fresh
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_what_a_killed_demo_leaves_goes_with_the_next_and_nothing_else_does(
    temporary: Path,
) -> None:
    """Not what somebody else has called so, nor the folder of a demo that still runs."""
    assert len(killed(temporary, signal.SIGKILL)) == 1
    put(temporary / "preflight-demo-new-mine", "mine.txt")
    put(temporary / "elsewhere", "unfinished")
    (temporary / "preflight-demo-new-link").symlink_to(temporary / "elsewhere")

    with (
        demo.begin(healthy=True, typed_in="a") as one,
        demo.begin(healthy=True, typed_in="b") as other,
    ):
        there = {path.name for path in temporary.glob("preflight-demo-new-*")}

    mine = {"preflight-demo-new-mine", "preflight-demo-new-link"}
    assert there == {*mine, Path(one).name, Path(other).name}
    assert (temporary / "elsewhere" / "unfinished").exists()
    assert not (Path(one) / "unfinished").exists()


def test_a_demo_that_raises_takes_its_folder_along(temporary: Path) -> None:
    with pytest.raises(KeyboardInterrupt), demo.begin(healthy=True, typed_in="a"):
        raise KeyboardInterrupt

    assert list(temporary.iterdir()) == []
