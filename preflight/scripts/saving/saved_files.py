"""The files that a script saves: told of when they are, and loaded once it has ended."""

from __future__ import annotations

import errno
import os
import traceback
from typing import NamedTuple

from preflight.resuming.facts import SavedState
from preflight.scripts.watch import Watch
from preflight.users_code.facts import Frame
from preflight.users_code.frames import said_by
from preflight.values.names import name_of

# Errors of a disk that is full: it is ours that was written to, and not the job's.
_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))


class _Written(NamedTuple):
    """A file that `torch.save` wrote."""

    writer: str
    at: Frame | None
    is_own: bool
    """Whether the script itself called it: a library knows how to load what it has saved."""


class SavedFiles:
    """What was saved in a script's process, by the whole path of each file."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._written: dict[str, _Written] = {}
        self._saved: dict[str, tuple[str, Frame | None]] = {}

    def wrote(self, path: str, writer: str, *, is_own: bool) -> None:
        """Take in a file that `torch.save` wrote."""
        self._written[self._real(path)] = _Written(writer, self._watch.place(), is_own)

    def saved(self, path: str, writer: str, at: Frame | None) -> None:
        """Tell of what was saved."""
        self._saved[path] = (writer, at)
        self._tell(path, writer, at)

    def _tell(
        self, path: str, writer: str, at: Frame | None, refused: str = "", unloadable: str = ""
    ) -> None:
        name = name_of(path, self._watch.root)
        told = SavedState(name=name, writer=writer, at=at, refused=refused, unloadable=unloadable)
        self._watch.gave(told, key=f"saved {name}")

    def moved(self, source: str, target: str) -> bool:
        """Follow what is moved, and say whether the script has saved that."""
        if source in self._written:
            self._written[target] = self._written.pop(source)
        if source not in self._saved or not self._watch.is_here:
            return False
        self.saved(target, *self._saved.pop(source))
        return True

    def failed(self, path: str, writer: str, error: Exception) -> None:
        """Tell what was raised by a save."""
        if isinstance(error, OSError) and error.errno in _FULL and self._watch.layer is not None:
            self._watch.shortened("a save that the folder for temporary files had no room for")
            error.of_preflight = True  # type: ignore[attr-defined]
            return
        _, name = self.named(path)
        inner = self._watch.own.frames(traceback.extract_tb(error.__traceback__))
        told = SavedState(
            name=name,
            writer=writer,
            at=self._watch.place(),
            error=said_by(error),
            raised=inner[-1] if inner else None,
        )
        self._watch.gave(told, key=f"failed {name} {told.at}")
        if self._watch.wants("SavedState"):
            self._watch.blamed[id(error)] = "script-save"

    def named(self, path: str) -> tuple[str, str]:
        """Give it whole, and as reports name it; empty where the script has named none."""
        own = self._real(path) if path else ""
        return own, name_of(own, self._watch.root) if own else ""

    def _real(self, path: str) -> str:
        layer = self._watch.layer
        own = None if layer is None else layer.own(path)
        return own or os.path.abspath(path)

    def read_back(self) -> None:
        """Load what `torch.save` has written and is still there: its bytes are not needed."""
        if not self._watch.wants("SavedState") or not self._watch.is_here:
            return
        for path, (writer, at, is_own) in self._written.items():
            if os.path.isfile(path):
                refused, unloadable = _loaded(path)
                self._tell(path, writer, at, refused if is_own else "", unloadable)


def _loaded(path: str) -> tuple[str, str]:
    """Say what `torch.load` refuses by itself, and what it cannot load at all."""
    refused = _raised(path)
    return refused, _raised(path, weights_only=False) if refused else ""


def _raised(path: str, **how: bool) -> str:
    """Say what `torch.load` raises; empty: nothing."""
    import torch

    try:
        torch.load(path, map_location="meta", **how)
    except Exception as error:  # noqa: BLE001  the user's classes are made
        return said_by(error)
    return ""
