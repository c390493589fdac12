"""Why a loader or a model could not be made."""

from __future__ import annotations

from dataclasses import dataclass


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
