"""A process is copied only where a copy is as good as a fresh one."""

from __future__ import annotations

import subprocess
import sys

import pytest

ASKED = """
import threading, time
from preflight.users_code.fresh.anew import Crowd

first = Crowd()
assert first.may_fork()
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print(first.may_fork(), Crowd().may_fork())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux only")
def test_threads_that_an_earlier_target_has_left_count_for_the_next_one() -> None:
    """Such as those with which torch computes: a copy would wait for them for ever."""
    said = subprocess.run(
        [sys.executable, "-c", ASKED], capture_output=True, text=True, check=True, timeout=60
    )

    assert said.stdout.split() == ["False", "False"]
