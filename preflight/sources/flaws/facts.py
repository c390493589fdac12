"""Places in sources that stop a run, hang it, or have it do something else than is written."""

from __future__ import annotations

from typing import NamedTuple

EACH = "*"
"""Each part of a batch, in the way to a part."""


class Use(NamedTuple):
    """What a loop does with a part of a batch in each step, without a question what it is."""

    at: tuple[str | int, ...]
    """The way to the part: `(1, 'mask')`; `*` is each part."""

    code: str
    """Such as `mask.to(device)`."""

    line: int
    raises: str
    """What Python says where the part is None; empty: nothing, and a key may lack (`get`)."""

    key: str | int | None = None
    """What is asked of the part by key or place."""

    attribute: str = ""
    """The attribute that it is asked for; empty: none, or one that the body may have set."""


class BatchLoop(NamedTuple):
    """A loop over what an own function or variable gives, which takes each batch apart."""

    file: str
    line: int
    takes: str
    """What it takes a batch for, as code: `images, labels`."""

    maker: str
    """The function or variable, by its name in its own module."""

    module: str = ""
    """The module that it is imported from, `./data` if relatively; empty: the file's own."""

    pick: str = ""
    """What is picked of it: `[0]`, `['val']`."""

    given: str | None = None
    """What the function is called with, as code; None: it is not called."""

    waits: tuple[str | int, ...] = ()
    """Where it goes over what `maker` is handed: the name and the place of that parameter."""

    is_sure: bool = True
    """Whether no test stands around it."""

    asks: bool = False
    """Whether its body asks what a batch is before it takes it."""

    uses: tuple[Use, ...] = ()
    """What its body does with the parts of a batch."""

    is_in_epochs: bool = False
    """Whether it stands in a loop over epochs, in a file that tells nobody which epoch it is."""

    again: str = ""
    """The loop of two rounds or more around it, such as `train.py:12`, in each round of which it
    goes to the end of what is made before; empty: none, as far as is known."""

    is_whole: bool = False
    """Whether it would, if its function were called in such a loop."""

    is_iterator: bool = False
    """Whether what is made before is an iterator, whatever `maker` gives."""


class Handed(NamedTuple):
    """What may be a loader, as a call hands it to a function of the sources."""

    file: str
    to: str
    """The function, by its name in its own module: `train`, `Trainer.fit`; or the class."""

    to_module: str
    at: str | int
    """The place of the argument, or its name."""

    maker: str
    module: str = ""
    pick: str = ""
    given: str | None = None
    waits: tuple[str | int, ...] = ()
    is_sure: bool = True
    """Whether no test stands around the call. This and what is handed: as of a `BatchLoop`."""

    again: str = ""
    is_iterator: bool = False


class Spot(NamedTuple):
    """A piece of code, in the file of what it belongs to."""

    line: int
    code: str


class Thread(NamedTuple):
    """Where a function is handed to a thread, and who waits for what it does."""

    line: int
    code: str
    """Such as `Thread(target=self._write)`."""

    waits: tuple[Spot, ...] = ()
    """Such as `self.queue.join()`."""


class UnboundRead(NamedTuple):
    """A handler that reads a name which is bound in its `try` only, after what may raise."""

    file: str
    line: int
    text: str
    """The source line's."""

    name: str
    inside: str
    """The function that holds it; empty at the top of a file."""

    handler: str
    """Such as `except queue.Empty`."""

    raises: Spot
    """The first that may raise what is caught; the name has no value then."""

    bound: int
    """The line that first gives it one."""

    is_sure: bool
    """Whether it has no value whatever is caught there, and is read in any case."""

    is_usual: bool
    """Whether what is caught is part of normal work: a queue that is empty, an end."""

    thread: Thread | None = None


class Jump(NamedTuple):
    """A statement that leaves a `finally`, and so drops what was on its way out."""

    file: str
    line: int
    text: str
    inside: str
    code: str
    """Such as `return None`."""

    returns: Spot | None
    """The `return` whose value is dropped."""

    swallows: str
    """What is dropped of exceptions: `all`, `others` (not those of its handlers), `exits`."""

    is_sure: bool = True
    """Whether it, or another one there, is come to whatever a test says."""

    thread: Thread | None = None


class TupleLoop(NamedTuple):
    """A loop that takes pairs out of what a call gives, which is no generator."""

    file: str
    line: int
    text: str
    code: str
    """Such as `for step, batch in next_batch()`."""

    function: str
    size: int
    """How many each item is taken apart into."""

    module: str = ""
    """Where the function is imported from, `./` before a path below the job's folder; else here."""

    defined: str = ""
    """Where it is, such as `data.py:12`; empty as long as nobody has looked there."""

    scalar: str = ""
    """What of the tuple cannot be taken apart for certain: `step`."""

    gives: int = 0
    """How many `zip` or `enumerate`, which is the function then, gives at once."""


class Returned(NamedTuple):
    """What a function at the top of a file gives."""

    file: str
    line: int
    name: str
    size: int
    """Of the one tuple that it returns; 0: something else, or not in one way."""

    scalar: str = ""


class BusyWait(NamedTuple):
    """A loop that does nothing until somebody else changes something."""

    file: str
    line: int
    text: str
    inside: str
    test: str
    """What it asks, such as `self.queue.empty()`."""


class UnstableOrder(NamedTuple):
    """A list that is made of a set, and of which the order decides."""

    file: str
    line: int
    text: str
    code: str
    """Such as `list(set(captions))`."""

    used: Spot
    how: str
    """`split`, `picked`, `zipped` or `numbered`."""

    by_rank: bool
    """Whether each rank takes its part of it."""

    of_text: bool
    """Whether names say that it holds text."""


class AliasedState(NamedTuple):
    """A state of a model that is kept as it is, and used after training has changed it."""

    file: str
    line: int
    text: str
    code: str
    """Such as `best = model.state_dict()`."""

    state: str
    """Such as `model.state_dict()`."""

    used: Spot
    """Such as `model.load_state_dict(best)`."""

    is_saved: bool
    """Whether it is saved there; else it is put back."""

    in_loop: bool
    """Whether a loop keeps it that trains; else a method of a class, for another call."""


class Flaws(NamedTuple):
    """All of them."""

    unbound: tuple[UnboundRead, ...] = ()
    jumps: tuple[Jump, ...] = ()
    loops: tuple[TupleLoop, ...] = ()
    waits: tuple[BusyWait, ...] = ()
    orders: tuple[UnstableOrder, ...] = ()
    states: tuple[AliasedState, ...] = ()
