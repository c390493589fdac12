"""The line at which a process hangs or crashes is one of the user's own."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from preflight.processes.hanging import Stack


def heard(*lines: str) -> Stack:
    stack = Stack()
    for line in lines:
        stack.hear(line.encode())
    return stack


@pytest.mark.parametrize("head", ["Stack", "Current thread 0x00007f9c48070b80"])
def test_the_innermost_line_of_the_users_own_is_named(tmp_path: Path, head: str) -> None:
    stack = heard(
        f"{head} (most recent call first):",
        '  File "<frozen importlib._bootstrap>", line 241 in _call_with_frames_removed',
        '  File "/usr/lib/python3.11/ctypes/__init__.py", line 519 in string_at',
        f'  File "{tmp_path / "train.py"}", line 9 in __getstate__',
        f'  File "{tmp_path / "main.py"}", line 3 in main',
    )

    assert stack.place(str(tmp_path)) == "train.py:9 in __getstate__"


def test_what_python_has_in_it_is_no_line_of_the_users(tmp_path: Path) -> None:
    stack = heard('  File "<frozen importlib._bootstrap>", line 241 in _call', "  File <nothing>")

    assert stack.place(str(tmp_path)) is None


@pytest.mark.skipif(not hasattr(signal, "SIGBUS"), reason="signals of POSIX")
@pytest.mark.parametrize(
    ("line", "status", "torn"),
    [
        (b"Timeout (0:00:05)!", -signal.SIGSEGV, True),
        (b"Timeout (0:00:01.500000)!", -signal.SIGBUS, True),
        (b"Timeout (0:00:05)!", -signal.SIGKILL, False),
        (b"Timeout (0:00:05)!", 1, False),
        (b"Timeout (0:00:05)!", None, False),
        (b"Thread 0x00007f (most recent call first):", -signal.SIGSEGV, False),
    ],
)
def test_only_a_fault_of_memory_after_its_beginning_is_put_down_to_it(
    line: bytes, status: int | None, *, torn: bool
) -> None:
    stack = Stack()
    stack.hear(line)

    assert stack.was_torn(status) is torn
