"""What was seen of batches that were drawn from a loader, and how the drawing ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from preflight.epochs.facts import Changing
from preflight.flow.facts import Flow
from preflight.objects.facts import Definition
from preflight.pipelines.facts import Shifted
from preflight.sheets.facts import Sheet
from preflight.sources.flaws.facts import Use
from preflight.users_code.facts import Frame, Lack

LOST = "the process that draws from it was lost"

_IN_THREAD = "Exception in thread"

NO_TIME = "the budget was used up before its first batch came"
"""Why none was drawn, where a reader of a GO must know of it."""


class Structure(NamedTuple):
    """What a batch is made of, without its values."""

    kind: str
    """`tuple`, `list`, `dict`, `tensor`, `array`, `str`, `bytes`, `int`, `float`, `bool`, `none`,
    `other`."""

    type: str = ""
    """Its class, where its kind alone does not say it: `transformers.BatchEncoding`."""

    length: int | None = None
    """Of a tuple, list, dict, text or bytes."""

    dtype: str = ""
    """Of a tensor or array: `float32`."""

    shape: tuple[int, ...] = ()
    """Of a tensor or array."""

    bytes: int | None = None
    """Of the data of a tensor or array."""

    value: int | None = None
    """Of an int that is a part of the batch itself, and may count its steps."""

    is_bare: bool = False
    """Whether its class has attributes only, and neither `__iter__` nor `__getitem__`."""

    attributes: tuple[str, ...] | None = None
    """The public ones that a thing of a class of its own has; None: nobody knows all of them."""

    nothing: tuple[str, ...] = ()
    """Those of them that are None."""

    keys: tuple[str, ...] = ()
    """Of a dict, or the fields of a named tuple or a class that declares them (`dataclass`); as
    many as there are parts."""

    parts: tuple[Structure, ...] = ()
    """What is in it, in its order: of a long one, only the first."""


class Form(NamedTuple):
    """A batch that is made in a way in which none before it is, in an epoch run further."""

    number: int
    """Counted from 1."""

    batch: Structure


class Standing(NamedTuple):
    """Where a process stood when it was given up."""

    process: str
    """`worker 1 of 2`, `the training process`."""

    lines: tuple[Frame, ...] = ()
    """The calls of its main thread, the innermost last; of a deep one only those that are inner."""

    users: tuple[Frame, ...] = ()
    """Those of them that are the user's own."""

    exit_status: int | None = None
    """Of one that had ended by then, where that is known; negative: the signal that killed it."""


class Traceback(NamedTuple):
    """An exception that a process printed to standard error, and that nobody was told of."""

    title: str
    """What stood above it: `Exception in thread Thread-1 (prefetch):`; may be empty."""

    error: str
    frames: tuple[Frame, ...] = ()
    """The user's own lines, the innermost last."""

    unsent: bool = False
    """Whether a worker could not send what it had made."""

    @property
    def is_of_thread(self) -> bool:
        """Whether a thread has died of it."""
        return self.title.startswith(_IN_THREAD)

    @property
    def thread(self) -> str:
        """The name of that thread."""
        return self.title.removeprefix(_IN_THREAD).strip(" :")


class Parcel(NamedTuple):
    """What one batch takes while it is on its way from a worker, or is held."""

    tensors: int = 0
    """Pieces of shared memory: tensors that share their data are one."""

    bytes: int = 0
    """Of shared memory, in whole pages."""

    descriptors: int = 0
    """Open files."""


class OnTheWay(NamedTuple):
    """How many batches of a loader are on their way at a time, and what room there is for them."""

    prefetch: int = 2
    """Batches that each worker makes ahead."""

    length: int | None = None
    """Batches of an epoch, as the loader says."""

    pinned: bool = False
    """Whether each is copied to pinned memory as soon as it comes."""

    parcel: Parcel = Parcel()
    """The largest of the first batches."""

    heaviest: int = 0
    """Bytes of as many batches, one after the other, as are on their way at a time: the most of
    what was seen of an epoch."""

    heaviest_at: int = 0
    """The last of these batches, counted from 1; 0: no epoch was seen."""

    open_before: int = 0
    """Files that were open before the workers were started."""

    open_files: int | None = None
    """Files that a process may have open; None: as many as it likes."""

    shm_free: int | None = None
    """Bytes of /dev/shm that were free before the workers were started; None: there is none."""

    shm_size: int | None = None

    def at_a_time(self, workers: int) -> int:
        """Give how many batches lie in shared memory at a time.

        Those that are made ahead, and the one that the loop is at. As the next one is taken, its
        worker is told to make another before the loop's variable lets go of the old one: one more.
        Of pinned ones, which are copies, a loop holds none there.
        """
        return self.prefetch * workers + (1 if self.pinned else 2)


class Combined(NamedTuple):
    """What Lightning's CombinedLoader makes of the batches of a loader that it holds."""

    name: str
    """What the user calls it: `train:make_loaders`."""

    mode: str
    """`max_size_cycle`, `min_size`, `max_size`: batches of all at once; `sequential`: of one after
    another. With each comes its number, and that of its loader."""

    keys: tuple[str | int, ...] = ()
    """Those of all that it holds; empty: it holds one."""

    key: str | int | None = None
    """That of this loader."""


class TakenFor(NamedTuple):
    """What the job takes each batch of a loader for."""

    takes: str
    """As code: `images, labels`."""

    file: str | None = None
    line: int | None = None
    by: str = "source"
    """What says so: `source`, a loop over the loader; or `settings`."""

    is_sure: bool = True
    """Whether the loop is come to, as far as its source tells."""

    asks: bool = False
    """Whether it asks what a batch is before it takes it."""

    is_combined: bool = False
    """Whether it takes apart what a CombinedLoader makes of the batches."""

    uses: tuple[Use, ...] = ()
    """What the loop does with the parts of a batch."""

    again: str = ""
    """The loop around it in each round of which it goes over what is made once, before."""

    is_iterator: bool = False
    """Whether that is an iterator, whatever the loader is."""

    is_in_epochs: bool = False
    """Whether the loop is in one over epochs, in a file that tells nobody which epoch it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstBatches:
    """The first batches of a loader, as far as any came."""

    name: str
    """What the user called the loader: `train:make_loader`."""

    ended: str
    """`enough` came; `over`: the epoch ended before; `raised`; `died`: a process ended; `stuck`:
    nothing came by the deadline; `not-drawn`: it was left out; `not-made`: it could not be made
    again for this; `no-batch`: what came is none."""

    reason: str = ""
    """Why none was drawn (`not-drawn`, `not-made`), or what came (`no-batch`)."""

    told_by: str = ""
    """The check that tells why no batch comes, where another one does."""

    defined: Definition = Definition()
    """Where the factory is."""

    num_workers: int = 0
    start_method: str = ""
    start_method_from: str = ""
    length: int | None = None
    """Its `len()`, before it was drawn from."""

    past_end: int | None = None
    """Batches of an epoch, where it was run past its end."""

    furthest: int | None = None
    """Batches that came in one epoch, where it was run further than its first ones."""

    rows: int | None = None
    """Samples in those; None where nobody knows."""

    left: str = ""
    """Why it was not run further, where the process that drew from it does nothing more."""

    batches: tuple[Structure, ...] = ()
    """What each batch that came is made of."""

    forms: tuple[Form, ...] = ()
    """What all batches are made of that came where it was run further, each form once."""

    seconds_to_first: float | None = None
    """From the start of the workers to the first batch."""

    seconds_each: tuple[float, ...] = ()
    """For each batch behind it."""

    waited: float | None = None
    """Seconds without a batch, at the end of which it was given up (`stuck`)."""

    error: str = ""
    """What was raised, with the exception's type; what was said of a process that ended."""

    frames: tuple[Frame, ...] = ()
    """The user's own lines of it, the innermost last."""

    lacks: Lack | None = None
    """What it was raised for want of."""

    worker: int | None = None
    """The worker that raised or died, counted from 0; None: the training process."""

    exit_status: int | None = None
    """Of a process that died; negative: the signal that killed it."""

    standing: tuple[Standing, ...] = ()
    """Where each process stood (`stuck`): the training process first."""

    combined: Combined | None = None
    """What holds the loader, where that gives batches of several."""

    taken_for: tuple[TakenFor, ...] = ()
    """What the settings, or else the sources, take its batches for."""

    on_the_way: OnTheWay | None = None
    """Of a loader with workers on this machine."""

    changing: Changing | None = None
    """What is known of samples that are others each time that they are asked for."""

    shifted: Shifted | None = None
    """What is known of lists of files of its data set that are out of step."""

    printed: tuple[Traceback, ...] = ()
    """Exceptions that processes and threads have printed by then."""

    sheet: Sheet | None = None
    """The picture of its first batch, where one was asked for and a batch came."""


class Drawn(NamedTuple):
    """What a process saw of a loader's first batches, before it is known what else tells of it."""

    first: FirstBatches
    flow: Flow | None = None
    """What went through its pipeline, where it has one, and somebody asks for it."""


class CountedInScript(NamedTuple):
    """What went through a loader's pipeline while a script ran it."""

    flow: Flow
