"""What was seen of a loader that was run past its end, and of one sample that was drawn often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from preflight.batches.facts import Form, Standing, Traceback
from preflight.epochs.facts import (
    ArchivesRead,
    Changing,
    Dropped,
    LeftBehind,
    LostBatches,
    SameOrder,
    SeededAlike,
)
from preflight.findings.finding import Location
from preflight.flow.facts import Flow
from preflight.objects.facts import Definition
from preflight.users_code.facts import Frame, Lack


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """What came of one epoch, as far as it was run."""

    batches: int
    rows: int | None = None
    """Samples in them; None where a batch does not say how many it holds."""

    most_rows: int = 0
    """Samples in the largest of them."""

    ended: str = "over"
    """`over`: by itself; `cut`: the time was used up; `beyond`: it gave far more than its `len()`,
    and was left; `raised`, `died`, `stuck`: nothing more was to be had of it."""


class Among(NamedTuple):
    """What all workers gave of a stream in an epoch, held against one without workers."""

    given: int
    alone: int
    """Without workers."""

    unit: str = "sample"
    """What is counted: `sample` or `batch`."""

    is_repeated: bool = False
    """Whether each worker gave all of it, or each shard."""

    shards: int = 0
    """Of which each has all; 0: it is workers that have."""

    again: int = 0
    """Items that came from one worker, and once more from another."""

    lacking: int = 0
    """Items that came from none."""


class AgainIn(NamedTuple):
    """A loop over batches that goes over one iterator in each round of another loop."""

    batches: Location
    rounds: Location
    is_sure: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WholePass:
    """A loader that was run past its end, and into a second epoch, as far as time allowed."""

    name: str
    """What the user called the loader: `train:make_loader`."""

    defined: Definition = Definition()
    """Where the factory is."""

    reason: str = ""
    """Why it was not run; empty: it was."""

    num_workers: int = 0
    start_method: str = ""
    length: int | None = None
    """Its `len()`, before it was run."""

    is_iterable: bool = False
    """Whether its data set is one that each worker goes through by itself."""

    resampled: bool = False
    """Whether it draws shards with replacement."""

    resumes: bool = False
    """Whether its first epoch begins where an earlier run has left one."""

    persistent: bool = False
    """Whether its workers outlive an epoch."""

    batch_size: int | None = None
    takes: int | None = None
    """Samples that its sampler takes in an epoch, each of the data set once; None: nobody knows."""

    gives_none: bool = False
    """Whether its data set gives None for samples, which are then lacking in batches."""

    never: int = 0
    """Samples that the job's own sampler takes in no epoch, while it takes others again."""

    is_rest: bool = False
    """Whether they are what fills no batch, and no others are taken again."""

    cut_at: int = 0
    """Samples that are drawn in an epoch of a sampler that has no end; 0: it has one."""

    samples: int | None = None
    """Of its data set, where some are never taken."""

    sampler: Definition = Definition()
    """Where that sampler is."""

    epochs: tuple[Epoch, ...] = ()
    forms: tuple[Form, ...] = ()
    """What the batches of its first epoch are made of, each form once."""

    heaviest: int = 0
    """As of `OnTheWay`."""

    heaviest_at: int = 0

    among: Among | None = None
    """What its workers gave otherwise than it gives without them; None: nothing, or nobody
    knows."""

    left_behind: LeftBehind | None = None
    """What its stream has read and does not give."""

    dropped: Dropped | None = None
    """What its collate function is given and does not give."""

    lost: LostBatches | None = None
    """What its DataLoader gives to what stands around it, and the loop does not get."""

    archives: ArchivesRead | None = None
    """What its data set reads of archives by its own code."""

    always_first: int = 0
    """Items after which `with_epoch` ends each epoch, where that is the same beginning of a stream
    that has more; 0: it is not, as far as is known."""

    is_one: bool = False
    """Whether it is an iterator itself, and gives nothing more when it is gone over again."""

    goes_on: bool = False
    """Whether it is what the first batches were drawn from, and goes on behind them."""

    gives_iterators: bool = False
    """Whether `iter` gives one that does not."""

    again: AgainIn | None = None
    """A loop of the job's own in which its iterator is gone over again."""

    error: str = ""
    """What was raised, with the exception's type; what was said of a process that ended."""

    frames: tuple[Frame, ...] = ()
    """The user's own lines of it, the innermost last."""

    lacks: Lack | None = None
    """What it was raised for want of."""

    worker: int | None = None
    """The worker that raised or died, counted from 0; None: the training process."""

    exit_status: int | None = None
    waited: float | None = None
    """Seconds without a batch, at the end of which it was given up."""

    standing: tuple[Standing, ...] = ()
    """Where each process stood then."""

    printed: tuple[Traceback, ...] = ()
    """Exceptions that its processes and threads had printed by the end of its last epoch."""

    printed_before: bool = False
    """Whether a thread printed one of them when the first batches were drawn, too."""

    told_by: str = ""
    """The check that tells already why it was no further; empty: none does."""

    @property
    def lacking(self) -> int:
        """Batches by which its last epoch ended before the other one, or before `len()`.

        Each worker's own last batch may be one more or less.
        """
        if not self.epochs or self.epochs[-1].ended != "over" or self.resampled or self.resumes:
            return 0
        most = max(self.length or 0, *(one.batches for one in self.epochs))
        uneven = max(self.num_workers - 1, 0) if self.is_iterable else 0
        lacking = most - self.epochs[-1].batches
        return lacking if lacking > uneven else 0

    @property
    def is_past_the_end(self) -> bool:
        """Whether its first epoch ended by itself."""
        return bool(self.epochs) and self.epochs[0].ended == "over"


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomDraws:
    """What workers drew of a data set: one sample again and again, or two epochs of a stream."""

    name: str
    defined: Definition = Definition()
    reason: str = ""
    """Why it was not drawn."""

    why_not: str = ""
    """Why the question does not apply to the loader."""

    num_workers: int = 0
    persistent: bool = False
    dataset: str = ""
    """The class of the data set."""

    is_stream: bool = False
    """Whether its data set is one of which nobody can ask for a sample."""

    of_shards: bool = False
    """Whether it is shards that workers drew, and `dataset` what they draw them from."""

    draws: int = 0
    """How often each worker was asked for it; of a stream, samples of an epoch, or shards."""

    varies: bool = False
    """Whether one worker gave another one each time, or at times."""

    workers_alike: bool = False
    """Whether two workers gave the same ones in the same order."""

    epochs_alike: bool = False
    """Whether the workers of two epochs did."""

    order: SameOrder | None = None
    """What is known of an order that is drawn by chance, and is the same in each epoch."""

    loop: Location | None = None
    """The loop over epochs that does not tell a sampler which epoch it is."""

    changing: Changing | None = None
    """What is known of samples that are others each time that they are asked for."""

    seeded: SeededAlike | None = None
    """What has each sample of its data set drawn with the same random numbers."""

    generators: tuple[str, ...] = ()
    """Where the data set holds random number generators: `dataset.transform.rng`."""


class Further(NamedTuple):
    """What a process saw of a loader beyond its first batches; None: nobody asked for it."""

    whole: WholePass | None = None
    draws: RandomDraws | None = None
    flow: Flow | None = None
    """Of its first epoch."""
