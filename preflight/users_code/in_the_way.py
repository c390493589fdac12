"""Tells what was raised since a file of the job's bears the name of a module of others.

Python puts the folder of a script first on its path: beside a `numbers.py`, no script can import
torch.
"""

from __future__ import annotations

import itertools
import os
import re
import sys
import traceback
from collections.abc import Sequence

from preflight.users_code.frames import is_users, text_of
from preflight.values.this_process import full_path

_QUOTED = re.compile(r"'([A-Za-z_]\w*)(?:\.[\w.]*)?'")


def stands_in_the_way(error: BaseException, folders: Sequence[str]) -> bool:
    """Whether Python or a package asked for a module of its own, and was given one of the job's.

    `folders` are those in which the job's own modules lie.
    """
    frames = [
        one
        for one in traceback.extract_tb(error.__traceback__)
        if not one.filename.startswith("<frozen")
    ]
    for asking, given in itertools.pairwise(frames):
        is_import = re.match(rf"\s*(?:import|from)\s+{_stem(given.filename)}\b", asking.line or "")
        if is_import and is_foreign(asking.filename) and _is_own(given.filename, folders):
            return True
    if not frames or not is_foreign(frames[-1].filename):
        return False
    path = error.path if isinstance(error, ImportError) else None
    return bool(path and _is_own(path, folders)) or any(
        _is_own(getattr(sys.modules.get(name), "__file__", None) or "", folders)
        for name in _QUOTED.findall(text_of(error))
    )


def is_foreign(file: str) -> bool:
    """Whether a file is of Python or of an installed package."""
    base = full_path(os.path.dirname(os.__file__)) + os.sep
    return file.startswith("<frozen") or is_installed(file) or full_path(file).startswith(base)


def is_installed(file: str) -> bool:
    """Whether a file belongs to an installed package."""
    parts = os.path.normpath(file).split(os.sep)
    return "site-packages" in parts or "dist-packages" in parts


def _is_own(file: str, folders: Sequence[str]) -> bool:
    return bool(file) and is_users(file, *folders) and not is_foreign(full_path(file))


def _stem(file: str) -> str:
    folder, name = os.path.split(full_path(file))
    return re.escape(os.path.basename(folder) if name == "__init__.py" else name[: -len(".py")])
