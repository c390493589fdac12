"""Says of a Git LFS pointer what it stands for, and what fetches that: no git is run."""

from __future__ import annotations

import os
import re
from typing import Any

from preflight.formats.magic import LONGEST_LFS_POINTER, is_lfs_pointer, size_in_lfs_pointer
from preflight.values.byte_sizes import format_size
from preflight.values.listing import upward

_POINTER = "is a Git LFS pointer"

# Of a path that `git lfs pull --include=` and a shell take as it is.
_ORDINARY = re.compile(r"[\w./@+=-][\w./@+= -]*", re.ASCII)


def refined(damage: Any, path: str, *, folder: bool = True) -> Any:
    """Say of a pointer that was taken for something foreign that it was not fetched.

    What is damaged otherwise is given as it is. With `folder` all of the file's folder is to be
    fetched: small files come in great numbers.
    """
    if damage.kind != "foreign" or not damage.text.startswith(_POINTER):
        return damage
    try:
        with open(path, "rb", buffering=0) as file:
            head = file.read(LONGEST_LFS_POINTER + 1)
    except OSError:  # it was there a moment ago, and what was seen then holds
        return damage
    if not is_lfs_pointer(head):
        return damage
    size = size_in_lfs_pointer(head)
    stands_for = _POINTER if size is None else f"{_POINTER} of a file of {format_size(size)}"
    if len(head) > LONGEST_LFS_POINTER:
        return damage._replace(text=damage.text.replace(_POINTER, stands_for, 1))
    fetch = _in_work_tree(path)
    if not _ORDINARY.fullmatch(fetch):
        fetch = ""
    elif folder:
        fetch = fetch.rpartition("/")[0]
    return damage._replace(
        kind="not-fetched", text=f"{stands_for} that was not fetched", fetch=fetch
    )


def _in_work_tree(path: str) -> str:
    """Give a file's path from the nearest folder upward that holds a `.git`; empty: there is none.

    `git lfs pull --include=` takes it from there.
    """
    path = os.path.realpath(path)
    above = upward(os.path.dirname(path))
    top = next((one for one in above if os.path.lexists(os.path.join(one, ".git"))), None)
    return "" if top is None else os.path.relpath(path, top).replace(os.sep, "/")
