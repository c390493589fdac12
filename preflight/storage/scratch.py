"""A folder of ours in a folder of the user's: made for a trial, and gone after it."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

from preflight.storage.system_files import Files

BEGIN = ".preflight-probe-"
"""With what its name begins; then come the number of the process that made it, and letters."""

_OWNER = "host"

# Seconds after which one of another machine, whose processes nobody here can see, is left over.
_OLD = 3_600.0

# Removes the folder at the end of its standard input: of the process that made it, however that
# ends. It is nobody's child and bears no mark, since whatever does is ended with that process.
_CLEANER = """
import os, shutil, sys, time
if hasattr(os, "fork") and os.fork():
    os._exit(0)
while os.read(0, 4096):
    pass
for _ in range(50):
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    if not os.path.lexists(sys.argv[1]):
        break
    time.sleep(0.1)
"""


@contextlib.contextmanager
def scratch(place: str, files: Files, mark: str) -> Iterator[str]:
    """Make a folder in this one, and remove it with all in it; also what dead ones have left.

    Args:
        place: the folder in which it is made.
        files: by which it is made.
        mark: the variable by which processes of ours are told, and which the cleaner must not have.

    Raises:
        OSError: the system refuses it.
    """
    tidy(place)
    path = os.path.join(place, f"{BEGIN}{os.getpid()}-{os.urandom(4).hex()}")
    cleaner = _start_cleaner(path, mark)  # before there is anything that could stay
    try:
        files.make_folder(path)
        with open(os.path.join(path, _OWNER), "w", encoding="utf-8") as file:
            file.write(socket.gethostname())
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        if cleaner.stdin is not None:
            cleaner.stdin.close()
        cleaner.wait()


def _start_cleaner(path: str, mark: str) -> subprocess.Popen[bytes]:
    cleaner = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _CLEANER, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={name: value for name, value in os.environ.items() if name != mark},
        cwd=os.path.dirname(path),
        start_new_session=True,
    )
    if hasattr(os, "fork"):
        cleaner.wait()  # until it is nobody's child
    return cleaner


def tidy(place: str) -> None:
    """Remove folders of this kind whose process is dead."""
    with contextlib.suppress(OSError):
        for name in os.listdir(place):
            if name.startswith(BEGIN) and _is_left_over(name, os.path.join(place, name)):
                shutil.rmtree(os.path.join(place, name), ignore_errors=True)


def _is_left_over(name: str, path: str) -> bool:
    number = name.removeprefix(BEGIN).partition("-")[0]
    if not number.isdigit() or os.path.islink(path) or not os.path.isdir(path):
        return False
    try:
        with open(os.path.join(path, _OWNER), encoding="utf-8") as file:
            is_of_here = file.read() == socket.gethostname()
        written = os.stat(path).st_mtime
    except OSError:
        with contextlib.suppress(OSError):  # its first file had not been written
            return time.time() - os.stat(path).st_mtime > _OLD
        return False
    import psutil

    return not psutil.pid_exists(int(number)) if is_of_here else time.time() - written > _OLD
