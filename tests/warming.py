"""Has processes that run a user's code sooner: torch is imported once, and not by each of them."""

from __future__ import annotations

import functools
import inspect
import os
import socket
import subprocess
import sys
from typing import Any

import pytest

CAN_COPY = sys.platform == "linux"

_START = """
import sys
sys.path[:1] == [''] and sys.path.pop(0)
sys.path.insert(0, sys.argv[1])
import torch_template
sys.path.pop(0)
torch_template.main(int(sys.argv[2]))
"""


@functools.cache
def _template() -> Any:
    """Start a template for this process, which waits until this process has ended."""
    from tests.torch_template import HEEDED, Template

    ours, theirs = socket.socketpair()
    clean = {name: value for name, value in os.environ.items() if name not in HEEDED}
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-c", _START, os.path.dirname(__file__), str(theirs.fileno())],
            env=clean,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
    process.returncode = 0  # it outlives whoever started it
    return Template(ours, process.pid)


def start_copies(patch: pytest.MonkeyPatch) -> None:
    """Have `subprocess` start processes of Python as copies of one that has imported torch.

    Where a process cannot be copied after it has imported much, they are started as ever.
    """
    if not CAN_COPY:
        return
    template = _template()
    fresh = subprocess.Popen._execute_child
    signature = inspect.signature(fresh)

    def execute(*given: Any, **named: Any) -> None:
        asked = signature.bind(*given, **named).arguments
        numbers = {0: asked["p2cread"], 1: asked["c2pwrite"], 2: asked["errwrite"]}
        numbers = {n: n if at == -1 else at for n, at in numbers.items()}
        pid = None
        plain = isinstance(asked["args"], (list, tuple)) and not asked["shell"]
        if plain and asked["preexec_fn"] is None:
            pid = template.start(
                [os.fspath(word) for word in asked["args"]],
                numbers | {number: number for number in asked["pass_fds"]},
                environment=asked["env"],
                folder=asked["cwd"] and os.path.abspath(asked["cwd"]),
                in_session=asked["start_new_session"],
            )
        if pid is None:
            return fresh(*given, **named)
        popen = asked["self"]
        popen.pid, popen._child_created = pid, True
        popen._close_pipe_fds(*(asked[name] for name in _PIPES))
        return None

    patch.setattr(subprocess.Popen, "_execute_child", execute)


_PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
