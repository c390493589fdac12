"""What a check says: plain values, equal when they say the same, that every report is made from."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Scalar: TypeAlias = str | int | float | bool


class Severity(enum.IntEnum):
    """What it means for the job. Ordered, so that a gate can say `>=`."""

    NOTE = 1
    """The job is fine; this is worth knowing. Never gates by default."""

    WARNING = 2
    """The job will run, and likely worse than it should."""

    ERROR = 3
    """The job will stop, hang, or train on something other than what was meant."""

    @property
    def word(self) -> str:
        """As reports and settings spell it: `error`, `warning`, `note`."""
        return self.name.lower()


class Scope(enum.Enum):
    """What has to be mended: the job (retrying is useless), or this machine."""

    JOB = "job"
    MACHINE = "machine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A place in the user's job: a file where there is one, and a name for what has no file."""

    file: str | None = None
    """Relative to the job's folder where it lies under it, with forward slashes on every system."""

    line: int | None = None
    """Counted from 1, as editors do."""

    name: str | None = None
    """Anything inside or beside a file: `member 000123.jpg`, `loader.collate_fn`."""

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        return ", ".join(part for part in (place, self.name) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One reason of several for what a finding says, with its number."""

    text: str
    """Behind its number: `have no .txt, which to_tuple("jpg", "txt") asks for`."""

    count: int | None = None
    """None: nobody can count it."""

    example: str = ""
    """The name of one of them."""

    at: Location | None = None
    """The line that makes it so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """A file that is of no use as it is: `preflight quarantine` moves it out of the job's way."""

    file: str
    """As of a `Location`."""

    bytes: int | None = None
    """Its size when it was looked at; None: nobody has noted it."""

    stays: str | None = None
    """Why it is listed and not moved, and what to do instead; None: it is moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong in one place."""

    check: str
    """The id of the check that found it, such as `shard-damaged`."""

    severity: Severity

    message: str
    """What is wrong here, with its numbers and units: `{at}: {message}` reads as a sentence."""

    at: Location
    """The one place to look at first."""

    rows: tuple[Row, ...] = ()
    """Where there are several reasons for it, a table of them."""

    also: tuple[Location, ...] = ()
    """Other places that take part, such as the second path to one object."""

    why: str | None = None
    """The consequence in this job."""

    fix: str | None = None
    """The one thing to do about it."""

    workaround: str | None = None
    """What runs today for somebody who did not write the code."""

    aside: tuple[Aside, ...] = ()
    """The files that it says are of no use as they are, and that may be moved aside."""

    evidence: Mapping[str, Scalar] = field(default_factory=dict, hash=False)
    """What was measured, for machines; a person does not need it to understand the message."""

    fingerprint: str = ""
    """The same for the same problem in the same place, whatever its line and numbers are today."""


def fingerprint(check: str, at: Location, *, about: str | None, line_text: str | None) -> str:
    """Name a problem for a baseline: by check, file, name, and what tells two in one place apart.

    A line number never takes part, since it moves with every edit above it; where there is no name,
    the text of the source line does.
    """
    import hashlib  # only where something was found

    place = at.name if at.name is not None else (line_text or "").strip()
    parts = (check, at.file or "", place, about or "")
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:16]
