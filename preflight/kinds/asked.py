"""What a reader is given, in the process that runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """A question as it has arrived, and what may be said before it is answered."""

    wire: Mapping[str, Any]
    """What is asked about."""

    options: Mapping[str, Any]
    """The job's settings, as `told_of` gives them."""

    alive: Callable[..., None]
    """Says that work goes on."""

    step: Callable[[str], AbstractContextManager[None]]
    """Says that a step begins, and how long it took."""

    opening: Callable[[int], None]
    """Says which of several things is opened next."""

    some: Callable[[Any, int], None]
    """Says what was seen of so many of several things, of which more are to follow."""

    memory: int
    """Bytes that a reader of files is given."""

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
