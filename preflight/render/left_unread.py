"""Says which files of a job a run has left unread, and which of them are read where named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from preflight.findings.parts import Covered
from preflight.findings.report import Report
from preflight.render.verdict import files_by_suffix
from preflight.values.byte_sizes import format_size


def unread_text(report: Report) -> str:
    """Say which files no reader reads: `12 .jsonl and 3 .bin files (14 GB) are not read`.

    Of caches and checkpoints it is said where they lie.
    """
    parts = [one for one in report.coverage if one.unread]
    if not parts:
        return ""
    are = "is" if sum(number for one in parts for number in one.unread.values()) == 1 else "are"
    return f"{' and '.join(map(_unread_of, parts))} {are} not read by this version"


def if_named(report: Report) -> Iterator[tuple[str, str]]:
    """Say which files are read only where they are named, and give the command for the first."""
    for one in report.coverage:
        if one.if_named_by is not None:
            yield are_read_if_named([one]), one.if_named_by


def are_read_if_named(parts: Sequence[Covered]) -> str:
    """Count those of some parts: `2 .zip files are read where named`."""
    files = [one.if_named for one in parts]
    are = "is" if sum(sum(one.values()) for one in files) == 1 else "are"
    return f"{files_by_suffix(files)} {are} read where named"


def _unread_of(part: Covered) -> str:
    place = "" if part.part == "data" else f" among the {part.part} files"
    return f"{files_by_suffix([part.unread])} ({format_size(part.unread_bytes)}){place}"
