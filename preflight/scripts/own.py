"""Tells which files are the script's own, and not of Python, of a package, or ours."""

from __future__ import annotations

import linecache
import os

from preflight.users_code.facts import Frame
from preflight.users_code.frames import is_users
from preflight.values.names import name_of


class OwnFiles:
    """What lies in the job's folder, in that of the script, or in the current one."""

    def __init__(self, root: str, folder: str) -> None:
        self.root = root
        places = dict.fromkeys(os.path.abspath(one) + os.sep for one in (root, folder, os.getcwd()))
        self._bases = tuple(places)
        self._known: dict[str, bool] = {}

    def has(self, file: str) -> bool:
        """Whether a file is the script's own."""
        known = self._known.get(file)
        if known is None:
            path = os.path.abspath(file)
            known = any(is_users(path, base) for base in self._bases)
            self._known[file] = known
        return known

    def frame(self, file: str, line: int, function: str) -> Frame:
        """Give one line, as facts have it."""
        text = linecache.getline(file, line).strip()
        return Frame(
            file=name_of(os.path.abspath(file), self.root), line=line, function=function, text=text
        )
