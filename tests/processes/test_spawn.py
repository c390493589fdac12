"""A reader that was made ready is the first that is asked, and is gone where nobody asks it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from preflight.processes import spawn
from tests.conftest import ROOT, START


def test_the_reader_that_was_made_ready_is_the_first() -> None:
    spawn.make_ready("preflight.shards.read, preflight.host.read")
    (ready,) = spawn._ready

    readers = [spawn.reader(), spawn.reader()]

    assert readers[0] == ready
    assert readers[1].token != ready.token
    for one in readers:
        _, code = one.popen.communicate(timeout=60), one.popen.returncode
        assert code == 0  # without a question it ends, and says nothing


@pytest.mark.parametrize(
    "words",
    [
        ("run", "not-there"),
        ("run", "--no-such-option"),
        ("run", "--help"),
        ("run", "host"),
        ("run", "host", "--select", "gpu"),
    ],
    ids=" ".join,
)
def test_nothing_runs_on_where_there_was_no_question(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "host").mkdir()
    token = os.urandom(8).hex()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "WHOSE": token}

    # Its pipes end with the last process that holds them.
    subprocess.run(
        [sys.executable, "-c", START, *words],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        check=False,
        timeout=60,
    )

    until = time.monotonic() + 10
    while (left := marked(token)) and time.monotonic() < until:
        time.sleep(0.01)
    assert not left


def marked(token: str) -> list[int]:
    """Give the living processes whose environment has this in it."""
    found = []
    for one in psutil.process_iter():
        try:
            if one.environ().get("WHOSE") == token and one.status() != psutil.STATUS_ZOMBIE:
                found.append(one.pid)
        except (psutil.Error, OSError):
            continue
    return found
