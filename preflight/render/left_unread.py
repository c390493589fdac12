"""Says which files of a job a run has left unread, and which of them are read where named."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.findings.parts import Covered
from preflight.findings.report import Report
from preflight.render.verdict import files_by_suffix, unread_files
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
            are = "is" if sum(one.if_named.values()) == 1 else "are"
            yield f"{files_by_suffix([one.if_named])} {are} read where named", one.if_named_by


def _unread_of(part: Covered) -> str:
    them = "file" if sum(part.unread.values()) == 1 else "files"
    place = "" if part.part == "data" else f" among the {part.part} files"
    return f"{unread_files([part])} {them} ({format_size(part.unread_bytes)}){place}"
