"""What is seen of a WAV file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundFacts:
    """A WAV file that was read to its end."""

    file: str
    channels: int
    rate: int
    """Frames in a second."""

    frames: int
    """As many as its header says that there are."""

    there: int
    """As many as there are."""
