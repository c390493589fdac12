"""Tells lists of files that are taken by the same index, and that are out of step."""

from __future__ import annotations

import os
from collections.abc import Callable

from preflight.facts import FirstBatches, Shifted
from preflight.finding import Finding, Severity
from preflight.values.names import counted, shown


def of_shifted(found: Callable[..., Finding], facts: FirstBatches, lists: Shifted) -> Finding:
    """Say from which index on files are beside those of another sample."""
    one, other = shown(lists.one), shown(lists.other)
    file, beside, alone = (
        shown(os.path.basename(each)) for each in (lists.file, lists.beside, lists.alone)
    )
    may = " (a guess: it may be so on purpose)" if lists.guess else ""
    return found(
        f"takes {one} and {other} by the same index, and {lists.wrong:,} of "
        f"{counted(lists.pairs, 'pair')} do not belong together: from {lists.at:,} on, where "
        f"{file} is beside {beside}{may}",
        at=facts.defined.at(facts.name),
        severity=Severity.WARNING if lists.guess else Severity.ERROR,
        why=f"{_why(lists, alone)} Nothing says so: it trains on pairs that are none.",
        fix=f"Add the file that {alone} lacks, or take it out; and pair files by their names, not "
        "by their places in two lists."
        if lists.alone
        else "Sort both lists by the same key, or look for the partner by the name of the file.",
        evidence={
            "loader": facts.name,
            "pairs": lists.pairs,
            "wrong": lists.wrong,
            "index": lists.at,
            "file": lists.file,
            "beside": lists.beside,
        },
        about=f"{facts.name} {lists.one} {lists.other}",
    )


def _why(lists: Shifted, alone: str) -> str:
    if lists.alone:
        return (
            f"The other list has nothing for {alone}, and each file behind it has the partner of "
            "the next one."
        )
    if lists.sorts:
        return "The one is sorted by letters (10 before 2), and the other by numbers."
    return "Both have the same names in another order, as `os.listdir` and `glob` may give them."
