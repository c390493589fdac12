"""sound-cut counts frames, and leaves whole sounds alone, empty ones too."""

from __future__ import annotations

import pytest

from preflight.sounds.facts import SoundFacts
from preflight.testing import ask


def facts(frames: int, there: int) -> SoundFacts:
    return SoundFacts(file="a.wav", channels=1, rate=8_000, frames=frames, there=there)


@pytest.mark.parametrize("frames", [0, 8_000])
def test_a_whole_sound_is_left_alone(frames: int) -> None:
    assert ask("sound-cut", facts(frames, frames)) == []


def test_what_is_missing_is_counted() -> None:
    (finding,) = ask("sound-cut", facts(8_000, 5_000))

    assert finding.message == "ends after 5,000 of its 8,000 frames"
    assert finding.at.file == "a.wav"
