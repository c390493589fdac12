"""Loads what `torch.save` has written, with nothing in its tensors."""

from __future__ import annotations

from typing import NamedTuple

from preflight.resuming.facts import SavedState
from preflight.users_code.facts import Frame
from preflight.users_code.frames import said_by


class File(NamedTuple):
    """A file that `torch.save` wrote."""

    writer: str
    at: Frame | None
    is_own: bool
    """Whether the script itself called it: a library knows how to load what it has saved."""


def load(file: File, path: str, name: str) -> SavedState:
    """Say what `torch.load` refuses by itself, and what it cannot load at all."""
    refused, unloadable = _loaded(path)
    return SavedState(
        name=name,
        writer=file.writer,
        at=file.at,
        refused=refused if file.is_own else "",
        unloadable=unloadable,
    )


def _loaded(path: str) -> tuple[str, str]:
    import torch

    try:
        torch.load(path, map_location="meta")
    except Exception as error:  # noqa: BLE001  the user's classes are made
        refused = said_by(error)
    else:
        return "", ""
    try:
        torch.load(path, map_location="meta", weights_only=False)
    except Exception as error:  # noqa: BLE001  the user's classes are made
        return refused, said_by(error)
    return refused, ""
