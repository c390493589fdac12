"""The row of WAV files."""

from __future__ import annotations

from dataclasses import dataclass

from preflight.kinds.kind import Kind
from preflight.kinds.target import PathTarget
from preflight.sounds.facts import SoundFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Sound(PathTarget):
    """One WAV file."""


SOUND = Kind(
    name="sound",
    noun="sound",
    word="sound",
    part="data",
    target=Sound,
    suffixes=(".wav",),
    each_file=True,
    facts={SoundFacts: "sound"},
    reader="preflight.sounds.read:look",
    seconds=lambda _plain, _root, _depth: 1e-3,
    is_kept=True,
    may_be_left=True,
    counts=lambda _facts: {"sound": 1},
)

KINDS = (SOUND,)
