"""Tells an import of the job's code that finds no such module, or no such name in it."""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Iterator, Sequence

from preflight.users_code.facts import Unfound
from preflight.values.listing import names_in
from preflight.values.names import name_of
from preflight.values.this_process import full_path

_NO_NAME = re.compile(
    r"cannot import name '([^']*)' from (?:partially initialized module )?'([^']*)'"
)

# How far below the job's folder a module is looked for, and in how many folders.
_DEEPEST, _MOST = 3, 2_000


def unfound(chain: Iterator[BaseException], folders: Sequence[str]) -> Unfound | None:
    """Say what an import did not find; None: nothing of the sort was raised.

    `folders` are those in which the job's own modules lie, its own folder first.
    """
    error = next((one for one in chain if isinstance(one, ImportError)), None)
    if error is None:
        return None
    text = str(error)
    if isinstance(error, ModuleNotFoundError) and error.name:
        top = error.name.partition(".")[0]
        known = {name for folder in folders for name in modules_in(folder)} - {top}
        near = difflib.get_close_matches(top, known, n=1, cutoff=0.8)
        return Unfound(
            module=error.name, near="".join(near), folder=folder_of(error.name, folders[0])
        )
    if text.startswith("attempted relative import"):
        return Unfound(module="")
    match = _NO_NAME.match(text)
    if match is None:
        return None
    return Unfound(module=match[2], name=match[1], is_circular="circular import" in text)


def modules_in(folder: str) -> Iterator[str]:
    """Name the modules of a folder, and what may be packages."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for one in entries:
        stem = one.name.removesuffix(".py")
        if stem.isidentifier() and (one.name.endswith(".py") or one.is_dir()):
            yield stem


def folder_of(module: str, root: str) -> str:
    """Name a folder of the job that has such a module, and is not on the path; or nothing."""
    stem = os.path.join(*module.split("."))
    level, seen = [full_path(root)], 0
    searched = {full_path(one) for one in sys.path}
    for depth in range(_DEEPEST):
        below = [path for folder in level for path in _folders_in(folder)]
        for folder in sorted({*below, *(() if depth else level)} - searched):
            path = os.path.join(folder, stem)
            if os.path.isfile(f"{path}.py") or any(one.endswith(".py") for one in names_in(path)):
                return name_of(folder, root)
        seen += len(below)
        if seen > _MOST:
            return ""
        level = below
    return ""


def _folders_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(
                one.path
                for one in entries
                if one.is_dir(follow_symlinks=False)
                and not one.name.startswith((".", "_"))
                and one.name not in ("site-packages", "node_modules")
                and not os.path.isfile(os.path.join(one.path, "pyvenv.cfg"))
            )
    except OSError:
        return []
