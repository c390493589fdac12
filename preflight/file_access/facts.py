"""What is wrong in the bytes of a file."""

from __future__ import annotations

from typing import NamedTuple


class Damage(NamedTuple):
    """One thing that is wrong in the bytes of a file."""

    kind: str
    """A word for machines, such as `cut`, `checksum`, `foreign`, `not-fetched`, `empty`."""

    text: str
    """For people, as a predicate with its numbers: `ends inside dog.jpg, at 8,192 bytes`."""

    offset: int | None = None
    """Bytes from the beginning of the file, where it can be said."""

    member: str | None = None
    """The member of an archive, where it is one."""

    line: int | None = None
    """Of a text, counted from 1."""

    fetch: str | None = None
    """What `git lfs pull --include=` takes, from the top of the work tree, to fetch what a pointer
    stands for; empty: to be fetched with all others. None: it is no pointer."""
