"""What a reader is given, in the process that runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """A question as the reader gets it, with the functions by which the reader reports progress."""

    wire: Mapping[str, Any]
    """The plain values of the question."""

    options: Mapping[str, Any]
    """The job's settings, as `told_of` gives them."""

    alive: Callable[..., None]
    """Called while work goes on: silence for longer than `--timeout` counts as a hang."""

    step: Callable[[str], AbstractContextManager[None]]
    """`with asked.step("import torch"):` reports the beginning and the duration of a step."""

    opening: Callable[[int], None]
    """Called with the index of the thing that is opened next, where a question has several."""

    some: Callable[[Any, int], None]
    """Called with facts and the number of things they cover, where a question has several and the
    rest is still to come; of a single thing, with what is known of it early, for a run that is cut
    short. What was told so is not answered again."""

    memory: int
    """Bytes of memory that a reader of files may use."""

    @property
    def root(self) -> str:
        """The job's folder."""
        return str(self.options["root"])

    @property
    def depth(self) -> str:
        """How deep the job has us look: `index`, `bytes` or `decode`."""
        return str(self.options["depth"])


class CannotLookError(Exception):
    """It cannot be looked at; the reason is the text."""

    of_job = True

    def __init__(self, reason: str, *, fix: str | None = None) -> None:
        super().__init__(reason)
        self.fix = fix


class MistypedError(Exception):
    """The module or the name does not exist; the text says what was tried."""

    of_job = True


def reason_of(error: OSError) -> str:
    """Say why the system refuses a file, without its path, which is named already."""
    return f"{error.strerror or error} ({type(error).__name__})"
