"""Files that a job would have beside its shards, and their names and ages."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

HOUR = 3_600

WHOLE = (2).to_bytes(8, "little") + b"{}"
"""A whole .safetensors file of nothing."""


def put(folder: Path, *names: str, content: bytes = b"") -> None:
    """Write these files, and whatever folders they lie in."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def write(path: Path, content: bytes, *, age: float = HOUR) -> None:
    """Write a file that changed so many seconds ago."""
    put(path.parent, path.name, content=content)
    stamp(path, age)


def stamp(path: Path, age: float = HOUR) -> None:
    """Say of a file that it changed so many seconds ago."""
    then = time.time_ns() - int(age * 1e9)
    os.utime(path, ns=(then, then))


def md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def cut(path: Path) -> None:
    """Leave what a killed writer leaves, with the time that it had."""
    then = path.stat().st_mtime
    os.truncate(path, 4096)
    os.utime(path, (then, then))
