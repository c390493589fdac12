"""Tells which files are the script's own, and not of Python, of a package, or ours."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Iterable

from preflight.users_code.facts import Frame
from preflight.users_code.frames import is_users
from preflight.values.names import name_of
from preflight.values.this_process import full_path, working_folder


class OwnFiles:
    """What lies in the job's folder, in that of the script, or in the current one."""

    def __init__(self, root: str, folder: str) -> None:
        self.root = root
        self._places = tuple(map(full_path, (root, folder, working_folder())))
        self._known: dict[str, bool] = {}

    def has(self, file: str) -> bool:
        """Whether a file is the script's own."""
        known = self._known.get(file)
        if known is None:
            known = self._known[file] = is_users(file, *self._places)
        return known

    def frame(self, file: str, line: int, function: str) -> Frame:
        """Give one line, as facts have it."""
        text = linecache.getline(file, line).strip()
        return Frame(
            file=name_of(full_path(file), self.root), line=line, function=function, text=text
        )

    def frames(self, trace: Iterable[traceback.FrameSummary]) -> tuple[Frame, ...]:
        """Keep the script's own lines of a traceback, the innermost last."""
        return tuple(
            self.frame(one.filename, one.lineno or 0, one.name)
            for one in trace
            if self.has(one.filename)
        )
