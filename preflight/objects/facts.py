"""Where something was defined or is copied, and how much is sent of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from preflight.findings.finding import Location


class Definition(NamedTuple):
    """Where something in the user's process was defined."""

    file: str | None = None
    """As reports name files; in an installed package `package version: path`."""

    line: int | None = None
    line_text: str | None = None
    qualname: str | None = None

    def at(self, name: str) -> Location:
        """Give this place for what has a name there."""
        from preflight.findings.finding import Location

        return Location(file=self.file, line=self.line if self.file else None, name=name)


class Part(NamedTuple):
    """A part of what is sent, and how much of it that is."""

    path: str
    """From the loader: `dataset.images`."""

    bytes: int
    dragged_by: str | None = None
    """The bound method that drags it along, such as `Trainer.decode`."""

    mapped: bool = False
    """Whether most of it are memory maps of numpy, of which pickle sends all that they map."""

    instead: str | None = None
    """Of one map: Python that opens it again. Of an array: Python that keeps it in a tensor."""


class Weight(NamedTuple):
    """How much is sent to one worker."""

    bytes: int
    """What pickle writes for it, with the data of arrays, and without that of tensors."""

    shared_bytes: int = 0
    """The data of tensors on the CPU, which all workers of a process share."""

    parts: tuple[Part, ...] = ()
    """The fattest parts, the fattest first; none where there is little."""


class ModelCopy(NamedTuple):
    """The call by which a job copies its model as a whole, and what it gives the copy."""

    file: str
    line: int
    code: str
    """The call that stands there, such as `EMA(model)`."""

    of_package: str | None = None
    """What is called, where it is none of the job's own classes and no `deepcopy`."""

    with_memo: bool = False
    """Whether every copy is made with a memo, which says what it shares."""

    of_inner: bool = False
    """Whether every call is given what a wrapper holds: `….module`, `unwrap_model(…)`."""

    averages: bool = False
    """Whether it copies none, and keeps an average of the parameters: where no call copies one."""
