"""Finds the settings that a run reads where none were named: here, or above in the same repository.

Settings can name code, which is run. So a file above the folder counts only where it belongs to the
same repository and the same owner: anybody may have put one into `/tmp`, or beside a home.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from preflight.settings.toml_file import FILE, has_table
from preflight.values.listing import upward


class Nearest(NamedTuple):
    """What was found on the way upward."""

    file: str | None = None
    """The settings; None: there are none that may be read."""

    passed: str | None = None
    """The nearest file that was not taken, if that is nearer."""

    reason: str = ""
    """Why it was not."""


def nearest(folder: str) -> Nearest:
    """Find preflight.toml, or [tool.preflight] in pyproject.toml, here or above."""
    inside = True
    for at, place in enumerate(upward(folder)):
        file = _settings_in(place)
        if file is not None:
            reason = "" if at == 0 else _reason(file, folder, inside=inside)
            return Nearest(passed=file, reason=reason) if reason else Nearest(file)
        inside = inside and not os.path.lexists(os.path.join(place, ".git"))
    return Nearest()


def _settings_in(folder: str) -> str | None:
    own = os.path.join(folder, FILE)
    if os.path.isfile(own):
        return own
    project = os.path.join(folder, "pyproject.toml")
    return project if os.path.isfile(project) and has_table(project) else None


def _reason(file: str, folder: str, *, inside: bool) -> str:
    """Say why a file above the folder is not read; empty where it may be."""
    above = upward(os.path.dirname(file))
    if not (inside and any(os.path.lexists(os.path.join(one, ".git")) for one in above)):
        return f"it lies outside of the repository of {folder}"
    owner = os.stat(folder).st_uid
    if any(one.st_uid != owner for one in (os.stat(file), os.lstat(file))):
        return f"its owner is not that of {folder}"
    return ""
