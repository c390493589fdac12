"""One layer for all ranks on a machine: what rank 0 saves, the others load."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator

from preflight.processes.rank import Rank

# By how much clocks may be set while ranks run, in seconds; a number is given again much later.
_SAME_START = 2.0


@contextlib.contextmanager
def common_layer(rank: Rank) -> Iterator[str | None]:
    """Give the folder that all ranks of a launch have on this machine; the last one removes it.

    What ranks have left that were killed, in a launch of the same name, is removed before. None
    where there is something in its place that is not ours.
    """
    user = str(getattr(os, "getuid", lambda: "")())
    name = hashlib.sha256(f"{user}/{rank.launch}".encode()).hexdigest()[:24]
    folder = os.path.join(tempfile.gettempdir(), f"preflight-ranks-{name}")
    present, layer = os.path.join(folder, "present"), os.path.join(folder, "layer")
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    if not _is_ours(folder):
        yield None
        return
    os.makedirs(present, exist_ok=True)
    mark = os.path.join(present, f"{os.getpid()}-{_start_of(os.getpid())}")
    with open(mark, "w", encoding="utf-8"):
        pass
    if _forget_the_dead(present) and len(os.listdir(present)) == 1:
        with contextlib.suppress(OSError):  # at once: the next rank to come begins with none
            os.rename(layer, f"{layer}-{os.getpid()}")
        shutil.rmtree(f"{layer}-{os.getpid()}", ignore_errors=True)
    try:
        yield layer
    finally:
        with contextlib.suppress(OSError):
            os.unlink(mark)
            _forget_the_dead(present)
            os.rmdir(present)  # which is refused while others are there
            shutil.rmtree(folder, ignore_errors=True)


def _is_ours(folder: str) -> bool:
    """Whether it is a folder of this user's, and no link that somebody else has laid."""
    if os.path.islink(folder) or not os.path.isdir(folder):
        return False
    return not hasattr(os, "getuid") or os.stat(folder).st_uid == os.getuid()


def _forget_the_dead(present: str) -> int:
    """Remove the marks of ranks that have ended without it, and say how many there were."""
    found = 0
    for name in os.listdir(present):
        pid, _, started = name.partition("-")
        now = _start_of(int(pid))
        if now is None or abs(now - float(started)) > _SAME_START:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(present, name))
            found += 1
    return found


def _start_of(pid: int) -> float | None:
    """Say since when a process is at work; None: it has ended, whoever has not heard of it."""
    import psutil

    try:
        process = psutil.Process(pid)
        ended = process.status() == psutil.STATUS_ZOMBIE
        return None if ended else float(process.create_time())
    except psutil.Error:
        return None
