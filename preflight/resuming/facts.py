"""What a script saved, and what came of starting it again from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from preflight.users_code.facts import Frame
from preflight.values.names import counted, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedState:
    """One file or folder that a script has saved, and whether it can be had back."""

    name: str
    """As reports name it; empty where the script named none."""

    writer: str
    """`torch.save`, `safetensors.torch.save_file`, `Accelerator.save_state`."""

    at: Frame | None = None
    """The script's own line that saved it."""

    error: str = ""
    """What was raised while it was saved."""

    raised: Frame | None = None
    """The line of the script that raised it, where the script itself is asked for what is saved."""

    damage: str = ""
    """What is wrong with the bytes of the file that was left."""

    unloadable: str = ""
    """What `torch.load` raises, when it may load anything."""

    refused: str = ""
    """What `torch.load` refuses, when it is told nothing."""


class Difference(NamedTuple):
    """What is another after a resume than it was when it was saved."""

    what: str
    """`optimizer`, `weights`, `average`, `rate`, `data`, `order` (of the data, of an epoch that is
    whole), `step` or `skip` (of an epoch)."""

    text: str
    """As a predicate of the resumed script."""

    is_fault: bool = True
    """Whether the run trains on something else than was meant; else it is only worse than it
    should be."""

    at: Frame | None = None
    """The line that made the optimizer, where it is about one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """A script that was started again, from a checkpoint that it has saved itself."""

    name: str
    """The script, as it was typed."""

    words: str
    """What was added to its arguments."""

    saved_at: Frame | None = None
    """The line that saved the checkpoint."""

    how: str = "returned"
    """How it ended, as `Ended` says it."""

    code: int | None = None
    error: str = ""
    """The exception that it did not catch."""

    frames: tuple[Frame, ...] = ()
    """Its own lines that led there, the innermost last; where it hung: where it stood."""

    steps: int = 0
    """Optimizer steps that it took."""

    differences: tuple[Difference, ...] = ()

    later: str = ""
    """An average of the weights, by its class, that begins behind the checkpoint."""

    unasked: str = ""
    """Why it was not rehearsed after all: `--resume takes no path`."""


def in_words(found: Sequence[Resumed]) -> str | None:
    """Say how each was resumed, or why not."""
    return "; ".join(_one(each) for each in found) or None


def _one(seen: Resumed) -> str:
    if seen.unasked:
        return f"resume not rehearsed: {shown(seen.unasked)}"
    line = f"resumed with {shown(seen.words)}: {counted(seen.steps, 'step')}"
    if seen.later:
        line += f", not rehearsed for its average of the weights ({seen.later}), which begins later"
    return line
