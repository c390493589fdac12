"""What a format's reader says of bytes that are not as their writer left them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """One thing that is wrong in the bytes of a file."""

    kind: str
    """A word for machines, such as `cut`, `checksum`, `foreign`."""

    text: str
    """For people, as a predicate with its numbers: `ends inside dog.jpg, at 8,192 bytes`."""

    offset: int | None = None
    """Bytes from the beginning of the file, where it can be said."""

    member: str | None = None
    """The member of an archive, where it is one."""

    quiet: bool = False
    """Whether the usual readers of the format stop there without raising."""
