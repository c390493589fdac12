"""Our folder in a folder of the user's is gone afterwards, whatever ends who made it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from preflight.storage.scratch import BEGIN, scratch, tidy
from preflight.storage.system_files import Files
from tests.conftest import ROOT, START

MARK = "PREFLIGHT_CHILD"


def wait_until_there(folder: Path, *, is_there: bool, seconds: float = 60) -> bool:
    """Wait until our folder is there, or gone."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if any(name.startswith(BEGIN) for name in os.listdir(folder)) == is_there:
            return True
        time.sleep(0.02)
    return False


def test_it_bears_the_number_of_its_process_and_is_removed(tmp_path: Path) -> None:
    with scratch(str(tmp_path), Files(), MARK) as path:
        assert os.path.basename(path).startswith(f"{BEGIN}{os.getpid()}-")
        (Path(path) / "deep").mkdir()
        (Path(path) / "deep" / "file").touch()

    assert os.listdir(tmp_path) == []


def test_it_is_removed_where_the_trial_raises(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="by us"), scratch(str(tmp_path), Files(), MARK):
        raise OSError("by us")

    assert os.listdir(tmp_path) == []


DIES = """
import os, signal, sys
from preflight.storage.scratch import scratch
from preflight.storage.system_files import Files


class Dying(Files):
    def make_folder(self, path):
        super().make_folder(path)
        os.kill(os.getpid(), signal.SIGKILL)


with scratch(sys.argv[1], Dying(), "PREFLIGHT_CHILD"):
    pass
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9")
def test_it_is_removed_where_its_process_is_killed_as_soon_as_it_is_made(tmp_path: Path) -> None:
    words = [sys.executable, "-c", DIES, str(tmp_path)]
    done = subprocess.run(words, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)

    assert done.returncode == -signal.SIGKILL
    assert wait_until_there(tmp_path, is_there=False)


@pytest.mark.usefixtures("at_hand")
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9")
@pytest.mark.parametrize("seconds", [0.0, 0.7])
def test_nothing_stays_where_preflight_is_killed(tmp_path: Path, seconds: float) -> None:
    """Its processes end by the life line, and the one that cleans does so then."""
    (tmp_path / "cache").mkdir()
    words = [sys.executable, "-c", START, "run", "--probe-storage", "cache=cache"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        words, cwd=tmp_path, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as command:
        assert wait_until_there(tmp_path / "cache", is_there=True)
        time.sleep(seconds)
        command.kill()

    assert wait_until_there(tmp_path / "cache", is_there=False)


def _left_over(folder: Path, pid: int, host: str | None) -> Path:
    path = folder / f"{BEGIN}{pid}-0123abcd"
    path.mkdir()
    (path / "entry.pt").touch()
    if host is not None:
        (path / "host").write_text(host, encoding="utf-8")
    return path


def _dead() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_what_a_dead_process_has_left_is_removed_by_the_next_run(tmp_path: Path) -> None:
    import socket

    path = _left_over(tmp_path, _dead(), socket.gethostname())

    tidy(str(tmp_path))

    assert not path.exists()


def test_what_may_be_in_use_is_left_alone(tmp_path: Path) -> None:
    """By a living process, by one of another machine, or by nobody that we know."""
    import socket

    alive = _left_over(tmp_path, os.getpid(), socket.gethostname())
    elsewhere = _left_over(tmp_path, _dead(), "another-machine")
    begun = _left_over(tmp_path, 1, None)
    named = tmp_path / f"{BEGIN}notes"
    named.mkdir()
    file = tmp_path / f"{BEGIN}1-abcd"
    file.touch()

    tidy(str(tmp_path))

    assert all(one.exists() for one in (alive, elsewhere, begun, named, file))


def test_what_was_left_on_another_machine_goes_after_an_hour(tmp_path: Path) -> None:
    path = _left_over(tmp_path, _dead(), "another-machine")
    then = time.time() - 4_000
    os.utime(path, (then, then))

    tidy(str(tmp_path))

    assert not path.exists()
