"""What is seen of a script while it runs as itself, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from preflight.users_code.facts import Frame, Lack

SETUP, TRAINING, EVALUATION = "setup", "training", "evaluation"
"""What a script was at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """Something that the script did while it ran, with its own line for it."""

    what: str
    """`loader`, `evaluation`, `loss` (of an evaluation), `step`, `copy`, `save`, `wrap`, `runs out`
    (a schedule of `name` steps, moved `count` times in whole epochs), …"""

    at: Frame | None = None
    """The script's own innermost line that did it; None: no line of its own."""

    name: str = ""
    """What tells two of one line apart: a file that was written, the class of an optimizer, the
    backend of a process group, what wraps a model."""

    count: int = 1
    """How often; of a loader, the batches that it gave."""

    epochs: int = 0
    """Of a loader: how often it was begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """An exception that nothing in the script caught."""

    error: str
    """Its type and text."""

    frames: tuple[Frame, ...] = ()
    """The script's own lines, the innermost last."""

    while_at: str = SETUP
    """`setup`, `training` or `evaluation`."""

    thread: str = ""
    """Of a thread in the background: its name."""

    lacks: Lack | None = None
    """What is not here, where it was raised for want of it."""

    told_by: str = ""
    """The check that tells the same of an object that was met: `model-uncopyable`."""

    behind: bool = False
    """Whether a loop was left early by us before it: the job may come there otherwise."""


class Waiting(NamedTuple):
    """Where one thread stood when nothing went on any more."""

    process: str
    """`script`, or `process 4711` for what it has started."""

    thread: int
    """Counted from 1; the main thread is 1."""

    frames: tuple[Frame, ...]
    """The script's own lines, the innermost last."""

    within: str = ""
    """The innermost line of all, also where it is not the script's own: `queue.py:180 in get`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a script came to its end."""

    how: str
    """`returned`; `exited`: with a code of its own; `raised`; `stuck`: nothing went on any more;
    `stopped`: by us, since enough was seen; `late`: by us, still at work; `died`: by a signal."""

    code: int | None = None
    """Its exit code, where it had one."""

    raised: Raised | None = None
    waiting: tuple[Waiting, ...] = ()
    """Of a script that was stuck or late: where each thread stood."""

    silent: float = 0.0
    """Of a script that was stuck or late: seconds without a sign of it."""

    told_by: str = ""
    """Of a script that was stuck: the check that tells why no batch came."""

    unfinished: bool = False
    """Whether what it does at its end took longer than it was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """A script that was run as itself, in short."""

    name: str
    """As it was typed, with its arguments."""

    file: str
    """The script."""

    ended: Ended
    seconds: float = 0.0
    met: tuple[Met, ...] = ()
    """What it did, in order; one for each line that did it."""

    steps: int = 0
    """How often it computed gradients."""

    threads: tuple[Raised, ...] = ()
    """What threads in the background raised, which ends them and not the script."""

    shortened: tuple[str, ...] = ()
    """What was shortened, in words: `50,000 batches of an epoch to 2 (train.py:40)`."""

    on_cpu: Frame | None = None
    """The line that asked for a GPU first, for which the CPU stood in."""

    def times(self, what: str) -> int:
        """Say how often something was met."""
        return sum(one.count for one in self.met if one.what == what)

    @property
    def batches(self) -> int:
        """Batches that its loaders gave."""
        return self.times("loader")

    @property
    def is_idle(self) -> bool:
        """Whether it ended as if all were well, and had not trained."""
        ended = self.ended
        return ended.how in {"returned", "exited"} and not (
            ended.code or self.batches or self.steps
        )

    @property
    def not_reached(self) -> tuple[str, ...]:
        """Name what no such script is without and was not seen: it was not rehearsed."""
        wanted = {"evaluation": "evaluation", "save": "save"}
        return tuple(word for what, word in wanted.items() if not self.times(what))
