"""What a run remembers of earlier ones: which files need no reading, and what was seen in them."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from preflight.ledger.rows import Remembered
from preflight.ledger.store import Ledger
from preflight.secrets.hiding import Secrets
from preflight.settings.job import Job
from preflight.settings.to_child import told_of

# What no reader of files asks for. Whatever else a process is told of the job decides on facts.
_NOT_FOR_FILES = frozenset(
    {
        *("root", "ranks", "num_workers", "batch_size", "start_method", "import_anyway"),
        *("timeout", "trust_caches", "wants"),
    }
)

# The fields that name the file; the same file may go by another name in the next run.
_NAMES = ("file", "name")


@dataclass(slots=True)
class Memory:
    """The ledger as a run uses it, and an account of what it gave."""

    job: Job
    hide: Secrets = field(default_factory=Secrets)
    """What it must not hold."""

    asked: Counter[str] = field(default_factory=Counter)
    """Files that were looked up, by their noun."""

    known: Counter[str] = field(default_factory=Counter)
    """Files that needed no reading, by their noun."""

    oldest: float | None = None
    """When the one was read that was read first, in seconds since the epoch."""

    ledger: Ledger = field(init=False)

    def __post_init__(self) -> None:
        look = self.job.look
        self.ledger = Ledger(
            folder=os.path.join(self.job.root, look.state),
            trusted=look.reread,
            hide=self.hide,
            tell=functools.partial(_tell, self.hide),
            usable=not look.no_ledger,
        )

    def how(self, kind: str, wire: Mapping[str, Any]) -> str:
        """Say what decides, beside its file, on what is seen of a thing of this kind."""
        options = told_of(self.job)
        deciding = {key: value for key, value in options.items() if key not in _NOT_FOR_FILES}
        item = {"type": kind, **{key: value for key, value in wire.items() if key != "path"}}
        return sys.intern(json.dumps([item, deciding], sort_keys=True))

    def recall(
        self, noun: str, how: str, paths: Iterable[str], *, expect: bool = True
    ) -> Mapping[str, Remembered]:
        """Give what is known of those of the files that have not changed since.

        The others are to be read next, where `expect` is said.
        """
        paths = tuple(paths)
        known = self.ledger.recall(how, paths, expect=expect)
        first = min((one.read_at for one in known.values()), default=0.0)
        self.count(noun, len(known), first, of=len(paths))
        return known

    def count(self, noun: str, files: int, read_at: float, *, of: int) -> None:
        """Account for files that need no reading, of so many that were looked up."""
        self.asked[noun] += of
        if files:
            self.known[noun] += files
            self.oldest = read_at if self.oldest is None else min(read_at, self.oldest)

    def keep(self, how: str, path: str, plains: Iterable[Mapping[str, Any]]) -> bool:
        """Remember what was seen in a file that was read whole, and say whether that was done.

        Whether a pointer was not fetched is said by other files, which may change alone; and what
        was not loaded may be in the next run.
        """
        if not self.ledger.usable:
            return False
        plains = tuple(plains)
        if not plains:
            return self.ledger.remember(how, path, None)
        if any(_depends_on_others(plain) or plain.get("skipped") for plain in plains):
            return False
        nameless = [{**plain, _name_in(plain): ""} for plain in plains]
        return self.ledger.remember(how, path, json.dumps(nameless))


def facts_in(remembered: Remembered, name: str) -> list[dict[str, Any]]:
    """Give plain facts as a process gave them, under the name that the file has now."""
    plains = [] if remembered.facts is None else json.loads(remembered.facts)
    return [{**plain, _name_in(plain): name} for plain in plains]


def _depends_on_others(plain: Mapping[str, Any]) -> bool:
    damage = plain.get("damage") or ()
    kinds = [plain.get("kind"), *(one.get("kind") for one in damage if isinstance(one, dict))]
    return "not-fetched" in kinds


def _name_in(plain: Mapping[str, Any]) -> str:
    return next(key for key in _NAMES if key in plain)


def _tell(hide: Secrets, text: str) -> None:
    sys.stderr.write(hide.text(f"preflight: {text}\n"))
