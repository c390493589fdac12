"""What is told of one file that is damaged, or was moved aside."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass

from preflight.findings.exit_codes import EXIT_CANNOT_JUDGE, EXIT_GO, EXIT_NO_GO

Identity = tuple[int, int, int]
"""Bytes, when it was last written in ns since the epoch, and the number of its inode: what a file
takes along when it is renamed."""


class State(enum.Enum):
    """What became of it."""

    LISTED = "listed"
    """It may be moved, and lies where it was."""

    MOVED = "moved"
    RESTORED = "restored"
    LEFT = "left"
    """It lies where it was, and `why` says the reason."""

    GONE = "gone"
    """It lies there no more."""

    FAILED = "failed"
    """The system refused; `why` says how."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineRow:
    """One file."""

    file: str
    """As reports name it."""

    path: str
    """The same, absolute."""

    state: State
    why: str = ""
    check: str = ""
    """The check that found it damaged."""

    reason: str = ""
    """What that said of it."""

    bytes: int | None = None
    link: str | None = None
    """Where it leads, if it is a link: the link is moved, and what it names is not."""

    identity: Identity | None = None
    """What it was when it was listed."""

    belongs: tuple[str, ...] = ()
    """Files that belong to it and stay: a caption, entries that are cached beside an image."""

    named_by: tuple[str, ...] = ()
    """Lists of a trainer that name it, each with its line."""

    goes_with: str | None = None
    """The damaged file that it belongs to; it is whole itself."""

    copies: bool = False
    """Whether it lies on another file system, so that it is copied."""

    to: str | None = None
    """Where it lies now, as reports name files."""


def exit_code(rows: Iterable[QuarantineRow], more: int = 0) -> int:
    """Say whether anything damaged is left in its place, or the system refused something."""
    states = {one.state for one in rows}
    if State.FAILED in states:
        return EXIT_CANNOT_JUDGE
    return EXIT_NO_GO if more or states & {State.LISTED, State.LEFT} else EXIT_GO
