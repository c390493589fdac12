"""Tells videos by their names; what is in them is not read."""

from __future__ import annotations

EXTENSIONS = frozenset({"mp4", "m4v", "mov", "webm", "mkv", "avi", "mpg", "mpeg", "wmv", "flv"})
"""Without dots, in small letters."""


def is_video(name: str) -> bool:
    """Whether a name, or a suffix of one, is that of a video."""
    return name.rpartition(".")[2].lower() in EXTENSIONS
