"""What a folder of cached files holds as a whole."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Alike:
    """Cached files that are alike in one way."""

    what: str
    """A format (`torch zip`), or the part of their names that they share (`-flux.pt`)."""

    count: int
    names: tuple[str, ...]
    """Of the first few, below the folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A cached file of which not everything was looked at."""

    name: str
    """Below the folder."""

    what: str
    """What was not, with its sizes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """Damaged files that were last written at nearly the same time."""

    count: int
    begin: float
    """In seconds since the epoch."""

    end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
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

    absent: tuple[str, ...] = ()
    """Files that are not there, and that an index beside them names."""

    without: tuple[str, ...] = ()
    """Tensors that an index names, and that are not in the file that it says."""

    unfinished: tuple[str, ...] = ()
    """Files that are not there, and that a writer of parts (`.distcp`) writes last."""

    astray: str = ""
    """A folder that `latest` in it names, and that is not there."""

    members: tuple[str, ...] = ()
    """Where it is made of single files: all of them, below the folder of checkpoints."""

    @property
    def is_whole(self) -> bool:
        """Whether a job can go on from it, as far as anybody has seen."""
        lost = (*self.lacks, *self.absent, *self.without, *self.unfinished)
        return not (self.damaged or lost or self.astray)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheFolderFacts:
    """A folder of cached files, with all below it, after each was read."""

    file: str
    entries: int
    """Cached files that were read."""

    damaged: int = 0
    formats: tuple[Alike, ...] = ()
    """Whole files by format, the commonest first."""

    unverified: tuple[Alike, ...] = ()
    """By format, whole files without a checksum, or with some that say nothing; of which all was
    looked at."""

    unread: tuple[Unread, ...] = ()
    """The first few of those of which not everything was looked at."""

    unread_count: int = 0
    patterns: tuple[Alike, ...] = ()
    """Files whose names begin with a hash, by what follows it, the commonest first."""

    apart: float = 0.0
    """The share of hashes that stand before one such pattern only, from 0 to 1."""

    left_over: tuple[str, ...] = ()
    """Temporary files and locks, the first few, below the folder."""

    left_over_count: int = 0
    same_as: str | None = None
    """Another entry of the settings that names this folder, too."""

    bursts: tuple[Burst, ...] = ()
    checkpoints: int = 0
    """How many, where it is a folder of checkpoints."""


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
