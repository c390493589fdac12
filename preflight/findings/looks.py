"""What a look at a target comes to, for whoever asks the checks about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from preflight.findings.check import Facts
from preflight.findings.finding import Location


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """A target was looked at, and these are the facts."""

    facts: Facts
    target: Any = None
    """Of which they are; None of an object that a caller has handed over."""

    read_at: float | None = None
    """When it was read, where that was in an earlier run; in seconds since the epoch."""

    count: int = 1
    """Targets of which all of this is true but for their names: they are counted."""


class Failed(NamedTuple):
    """A target could not be looked at."""

    at: Location
    error: str
    kinds: tuple[type, ...]
    """The types of facts that were to be had of it."""

    fix: str | None = None
    about: str | None = None
    """As of `Left`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """Targets that were left out on purpose."""

    reason: str
    kinds: tuple[type, ...]
    count: int = 1
    about: str | None = None
    """The first word of the ids of the checks that would have judged them; None: of all."""

    noun: str | None = None
    """What each is, for people, where a reader of a GO must know of it: `shard`, `image`."""

    target: Any = None
    """That they are, or that they are part of, where a page counts what was seen of it."""


class Cleared(NamedTuple):
    """A target of which there are no such facts, since nothing of the kind is wrong with it."""

    kinds: tuple[type, ...]


Look: TypeAlias = Looked | Failed | Left | Cleared
