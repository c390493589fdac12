"""The checkpoints of a run, and which of them are whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Checkpoint(NamedTuple):
    """One state of a training run: a folder, or a single file."""

    name: str
    """Below the folder of checkpoints."""

    files: int
    written: float
    """When the last of its files was, in seconds since the epoch."""

    damaged: int = 0
    first_damaged: str = ""
    """The first of its damaged files, and what is wrong with it."""

    torn: tuple[str, ...] = ()
    """The first hundred of its damaged files, below the folder of checkpoints."""

    is_quiet: bool = False
    """Whether a job loads what is damaged in it without a word."""

    lacks: tuple[str, ...] = ()
    """Files that the others have."""

    parted: tuple[str, ...] = ()
    """States that are not there, and that belong to what is in it."""

    is_weights_only: bool = False
    """Whether its trainer was told to save no state of an optimizer."""

    absent: tuple[str, ...] = ()
    """Files that are not there, and that an index beside them names."""

    without: tuple[str, ...] = ()
    """Tensors that an index names, and that are not in the file that it says."""

    unfinished: tuple[str, ...] = ()
    """Files that are not there, and that a writer of parts (`.distcp`) writes last."""

    astray: str = ""
    """A folder that `latest` in it names, and that is not there."""

    is_begun: bool = False
    """Whether nothing in it can be loaded, and no other one says what should be there."""

    members: tuple[str, ...] = ()
    """Where it is made of single files: all of them, below the folder of checkpoints."""

    @property
    def is_whole(self) -> bool:
        """Whether a job can go on from it, as far as anybody has seen."""
        lost = (*self.lacks, *self.parted, *self.absent, *self.without, *self.unfinished)
        return not (self.damaged or lost or self.astray or self.is_begun)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointFacts:
    """A folder of checkpoints, after each of their files was read."""

    file: str
    checkpoints: tuple[Checkpoint, ...]
    """The newest first."""

    latest: str = ""
    """The checkpoint that a file in it (`latest`) names, if any: a job goes on from that one."""

    pointer: str = ""
    """The file or link in it that should name the newest (`latest`), and does not."""

    astray: str = ""
    """What is wrong with that, as a predicate of it."""
