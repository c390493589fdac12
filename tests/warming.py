"""Has processes that run a user's code sooner: torch is imported once, and not by each of them."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing import util
from typing import Any

import pytest

CAN_COPY = sys.platform == "linux"

OPTIMIZERS = ("torch._dynamo", "torch.profiler._cupti_monitor")
"""What the first optimizer and loader of a process import, which takes as long as torch itself."""

TRAINERS = (
    *OPTIMIZERS,
    *("transformers.models", "pandas", "datasets", "torchmetrics", "lightning_fabric"),
)
"""What the trainers of transformers and Lightning import, which takes as long again.

None of it has names of its own for what a rehearsal wraps: they are wrapped as they are imported.
"""

_START = """
import sys
sys.path[:1] == [''] and sys.path.pop(0)
sys.path.insert(0, sys.argv[2])
import torch_template
sys.path.pop(0)
torch_template.main(int(sys.argv[1]), sys.argv[3], sys.argv[4:])
"""


@functools.cache
def _template(*also: str) -> Any:
    """Start a template for this process, which waits until this process has ended.

    It imports some packages more, where they are installed.
    """
    from tests.torch_template import HEEDED, ROOM, SEED, Template, settings_of

    here = os.path.dirname(os.path.abspath(__file__))
    told = (here, os.path.dirname(here), *also)
    ours, theirs = socket.socketpair()
    clean = {name: value for name, value in os.environ.items() if name not in HEEDED}
    with theirs, pytest.MonkeyPatch.context() as patch:
        if also == TRAINERS:  # of which the first part is done
            start_copies(patch)
        process = subprocess.Popen(
            [sys.executable, "-c", _START, str(theirs.fileno()), *told],
            env=SEED | clean | ROOM,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
    process.returncode = 0  # it outlives whoever started it
    atexit.register(ours.close)
    return Template(ours, process.pid, settings_of(os.environ))


@contextlib.contextmanager
def copies(also: tuple[str, ...] = OPTIMIZERS) -> Iterator[pytest.MonkeyPatch]:
    """Have processes start as copies for a while, in which more may be patched."""
    with pytest.MonkeyPatch.context() as patch:
        start_copies(patch, also)
        yield patch


def start_copies(patch: pytest.MonkeyPatch, also: tuple[str, ...] = OPTIMIZERS) -> None:
    """Have processes of Python and workers start as copies of one that has imported torch.

    Where a process cannot be copied after it has imported much, they are started as ever.
    """
    if not CAN_COPY:
        return
    from tests.torch_template import start_workers_by, starting_by

    template = functools.partial(_template, *also)
    begun = template()  # now, and not while a test has set variables
    patch.setattr(subprocess.Popen, "_execute_child", starting_by(template))
    patch.setattr(util, "spawnv_passfds", util.spawnv_passfds)
    start_workers_by(begun)
