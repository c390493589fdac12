"""Spawns our processes; one that reads files may be spawned before anybody knows what it reads.

It takes about as long to start as the command itself, beside which it starts on another processor:
that saves a fifth of a small run. So nothing else of ours is imported here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import NamedTuple

MARK = "PREFLIGHT_CHILD"
"""The variable that marks a process of ours and whatever it starts, by the token of its question.
"""

_HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# An interpreter that is too old to read our code says so, in words that all of them can read.
_UNFIT = (
    "import sys; sys.version_info < (3, 10) and "
    '(sys.stdout.write(\'{"unfit": "%d.%d"}\\n\' % sys.version_info[:2]), sys.exit(0)); '
)

# Our own folder is on the path only while we are imported: whatever else lies beside us (another
# environment's packages, a checkout's tests) must not be found by the user's code. What Python
# brings along comes first, whatever PYTHONPATH leads to, until the user's code is imported.
_BOOT = (
    "import os, sys; sys.path[:1] == [''] and sys.path.pop(0); "
    "home = sys.argv.pop(1); sys.path[:0] = [os.path.dirname(os.__file__), home]; "
    "import preflight.processes.child, {also}; sys.path.remove(home); "
    "preflight.processes.child.main()"
)


class Spawned(NamedTuple):
    """A process that waits for its questions on its standard input, and ends where that ends."""

    popen: subprocess.Popen[bytes]
    token: str
    """Stands before each line of an answer, and marks all that the process starts."""


_ready: list[Spawned] = []


def make_ready(also: str) -> None:
    """Spawn the first reader of files, which imports these modules while it waits for a question.

    Raises:
        OSError: the interpreter cannot be started.
    """
    _ready.append(spawn(also=also))


def reader() -> Spawned:
    """Give a reader of files: the one that was made ready, or another one.

    Raises:
        OSError: the interpreter cannot be started.
    """
    return _ready.pop() if _ready else spawn()


def spawn(
    python: str | None = None,
    *,
    folder: str | None = None,
    runs_code: bool = False,
    also: str = "sys",
) -> Spawned:
    """Spawn a process.

    Args:
        python: the interpreter; None: ours.
        folder: where it runs; None: the current folder.
        runs_code: whether it runs the code of the user.
        also: modules that it imports at once, as `import` takes them.

    Raises:
        OSError: the interpreter cannot be started.
    """
    token = os.urandom(8).hex()
    # Python 3.11 and newer can be told to leave the current folder off the path from the start.
    safe = ["-P"] if python is None and sys.version_info >= (3, 11) else []
    settings = {**os.environ, "PYTHONFAULTHANDLER": "1", MARK: token}
    if not runs_code:  # the threads of the user's code are its own business
        settings |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    popen = subprocess.Popen(
        [python or sys.executable, *safe, "-c", _UNFIT + _BOOT.format(also=also), _HOME],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=folder,
        env=settings,
        start_new_session=True,
    )
    return Spawned(popen=popen, token=token)
