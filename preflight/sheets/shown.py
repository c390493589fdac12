"""Says which first batches a picture shows, and why others are not in it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from preflight.sheets.facts import Sheet
from preflight.values.names import counted, name_of, shown


def shown_in(path: str, found: Iterable[tuple[str, Sheet]], root: str) -> Iterator[str]:
    """Say it in a sentence for those that are shown, and in one for each other."""
    file = shown(name_of(path, root))
    there: list[str] = []
    others: list[tuple[str, str]] = []
    for name, sheet in found:
        if sheet.reason:
            others.append((shown(name), shown(sheet.reason)))
        else:
            there.append(f"{shown(name)} ({_samples(sheet)})")
    if there:
        one_only = "The first batch of" if len(there) == 1 else "The first batches of"
        are = "is" if len(there) == 1 else "are"
        yield f"{one_only} {', '.join(there)} {are} shown in {file}."
    old = ", and what is there is older than this run" if os.path.exists(path) else ""
    for name, why in others:
        yield f"The first batch of {name} is not shown in {file}: {why}{'' if there else old}."


def _samples(sheet: Sheet) -> str:
    return shown_of(sheet.samples, sheet.of) if sheet.samples else "in figures"


def shown_of(samples: int, of: int) -> str:
    """Say how many samples of a batch are shown."""
    if samples < of:
        return f"{samples} of {counted(of, 'sample')}"
    return counted(samples, "sample")
