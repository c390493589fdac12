"""Finds what is spelled nearly like a path that is not there."""

from __future__ import annotations

import os

from preflight.values.names import nearest, shown


def nearest_path(typed: str, folder: str) -> str:
    """Ask whether a path like a missing one was meant; empty where there is none."""
    near = _near_typed(typed.rstrip("/\\"), folder)
    return f"; did you mean {shown(near)}?" if near else ""


def _near_typed(typed: str, folder: str) -> str | None:
    """Find a path like a missing one, part for part, and give it as it would be typed."""
    head, name = os.path.split(typed)
    if head and not os.path.isdir(os.path.join(folder, head)):
        there = _near_typed(head, folder)
        if there is None:
            return None
        if os.path.lexists(os.path.join(folder, there, name)):
            return os.path.join(there, name)
        head = there
    near = near_path(os.path.join(folder, head, name))
    return None if near is None else os.path.join(head, near)


def near_path(path: str) -> str | None:
    """Find a name like a missing path's own, in its folder."""
    folder, name = os.path.split(path.rstrip("/\\"))
    try:
        return nearest(name, os.listdir(folder or "."))
    except OSError:
        return None
