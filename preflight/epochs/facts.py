"""What was seen of epochs that are alike where they should not be, and unlike where they should."""

from __future__ import annotations

from typing import NamedTuple

from preflight.objects.facts import Definition


class SameOrder(NamedTuple):
    """An order that is drawn by chance, and is the same one in each epoch."""

    sampler: str
    """The class of what draws it."""

    at: Definition = Definition()
    samples: int = 0
    waits_at: str = ""
    """Where the loader has it, if it gives another order once it is told the epoch: `sampler`."""

    is_unheard: bool = False
    """Whether workers that outlive an epoch do not hear of that."""

    of_samples: bool = False
    """Whether it is no order but each sample that is drawn by the epoch, and `sampler` the class of
    the data set."""

    begins_anew: bool = False
    """Whether two whole epochs were seen to be alike, though what draws them does not: `sampler` is
    the class of the loader, or of what stands around it."""

    counts_itself: bool = False
    """Whether a stream counts its epochs, in copies that workers get anew with each of them."""

    by_init: str = ""
    """What workers call as they are started (`worker_init_fn`), where that may be what seeds."""

    by_loop: bool = False
    """Whether it is the loop over epochs that has random numbers begin anew."""


class Changing(NamedTuple):
    """A data set whose samples are others each time that they are asked for, and not by chance."""

    dataset: str
    """Its class."""

    at: Definition = Definition()
    sample: str = ""
    """The index of one."""


class SeededAlike(NamedTuple):
    """A data set that seeds by one and the same number whichever sample it is asked for."""

    dataset: str
    """Its class."""

    code: str
    """The line that does: `random.seed(0)`."""

    at: Definition = Definition()


class LeftBehind(NamedTuple):
    """Samples that a stream has read, and that are still in its own buffer when it ends."""

    buffer: str
    """As its code calls it: `held`, `self.held`."""

    inside: str
    """The generator that has it: `Stream.shuffled`."""

    file: str
    line: int
    number: int
    came: int
    """Samples that came."""


class LostBatches(NamedTuple):
    """Batches that a DataLoader gives to what stands around it, and that the loop does not get."""

    number: int
    taken: int
    first: int
    """The first of them, counted from 1."""

    at: Definition = Definition()
    """Where the class of what stands around it is, or the line that raised."""

    error: str = ""
    """What the DataLoader raised, and the loop does not get: it has no more of them."""


class Dropped(NamedTuple):
    """Samples that a collate function is given, and that are in no part of its batch."""

    at: Definition = Definition()
    """Where the function is."""

    number: int = 0
    looked_at: int = 0
    """Samples of which it was looked at."""

    sample: str = ""
    """The index of one."""


class ArchivesRead(NamedTuple):
    """What a data set reads of the images in archives that its own code opens."""

    dataset: str
    """Its class."""

    at: Definition = Definition()
    archive: str = ""
    """The first of them; of those that hold an image that is left out, where there are any."""

    archives: int = 0
    """How many there are of these."""

    images: int = 0
    """In all that it opens."""

    read: int = 0
    """Of these."""

    left: int = 0
    """How many are not read of which only the suffix is another."""

    member: str = ""
    """The first of those."""

    suffixes: tuple[str, ...] = ()
    """Theirs."""

    taken: tuple[str, ...] = ()
    """Those of the images that are read, the commonest first."""
