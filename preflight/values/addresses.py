"""Tells which addresses of shards are files of this machine, as webdataset opens them."""

from __future__ import annotations

import os
import re
import shlex
from fnmatch import fnmatch
from urllib.parse import unquote

_FILE = re.compile(r"file:", re.IGNORECASE)
_HOST = re.compile(r"//(localhost)?(?=/)")


def local_path(address: str) -> str | None:
    """Give the path of a local file, absolute; None where it lies behind an address or a command.

    `file:/data/0.tar` and `file:data/0.tar` are what webdataset opens, beside `file:///data/0.tar`;
    `pipe:cat x.tar` reads a file, too. Nothing is run.
    """
    plain = plain_path(address)
    return None if plain is None else os.path.abspath(plain)


def is_spelled(address: str) -> bool:
    """Whether it is a local file that is not written as a plain path: `file:`, `pipe:cat`."""
    return address[:5].lower() in ("file:", "pipe:") and plain_path(address) is not None


def plain_path(address: str) -> str | None:
    """Give the path as it is written, without what stands before it."""
    if address.startswith("pipe:"):
        return _catted(address.removeprefix("pipe:"))
    if _FILE.match(address):
        path = _HOST.sub("", address[len("file:") :], count=1)
        path = unquote(path) if "%" in path and not os.path.lexists(path) else path
        drive = re.match(r"/([A-Za-z]:[/\\])", path)  # file:///C:/data
        return path[1:] if drive else path or None
    return None if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", address) else address


def _catted(command: str) -> str | None:
    """Give the file of `cat FILE`; any other command is not read."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    if len(words) == 2 and words[0] == "cat" and not set(words[1]) & set("*?$|;&<>"):
        return words[1]
    return None


def is_found(path: str, *, by: str) -> bool:
    """Whether `glob` finds a path by a pattern: folder by folder, and none that is hidden."""
    names, patterns = path.split(os.sep), by.split(os.sep)
    return len(names) == len(patterns) and all(
        fnmatch(name, one) and (one.startswith(".") or not name.startswith("."))
        for name, one in zip(names, patterns, strict=True)
    )
