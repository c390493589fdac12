"""A process of ours ends with whoever asked it, whatever it does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def python(code: str) -> subprocess.Popen[bytes]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    words = [sys.executable, "-c", code]
    return subprocess.Popen(
        words, stdin=pipe, stdout=pipe, stderr=pipe, env=env, start_new_session=True
    )


def test_one_that_is_never_asked_ends_with_us() -> None:
    """Its standard input ends before any question came."""
    process = python("from preflight.processes import child; child.main()")
    process.communicate(timeout=60)

    assert process.returncode == 0


@pytest.mark.parametrize(
    "work",
    ["while True: pass", "import time; time.sleep(900)", "re.match('(a+)+$', 'a' * 64 + 'b')"],
    ids=["a loop", "a sleep", "a call that never comes back to Python"],
)
def test_a_reader_ends_with_its_life_line_whatever_it_does(work: str) -> None:
    code = (
        "import os, re, sys; from preflight.processes import life_line; "
        "life_line.watch(os.dup(0), 'mark'); "
        "os.write(1, b'ready'); " + work.replace("while True: pass", "exec('while True: pass')")
    )
    process = python(code)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.read(5) == b"ready"
    process.stdin.close()

    assert process.wait(timeout=60) != 0
    process.stdout.close()
    assert process.stderr is not None
    process.stderr.close()


def test_a_life_line_that_has_ended_already_is_seen() -> None:
    process = python(
        "import os, time; from preflight.processes import life_line; reading, writing = os.pipe(); "
        "os.close(writing); life_line.watch(reading, 'mark'); time.sleep(900)"
    )
    process.communicate(timeout=60)
