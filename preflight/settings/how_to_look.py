"""How hard a run looks at the job, and which of its findings gate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

FailOn = Literal["error", "warning", "note", "never"]
Depth = Literal["index", "bytes", "decode"]
Device = Literal["cpu"]


class SettingsTable:
    """Read from a settings file by pydantic; an unknown key is told, and not passed over."""

    __slots__ = ()
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Look(SettingsTable):
    """How hard to look."""

    timeout: float = 120.0
    """Seconds of silence in one step of the user's code before it counts as hung."""

    jobs: int | None = None
    """Processes that read files at the same time; where it is not said, one a core."""

    state: str = ".preflight"
    """The folder, under the job's, where the last report and the ledger are kept."""

    no_ledger: bool = False
    """Read every file, and remember none."""

    reread: float = 30 * 86_400.0
    """Seconds after which a file is read again that has not changed, since bytes rot on disks."""

    max_findings: int = 10_000
    """Findings kept for each check; beyond that they are counted by file."""

    import_anyway: bool = False
    """Import a module even where its source starts work outside a main guard."""

    deep: bool = False
    """Load cached files with torch (weights_only), and look at the numbers in them."""

    trust_caches: bool = False
    """Load them also where torch is older than 2.6, and a file could make it run code."""

    probe_storage: bool = False
    """Try the storage of every cache with files of ours, also of those that nobody says are written
    to; of one with `written = false`, never."""

    depth: Depth = "bytes"
    """How deep to look into shards and images. `index`: names, structure, and both ends of each
    file; `bytes`: every byte once, and a decoder where something looks odd; `decode`: every image
    decoded."""

    sample: str | None = None
    """How much of each data set is looked at: `500` shards or images, or `10%`; None: all."""

    budget: float | None = None
    """Seconds after which what is left of the data is left out; None: all of it is looked at."""

    batches: int = 2
    """Batches that each loader of a script gives in an epoch, when the script is run in short."""

    epochs: int = 2
    """Epochs after which such a script is stopped."""

    device: Device | None = None
    """`cpu`: what a script asks of a GPU is done on the CPU."""

    allow_writes: bool = False
    """Whether what a script writes goes where it says; else into a folder that is removed."""

    resume_with: str | None = None
    """The arguments by which a script goes on from what it saved: `--resume {checkpoint}`."""

    show_batch: str | None = None
    """A `.png` that shows the first batch of each loader; None: none is drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate(SettingsTable):
    """What makes a GO of findings."""

    fail_on: FailOn = "error"
    """The lowest severity that makes a NO-GO."""

    baseline: str | None = None
    """A saved report; what it holds does not gate again."""

    require: tuple[str, ...] = ()
    """Checks that must look at all that was named: where one is skipped, if only for a part of it
    that it is about, the verdict is CANNOT JUDGE."""

    may_skip: tuple[str, ...] = ()
    """Checks that may break without making the verdict CANNOT JUDGE."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignore(SettingsTable):
    """Findings that somebody decided to live with, and why."""

    check: str
    """The check, by id or first word."""

    reason: str
    """Why; the page repeats it."""

    at: str | None = None
    """File, name or whole place of what is found; `*` stands for anything. Else: all places."""

    until: str | None = None
    """The last day on which it holds, such as `2027-01-31`."""
