"""Tells audio files by their names; what is in them is not read."""

from __future__ import annotations

EXTENSIONS = frozenset({"wav", "flac", "mp3", "ogg", "opus", "m4a", "aac", "aif", "aiff", "wma"})
"""Without dots, in small letters."""


def is_sound(name: str) -> bool:
    """Whether a name, or a suffix of one, is that of an audio file."""
    return name.rpartition(".")[2].lower() in EXTENSIONS
