"""The result of looking at a target: facts, or why there are none."""

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
    """The target that the facts are about; None: an object that a caller has handed over."""

    read_at: float | None = None
    """When it was read, where that was in an earlier run; in seconds since the epoch."""

    count: int = 1
    """How many targets these facts stand for: they differ in their names alone."""


class Failed(NamedTuple):
    """A target could not be looked at."""

    at: Location
    error: str
    kinds: tuple[type, ...]
    """The types of facts that are missing now."""

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
    """The target, or the one that they are part of, for what a page counts of it."""


class Cleared(NamedTuple):
    """A target that has no facts of these types, because there is nothing of the sort to tell."""

    kinds: tuple[type, ...]


Look: TypeAlias = Looked | Failed | Left | Cleared
