"""Reads one WAV file to its end."""

from __future__ import annotations

import os
import wave
from collections.abc import Iterator

from preflight.kinds.asked import Asked, CannotLookError
from preflight.sounds.facts import SoundFacts
from preflight.values.names import name_of

# Frames that are held in memory at once.
_AT_ONCE = 1 << 16


def look(asked: Asked) -> Iterator[SoundFacts]:
    """Read the file that is asked about.

    Raises:
        CannotLookError: it is no WAV file, or none that the standard library reads.
    """
    path = os.path.join(asked.root, asked.wire["path"])
    try:
        with wave.open(path, "rb") as sound:
            there = 0
            while piece := sound.readframes(_AT_ONCE):
                there += len(piece) // (sound.getsampwidth() * sound.getnchannels())
                asked.alive()
            yield SoundFacts(
                file=name_of(path, asked.root),
                channels=sound.getnchannels(),
                rate=sound.getframerate(),
                frames=sound.getnframes(),
                there=there,
            )
    except (wave.Error, EOFError) as error:
        text = str(error) or "it ends inside its header"
        raise CannotLookError(f"it cannot be read as WAV: {text}") from error
