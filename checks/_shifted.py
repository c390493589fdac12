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
    return found(
        f"takes {one} and {other} by the same index, and {lists.wrong:,} of "
        f"{counted(lists.pairs, 'pair')} do not belong together: from {lists.at:,} on, where "
        f"{file} is beside {beside}",
        at=facts.defined.at(facts.name),
        severity=Severity.ERROR,
        why=f"The other list has nothing for {alone}, and each file behind it has the partner of "
        "the next one. Nothing says so: it trains on pairs that are none.",
        fix=f"Add the file that {alone} lacks, or take it out; and pair files by their names, not "
        "by their places in two lists.",
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
