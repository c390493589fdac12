"""What a loader hands to its workers, and how they take it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from preflight.loaders.epoch_length import EpochLength
from preflight.objects.facts import Definition, Weight


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsendable:
    """One object that pickle refuses, with every path that leads to it."""

    kind: str
    """`lambda`, `local-function`, `of-python` (one of its own library), `decorated`, `local-class`,
    `rebound`, `unnamed`, `module`, `generator`, `lock`, `forked-lock`, `file`, `handle`, `tensor`,
    `other`."""

    type: str
    """Its type, such as `builtins.function`."""

    text: str
    """What it is and why it cannot travel, as a noun phrase: `lambda in make_loader`."""

    error: str
    """What pickle said."""

    paths: tuple[str, ...]
    """From the loader: `dataset.pipeline[7].args[0]`."""

    defined: Definition = Definition()
    count: int = 1
    """Objects that one line keeps by one name, with the paths of all."""

    captures: tuple[str, ...] = ()
    """Names of the enclosing function that it holds."""

    passes_on: str | None = None
    """Of a function that only calls another one with all that it is given: that one, as it is
    written there."""

    inside: tuple[str, ...] = ()
    """What would fail next, once this one is mended: `identity, base.py:69`."""


class Held(NamedTuple):
    """Something below the loader that two processes must not share over a fork."""

    kind: str
    """`cuda-tensor`, `h5py`, `lmdb`, `sqlite`, `zip`, `file`."""

    type: str
    paths: tuple[str, ...]
    """To each object of this kind that one line keeps."""

    file: str | None = None
    """What it has open, as reports name files; of several, the first one's."""

    by_position: bool = False
    """Whether it is read at given positions, so that one worker does not move another's."""

    defined: Definition = Definition()
    """The line that keeps it, in the class of what holds it."""


class Inherited(NamedTuple):
    """What a worker that is forked inherits of the process that forks it."""

    held: tuple[Held, ...] = ()
    threads: tuple[str, ...] = ()
    """Names of Python's threads that run besides the main one."""

    cuda: bool = False
    """Whether CUDA is initialised in the process."""

    cut: tuple[str, ...] = ()
    """What was not looked at because there is too much of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What a DataLoader hands to each of its workers, walked as pickle walks it."""

    name: str
    """What the user called the loader: `train:make_loader`."""

    defined: Definition
    """Where the factory is."""

    num_workers: int
    start_method: str
    """`fork`, `spawn` or `forkserver`, as this job's workers are started."""

    start_method_from: str
    """Why it is that one, such as `multiprocessing_context of the loader`."""

    objects: tuple[Unsendable, ...] = ()
    cut: tuple[str, ...] = ()
    """What the walk left out because there is too much of it."""

    weight: Weight | None = None
    """None where nothing is sent, or where pickle refuses it."""

    inherited: Inherited | None = None
    """None where there are no workers."""

    resampled: bool = False
    """Whether it draws its shards with replacement."""

    endless: bool = False
    """Whether it does so for good: nothing in its pipelines ends the stream."""

    own_workers: int | None = None
    """How many it was made with, whatever the job's settings say."""

    shards: int | None = None
    """How many it lists, where it is a pipeline of webdataset; None: not known."""

    shard_stages: tuple[str, ...] = ()
    """Those of its stages that give shards out, and see to that each worker has some:
    `split_by_node`, `split_by_worker`, `check_empty`."""

    epoch: EpochLength | None = None
    """None where that is not known before it is drawn: of streams, and of samplers that are not
    torch's own."""


class Unloadable(NamedTuple):
    """One object that can be sent, and that a worker cannot load."""

    type: str
    text: str
    """What it is, as a noun phrase: `object of type data.Config`."""

    error: str
    """What the worker said, with the exception's type."""

    paths: tuple[str, ...]
    """From the loader: `dataset.pipeline[7].args[0].__self__.config`; the innermost object."""

    defined: Definition = Definition()
    raised: Definition = Definition()
    """The user's line that raised in the worker, or at which it stood when it was late; without a
    file where no line of the user's did."""

    missing: str | None = None
    """The module, or `module.name`, that the worker looks for in vain."""

    how: str = "refused"
    """`refused`: loading it raises; `died`: the worker ended; `late`: it had not loaded it by the
    deadline; `stuck`: nor was it at work then; `gone`: it makes a tensor while it is pickled, whose
    memory no worker can open."""

    methods: tuple[str, ...] = ("spawn", "forkserver")
    """With which ways of starting workers."""

    guess: bool = False
    """Whether zeros stood in for its large data when it was refused."""

    alike: int = 1
    """How many objects this is: one line keeps them by one name, and they end at one line."""

    @property
    def is_sure(self) -> bool:
        """Whether no worker loads it: what is late may only be slow, and a guess is one."""
        return self.how != "late" and not self.guess


class Trip(NamedTuple):
    """How one way of starting workers loaded what was sent."""

    method: str
    """`spawn` or `forkserver`."""

    outcome: str
    """`loaded`; `refused`: an object cannot be loaded; `died`: the worker ended; `late`: it had not
    loaded by the deadline; `unsent`: pickle refuses to send it; `cut`: it is too much to try;
    `unavailable`: this system has no such way."""

    error: str | None = None
    """What became of the worker, where it died or was late, or why nothing was tried."""

    seconds_to_start: float | None = None
    """Until it had imported what every worker imports."""

    seconds_to_load: float | None = None
    memory: int | None = None
    """Bytes of memory of its own, with all that was sent and without the data of tensors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A round trip of what a loader sends, to fresh workers of both kinds that are not forked."""

    name: str
    defined: Definition
    num_workers: int
    start_method: str
    start_method_from: str
    trips: tuple[Trip, ...] = ()
    objects: tuple[Unloadable, ...] = ()
    unsendable: int = 0
    """How many objects pickle refuses to send, which `Sent` names."""

    weight: Weight | None = None
    started_work: str | None = None
    """The line by which the import of the main module, in a worker, began the training."""

    memory_limit: int | None = None
    """Bytes that this process and its workers may take, by the machine or the cgroup."""

    memory_limited_by: str | None = None
    """`cgroup`, `machine` or `commit limit`."""

    memory_available: int | None = None
