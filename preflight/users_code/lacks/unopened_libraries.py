"""Names the shared library of the system that a package loads, and that is not here."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence

from preflight.values.this_process import full_path

# As glibc and musl say it, dyld of macOS, and ctypes on Windows.
_UNOPENED = re.compile(
    r"([^\s:'\"()]+\.so[.\d]*): (?:cannot open shared object file: No such file|No such file)"
    r"|Error loading shared library ([^\s:'\"()]+\.so[.\d]*)"
    r"|Library not loaded: (\S+)"
    r"|Could not find module '([^']+\.dll)'"
)


def unopened_library(text: str, folders: Sequence[str]) -> str | None:
    """Name the library that could not be opened; None: none, or one that the job itself has built.

    A package may have tried several places and versions: the first name without a folder counts.

    Args:
        text: what was raised says.
        folders: those in which the user's own modules lie.
    """
    found = [name for names in _UNOPENED.findall(text) for name in names if name]
    bare = [one for one in found if not os.path.dirname(one)]
    away = [one for one in found if not _is_of_job(one, folders)]
    return os.path.basename((bare or away)[0]) if bare or away else None


def _is_of_job(file: str, folders: Sequence[str]) -> bool:
    """Whether it lies in one of them, and in no environment that is there, too."""
    full, here = full_path(file), os.path.join(sys.prefix, "")
    own = tuple(os.path.join(full_path(one), "") for one in folders)
    return full.startswith(own) and not (file.startswith("@") or full.startswith(here))
