"""What is seen of the place that a cache is written to, and of the function that writes to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class ReadBack(NamedTuple):
    """What a reader met in a file that several processes wrote meanwhile."""

    reads: int = 0
    torn: int = 0
    """ReadBack that gave part of what a writer had written, or a mixture."""

    absent: int = 0
    """ReadBack that found no file, although it was there before."""

    failed: int = 0
    """ReadBack that the system refused."""

    said: str = ""
    """Why, of the first that was refused."""

    writes: int = 0
    """How often the file was written meanwhile."""

    @property
    def bad(self) -> int:
        """Count the reads that did not give one whole version."""
        return self.torn + self.absent + self.failed


class Locks(NamedTuple):
    """What locks of one kind did between processes."""

    turns: int = 0
    """How often one of the processes held the lock."""

    lost: int = 0
    """Turns in which another process held it at the same time."""

    said: str = ""
    """Why the system refuses such locks, or that nobody came back from asking for one."""


class Tried(NamedTuple):
    """What a file system did with files of ours, written by several processes."""

    writers: int = 0
    renamed: ReadBack = ReadBack()
    """Of a file that each writer wrote under a name of its own, and renamed over the old one."""

    created: int = 0
    """Files that all writers tried to create at the same time, each as the only one (O_EXCL)."""

    created_twice: int = 0
    """Those that more than one of them has created."""

    flock: Locks | None = None
    """None: this system has none, or nobody could try."""

    fcntl: Locks | None = None
    folds_case: bool | None = None
    """Whether `A` and `a` are one file."""

    late: str = ""
    """What did not come to an end in its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageProbe:
    """The place that a cache is written to."""

    file: str
    """The cache, as reports name it."""

    entry: int | None = None
    """Its place among the caches of the settings, counted from 0."""

    place: str = ""
    """The folder that was looked at: the cache, or the nearest one above it that is there."""

    is_there: bool = True
    is_written: bool = False
    """Whether the settings say that the job writes to it, or `--probe-storage` was said."""

    tried: Tried | None = None
    """What was tried there; None: nothing was written."""

    refused: str = ""
    """Why nothing could be written."""

    is_full: bool = False
    """Whether there was no room for files of ours, which may take more than an entry does."""

    read_only: bool = False
    """Whether it was mounted for reading only."""

    system: str = ""
    """The type of its file system, such as `ext4`, where it is known."""

    is_remote: bool | None = None
    """Whether that is reached over a network; None: not known."""

    device: int | None = None
    free: int | None = None
    """Bytes that whoever runs this may still write."""

    free_files: int | None = None
    """Files that may still be made; None: as many as there is room for."""

    entry_size: int | None = None
    """Bytes of an entry: the mean of some of those that are there."""

    missing: int = 0
    """Entries that are still to be written, as far as is known."""

    before: int = 0
    """Bytes that caches of the job which come first still need on the same file system."""

    files_before: int = 0
    """Files that they still need there."""

    cased: tuple[str, ...] = ()
    """Two keys of different samples that differ in nothing but capital letters, if there are."""

    @property
    def needed(self) -> int | None:
        """Bytes that its own missing entries take; None where nobody knows their size."""
        return None if self.entry_size is None else self.missing * self.entry_size


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterTrial:
    """The user's own function that writes an entry, called by several processes at once."""

    file: str
    """The cache, as reports name it."""

    entry: int | None = None
    """Its place among the caches of the settings, counted from 0."""

    writer: str = ""
    """`module:save`, as the settings have it."""

    called_as: str = ""
    """`save(path, value)`"""

    value: str = ""
    """What was saved: `a tensor of 262,144 bytes`."""

    suffix: str = ""
    """Of the files, as of the entries of the cache: `.pt`."""

    read_by: str = ""
    """What read them: `torch.load`; or that their bytes were compared."""

    writers: int = 0
    saves: int = 0
    reads: ReadBack = ReadBack()
    first_torn: str = ""
    """What the first read that failed said."""

    files: int = 0
    """Files that were written in all."""

    left_damaged: int = 0
    """Those that could not be read once all writers had ended."""

    raised: int = 0
    """Saves that raised an exception."""

    first_raised: str = ""
    hung: int = 0
    """Writers that had to be ended."""

    @property
    def is_whole(self) -> bool:
        """Whether every read gave a whole version, and every save came to its end."""
        bad = self.reads.bad or self.left_damaged or self.raised or self.hung
        return bool(self.reads.reads) and not bad
