"""Tells videos and audio files by their names; what is in them is not read."""

from __future__ import annotations

_VIDEOS = frozenset({"mp4", "m4v", "mov", "webm", "mkv", "avi", "mpg", "mpeg", "wmv", "flv"})
_SOUNDS = frozenset({"wav", "flac", "mp3", "ogg", "opus", "m4a", "aac", "aif", "aiff", "wma"})


def is_video(name: str) -> bool:
    """Whether a name, or a suffix of one, is that of a video."""
    return name.rpartition(".")[2].lower() in _VIDEOS


def is_sound(name: str) -> bool:
    """Whether a name, or a suffix of one, is that of an audio file."""
    return name.rpartition(".")[2].lower() in _SOUNDS
