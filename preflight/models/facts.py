"""What a copy of a model comes to."""

from __future__ import annotations

from dataclasses import dataclass

from preflight.objects.facts import Definition


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncopyable:
    """One object that `copy.deepcopy` cannot copy, with every path that leads to it."""

    type: str
    error: str
    paths: tuple[str, ...]
    """From the model: `blocks[0].attn.group`."""

    kind: str = "other"
    """`process-group`, `non-leaf`, `fsdp`, `other`."""

    defined: Definition = Definition()
    """The line that keeps it, in the class of what holds it; else where its own class is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """A deep copy of a model, tried without its memory."""

    name: str
    defined: Definition
    error: str | None
    """What `copy.deepcopy(model)` said; None where it succeeded."""

    objects: tuple[Uncopyable, ...] = ()
    bytes: int = 0
    """What a real copy would take."""

    stopped_after: int = 0
    """Bytes that a real copy would have taken when it stops."""

    parameters: int = 0
    copied_at: Definition | None = None
    """The line of the job's sources that copies a model, where one was seen."""

    copied_by: str | None = None
    """The call that stands there, such as `EMA(model)`."""

    cut: tuple[str, ...] = ()
