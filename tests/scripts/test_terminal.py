"""A script that asks for the size of the terminal is answered; nobody is asked by it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from preflight.scripts.surroundings import standard_input

pytestmark = pytest.mark.skipif(not hasattr(os, "openpty"), reason="terminals of POSIX")

TELLS = """
import os, sys
from preflight.scripts.surroundings import standard_input
path = standard_input.path_of_ours()
os.dup2(standard_input.opened(path), 0)
standard_input.keep_what_is_read(".", path)
print(os.popen("stty size").read().split(), repr(sys.stdin.read()), sys.stdin.isatty(), flush=True)
os.execvp("cat", ["cat"])
"""


def test_a_script_has_a_terminal_of_the_size_of_ours_that_is_empty() -> None:
    """What it has started reads its end as well."""
    import fcntl
    import struct
    import termios

    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    done = subprocess.run(
        [sys.executable, "-c", TELLS],
        stdin=theirs,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    os.close(ours)
    os.close(theirs)

    assert done.stdout == "['40', '120'] '' False\n"
    assert not done.returncode


def test_the_second_run_has_it_too() -> None:
    assert standard_input.kept_in("nowhere", "terminal 40 120") == "terminal 40 120"
    assert standard_input.kept_in("nowhere", "/proc/1/fd/0") is None
