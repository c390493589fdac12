"""What was named and is not there, or could not be made."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """Something that the settings or a brace range name, and that is not there."""

    file: str
    kind: str
    pattern: str | None = None
    named_in: str | None = None
    named_at: int | None = None
    near: str | None = None
    """A name like it that is there."""

    holds: str | None = None
    """What is wrong with it where it is there after all: `holds no image and no shard`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One line of the user's own code in a traceback."""

    file: str
    line: int
    function: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unbuilt:
    """A target that the user's code did not give: it raised, or called `sys.exit`."""

    name: str
    step: str
    """What was being done: `import`, `call`, `pick`."""

    error: str
    """The exception's type and text."""

    frames: tuple[Frame, ...] = ()
    """The user's own frames, the innermost last."""
