"""Ends a process of ours, and all that it has started, when the one that asked it is gone."""

from __future__ import annotations

import os
import subprocess
import sys

# Reads the life line, and ends the whole session when we are gone. A process and not a thread,
# which would make the user's forks multi-threaded. What it needs at the end is imported then, since
# one is started with each process of ours.
_WATCH = """
import os
while os.read(0, 4096):
    pass
import signal, subprocess, sys
me, leader = os.getpid(), int(sys.argv[1])
if not hasattr(os, "killpg"):
    subprocess.call(["taskkill", "/F", "/T", "/PID", sys.argv[1]])
    sys.exit()
session = os.getsid(0)
mark = ("PREFLIGHT_CHILD=" + sys.argv[2]).encode()
def parent_of(name):
    with open("/proc/" + str(name) + "/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[1])
def is_below(pid):
    for _ in range(1000):
        if pid in (0, 1, leader):
            break
        pid = parent_of(pid)
    return pid == leader
def is_ours(name):
    try:
        if os.getsid(int(name)) == session or there and is_below(int(name)):
            return True
        with open("/proc/" + name + "/environ", "rb") as file:
            return mark in file.read().split(b"\\0")
    except OSError:
        return False
there = os.getppid() == leader  # else its number may be another one's by now
if there:  # what it has adopted stays below it until all is ended
    os.kill(leader, signal.SIGSTOP)
unseen = 0
for _ in range(50):
    if unseen == 2 or not os.path.isdir("/proc/self"):
        break
    found = [name for name in os.listdir("/proc") if name.isdigit() and is_ours(name)]
    found = [int(name) for name in found if int(name) != me and not (there and int(name) == leader)]
    unseen = 0 if found else unseen + 1
    for pid in found:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
if there:
    os.kill(leader, signal.SIGKILL)
os.killpg(os.getpgrp(), signal.SIGKILL)
"""


def watch(life: int, token: str) -> None:
    """End with whoever holds the other end of this pipe, and with all that was started here."""
    watcher = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _WATCH, str(os.getpid()), token],
        stdin=life,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    watcher.returncode = 0  # it outlives us on purpose, which subprocess would warn about
    os.close(life)
