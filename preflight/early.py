"""Starts the process that will read files while everything else here is still being imported.

Its question follows when somebody knows it. Little is imported here: the earlier it starts, the
more of its own start is over by then.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

MARK = "PREFLIGHT_CHILD"
"""The variable that marks a process of ours and whatever it starts."""

_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# An interpreter that is too old to read our code says so, in words that all of them can read.
_UNFIT = (
    "import sys; sys.version_info < (3, 10) and "
    '(sys.stdout.write(\'{"unfit": "%d.%d"}\\n\' % sys.version_info[:2]), sys.exit(0)); '
)

# Our own folder is on the path only while we are imported: whatever else lies beside us (another
# environment's packages, a checkout's tests) must not be found by the user's code.
_BOOT = (
    "import sys; sys.path[:1] == [''] and sys.path.pop(0); "
    "home = sys.argv.pop(1); sys.path.insert(0, home); "
    "import preflight.child; sys.path.remove(home); {}preflight.child.main()"
)

# What a reader of shards needs, or one of cached files, imported while nobody has asked it yet.
_SHARDS = "import preflight.readers.shard; "
_CACHES = "import preflight.readers.cache_files; "

# Cached files from which on two processes share them, as whoever divides them sees it; and names
# of folders that are looked at to find so many.
_ENOUGH_FILES = 1_000
_MOST_NAMES = 3_000

# Where an earlier run has most likely left what it saw of a cache, so that nothing is left to read.
_LEDGER = os.path.join(".preflight", "ledger.sqlite")

_CACHE_NAMES = (".pt", ".pth", ".npy", ".npz", ".safetensors")

# Bytes of shards that two processes share, as whoever divides them sees it; or of which only the
# ends of images are looked at.
_ENOUGH = 120_000_000
_ENOUGH_ENDS = 400_000_000

_SHARD_NAMES = (".tar", ".tgz", ".tar.gz")


class Early(NamedTuple):
    """A process that waits for its question."""

    popen: subprocess.Popen[bytes]
    mark: str
    """In the environment of all that it starts."""

    settings: Mapping[str, str]
    """The environment that it was given."""

    folder: str
    """The current folder that it was started in."""


_waiting: list[Early] = []


def launch(
    settings: Mapping[str, str],
    *,
    python: str | None = None,
    folder: str | None = None,
    first: str = "",
) -> subprocess.Popen[bytes]:
    """Start a process that waits for its question on its standard input.

    Args:
        settings: all of its environment.
        python: the interpreter; None: ours.
        folder: its current folder; None: ours.
        first: what to import before the question is there.

    Raises:
        OSError: the interpreter cannot be started.
    """
    # Python 3.11 and newer can be told to leave the current folder off the path from the start.
    safe = ["-P"] if python is None and sys.version_info >= (3, 11) else []
    return subprocess.Popen(
        [python or sys.executable, *safe, "-c", _UNFIT + _BOOT.format(first), _HOME],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=folder,
        env=settings,
        start_new_session=True,
    )


def settings_for(mark: str, *, starts_others: bool) -> dict[str, str]:
    """Give the environment of a process: ours, stacks of crashes on stderr, its mark, one thread.

    Args:
        mark: of this process and all that it starts.
        starts_others: whether it runs the user's code, whose threads are its own business.
    """
    settings = {**os.environ, "PYTHONFAULTHANDLER": "1", MARK: mark}
    if starts_others:
        return settings
    return {**settings, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def begin(arguments: Sequence[str]) -> None:
    """Start a process for a command that will have files read, as nearly every run does.

    Args:
        arguments: of the command line.
    """
    if arguments[:1] != ["run"] or "--help" in arguments:
        return
    words = [word for word in arguments[1:] if not word.startswith("-")]
    shards = [word for word in words if word.endswith(_SHARD_NAMES)]
    files = 0
    if "--no-ledger" in arguments or not os.path.exists(_LEDGER):
        files = 0 if shards else sum(map(_cached_in, words))
    elif words and all(_cached_in(word, most=1) for word in words):
        return
    number = _how_many(shards, files, deep="index" not in arguments)
    first = _SHARDS if shards else _CACHES if files else ""
    atexit.register(end)
    with contextlib.suppress(OSError):  # whoever needs one will be told
        for _ in range(number):
            mark = os.urandom(8).hex()
            settings = settings_for(mark, starts_others=False)
            popen = launch(settings, first=first)
            _waiting.append(Early(popen, mark, settings, os.getcwd()))


def _cached_in(word: str, *, most: int = _MOST_NAMES) -> int:
    """Count the cached files in a folder, by the first names in it."""
    with contextlib.suppress(OSError), os.scandir(word.removeprefix("cache=")) as entries:
        names = [one.name for one in itertools.islice(entries, most)]
        return sum(name.endswith(_CACHE_NAMES) for name in names)
    return 0


def _how_many(shards: Sequence[str], files: int, *, deep: bool) -> int:
    """Guess how many processes will be asked: a second one where it has enough to read."""
    if (os.cpu_count() or 1) < 2:
        return 1
    if files >= _ENOUGH_FILES:
        return 2
    total = 0
    for name in shards:
        with contextlib.suppress(OSError):
            total += os.stat(name).st_size
    return 2 if total > (_ENOUGH if deep else _ENOUGH_ENDS) else 1


def take() -> Early | None:
    """Give a process that waits, where there is one, and it is as one that is started now."""
    while _waiting:
        early = _waiting.pop()
        same = early.settings == settings_for(early.mark, starts_others=False)
        if same and early.popen.poll() is None and early.folder == os.getcwd():
            return early
        _end(early)
    return None


def end() -> None:
    """End what was never asked."""
    while _waiting:
        _end(_waiting.pop())


def _end(early: Early) -> None:
    early.popen.kill()
    early.popen.communicate()
