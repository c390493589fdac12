"""Says whether a run looked at a place as a run over all of the job would have done."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from preflight.findings.check import Check
from preflight.findings.finding import Finding, Severity
from preflight.findings.gate import Baseline
from preflight.findings.registry import fits
from preflight.kinds.kind import Kind
from preflight.kinds.rooms import kind_of_facts
from preflight.kinds.target import PathTarget
from preflight.session.counts import Counts
from preflight.targets.words.discover import Discovered


class LookedIn(NamedTuple):
    """The files and folders of data and caches that were looked at to their end."""

    every: Mapping[str, Check]
    """All checks, by their ids."""

    chosen: Collection[str]
    """The ids of those that were asked."""

    counts: Counts
    root: str
    whole: bool = False
    """Whether nothing was left out of the job."""

    def holds(self, word: str, at: str | None) -> bool:
        """Whether all that the checks of a word might say of a place is known.

        Args:
            word: an id, or a prefix of ids.
            at: a place as findings have them, or a pattern of such.
        """
        if self.whole:
            return True
        asked = [check_id for check_id in self.every if fits(word, check_id)]
        if at is None or not all(one in self.chosen for one in asked):
            return False
        rows = [kind_of_facts(facts) for one in asked for facts in self.every[one].over]
        files = [row for row in rows if row is not None and _is_of_files(row)]
        return len(files) == len(rows) and any(
            _is_in(at, name, self.root) for name in self._names(files)
        )

    def _names(self, rows: Sequence[Kind]) -> Iterator[str]:
        for row in dict.fromkeys(rows):
            for target in self.counts.looked_at.get(row.word, ()):
                if (
                    type(target) is row.target
                    and isinstance(target, PathTarget)
                    and target.is_whole
                ):
                    yield target.name_in(self.root)


def is_again(found: Discovered, baseline: Baseline, findings: Iterable[Finding]) -> bool:
    """Whether all was looked at, as far as then, that the baseline's own run has looked at.

    A new error may have kept code from coming to what was found then.
    """
    if not baseline.words or not {word for word, _ in found.pairs} >= baseline.words:
        return False
    errors = (one for one in findings if one.severity is Severity.ERROR)
    return all(one.fingerprint in baseline.entries for one in errors)


def _is_of_files(row: Kind) -> bool:
    """Whether its facts tell of files alone, and hang on nothing that is named beside them."""
    is_path = row.target is not None and issubclass(row.target, PathTarget)
    return is_path and row.part in ("data", "cache")


def _is_in(at: str, name: str, root: str) -> bool:
    """Whether a place, or all that a pattern stands for, lies in what has this name."""
    literal, *rest = re.split(r"[*?\[]", at, maxsplit=1)
    if literal == name:
        return not rest
    if not rest and os.path.isdir(os.path.join(root, literal)):
        return False  # what is said of a folder is said of the one that was named
    if name == ".":
        return literal != "" and not os.path.isabs(literal)
    return literal.startswith((f"{name}/", f"{name},", f"{name}:"))
