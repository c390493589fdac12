"""Lists the job's own sources below a folder, and reads their bytes."""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from preflight.syntax.ignored import ignored_by_git
from preflight.syntax.parsing import UnparsableError

# Larger files are data that somebody wrote as Python.
_MOST_BYTES = 4 << 20

MOST_FILES = 20_000

_OTHER_PEOPLES = frozenset({"node_modules", "__pycache__", "site-packages", "dist-packages"})

# Files of a folder that a training run never loads.
_NOT_THE_JOB = frozenset({"setup.py", "conftest.py", "noxfile.py"})

_OF_A_PACKAGE = "setup.py"
"""What installs a repository, and beside an `__init__.py` is a module as any other."""

_TESTS = frozenset({"test", "tests"})


# Entries of ignored folders that are counted: of data and of outputs there may be millions.
_MOST_IGNORED = 10_000


class PassedOver(NamedTuple):
    """Sources that git ignores."""

    files: int
    places: tuple[str, ...]
    """The files, and the folders that are ignored as a whole; those of most sources first."""

    is_all: bool
    """Whether they were counted to the end."""


def python_files(folder: str, passed_over: list[os.DirEntry[str]] | None = None) -> Iterator[str]:
    """Give the job's own sources below a folder, in order; links to folders are not followed.

    What git ignores is left out, and so are virtual environments and packages of others. The files
    and folders that git ignores are added to what is passed over.

    Raises:
        OSError: the folder itself cannot be listed.
    """
    ignored: frozenset[str] | None = None
    stack = [folder]
    while stack:
        here = stack.pop()
        try:
            entries = sorted(os.scandir(here), key=lambda entry: entry.name)
        except OSError:
            if here == folder:
                raise
            continue
        if ignored is None:
            ignored = ignored_by_git(folder)
        if passed_over is not None:
            those = (entry for entry in entries if entry.path in ignored)
            passed_over += (one for one in those if _is_source(one) or _is_the_jobs(one))
        entries = [entry for entry in entries if entry.path not in ignored]
        yield from (entry.path for entry in entries if _is_source(entry))
        inner = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
        stack.extend(entry.path for entry in reversed(inner) if _is_the_jobs(entry))


def sources_among(
    passed_over: Iterable[os.DirEntry[str]], but: frozenset[str] = frozenset()
) -> PassedOver:
    """Count the sources among files and folders that git ignores, but for these paths."""
    counts: dict[str, int] = {}
    left = _MOST_IGNORED
    for top in (one for one in passed_over if os.path.normpath(one.path) not in but):
        counts[top.path] = int(_is_source(top))
        stack = [top.path] if top.is_dir(follow_symlinks=False) else []
        while stack and left > 0:
            try:
                with os.scandir(stack.pop()) as listed:
                    entries = list(itertools.islice(listed, left))
            except OSError:
                continue
            left -= len(entries)
            entries = [one for one in entries if os.path.normpath(one.path) not in but]
            counts[top.path] += sum(map(_is_source, entries))
            inner = [one for one in entries if one.is_dir(follow_symlinks=False)]
            stack += [one.path for one in inner if _is_the_jobs(one)]
    ranked = sorted((one for one in counts if counts[one]), key=lambda one: (-counts[one], one))
    return PassedOver(sum(counts.values()), tuple(ranked), is_all=left > 0)


def _is_source(entry: os.DirEntry[str]) -> bool:
    if not entry.name.endswith(".py") or not entry.is_file():
        return False
    return entry.name not in _NOT_THE_JOB or (
        entry.name == _OF_A_PACKAGE
        and os.path.exists(os.path.join(os.path.dirname(entry.path), "__init__.py"))
    )


def _is_the_jobs(entry: os.DirEntry[str]) -> bool:
    return not (
        entry.name.startswith(".")
        or entry.name in _OTHER_PEOPLES
        or os.path.exists(os.path.join(entry.path, "pyvenv.cfg"))
        or os.path.exists(os.path.join(entry.path, "conda-meta"))
    )


def content_of(path: str) -> bytes:
    """Read a source.

    Raises:
        OSError: it cannot be read, or is no regular file.
        UnparsableError: it is too large to be one.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):  # opening a FIFO would wait for ever
        raise OSError("it is no regular file")
    with open(path, "rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise UnparsableError(f"is larger than {_MOST_BYTES >> 20} MiB")
    return content


def is_test(file: str) -> bool:
    """Whether a file, as reports name it, is one of a test suite; `test.py` alone may be a job."""
    *folders, name = file.split("/")
    below = folders if not file.startswith(("/", "..")) and ":" not in file else folders[-1:]
    return not _TESTS.isdisjoint(below) or name.startswith("test_") or name.endswith("_test.py")
