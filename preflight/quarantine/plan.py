"""Says of each damaged file of a report whether it may be moved aside, and what goes with it."""

from __future__ import annotations

import calendar
import contextlib
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from preflight.findings.finding import Aside, Finding
from preflight.findings.report import Report
from preflight.quarantine.along import belonging, naming, ranges
from preflight.quarantine.away import OTHER_FILE_SYSTEM
from preflight.quarantine.back import is_below
from preflight.quarantine.moving import identity_in
from preflight.quarantine.quarantined import QuarantineRow, State
from preflight.values.names import counted, name_of

_SECOND = 10**9

_GONE = "it is not there any more"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be moved aside, and what stays."""

    rows: tuple[QuarantineRow, ...]
    more: int
    """Findings that the report only counts, of checks that name files."""


def plan(
    report: Report, *, root: str, state: str, here: str, copy: bool = False, pairs: bool = False
) -> Plan:
    """Hold the damaged files of a report against what lies there now.

    Args:
        report: of this job.
        root: the job's folder, to which its places are relative.
        state: the folder that will hold the quarantine.
        here: the folder to which words that were typed are relative.
        copy: whether files on other file systems are copied.
        pairs: whether whole files that belong to damaged ones are moved along.
    """
    roots = [root, *_named(report, root, here)]
    rows = [_row(*one, report=report, root=root, roots=roots) for one in _damaged(report, root)]
    rows = [_of_file_system(one, _device_of(state), copy=copy) for one in rows]
    owned = belonging({one.path: one.check for one in rows if one.state is State.LISTED})
    if pairs:
        rows += [
            _of_file_system(one, _device_of(state), copy=copy) for one in _along(rows, owned, root)
        ]
    taken = {one.path for one in rows}
    moved = [one.path for one in rows if one.state is State.LISTED]
    lists = naming(moved, root)
    words = ranges(moved, [one.word for one in report.targets], (root, here))
    told = tuple(
        replace(
            row,
            belongs=tuple(
                name_of(one, root) for one in owned.get(row.path, ()) if one not in taken
            ),
            named_by=(*lists.get(row.path, ()), *words.get(row.path, ())),
        )
        for row in rows
    )
    checks = {one.check for one in report.findings if one.aside}
    more = sum(sum(files.values()) for check, files in report.more.items() if check in checks)
    return Plan(rows=told, more=more)


def _damaged(report: Report, root: str) -> Iterator[tuple[str, Finding, Aside, int]]:
    """Give each file that is of no use, once, with how many findings say so."""
    found: dict[str, tuple[Finding, Aside]] = {}
    said: dict[str, int] = {}
    for finding in report.findings:
        for aside in finding.aside:
            path = _path_of(aside.file, root)
            said[path] = said.get(path, 0) + 1
            if path not in found or (found[path][1].stays and not aside.stays):
                found[path] = finding, aside
    for path, (finding, aside) in found.items():
        yield path, finding, aside, said[path]


def _path_of(file: str, root: str) -> str:
    r"""Give the path of a file; of a name that is no UTF-8, a saved report has `\xe9`."""
    path = os.path.join(root, file)
    if "\\x" in file and not os.path.lexists(path):
        raw = re.sub(r"\\x([89a-f][0-9a-f])", lambda one: chr(0xDC00 + int(one[1], 16)), file)
        if os.path.lexists(os.path.join(root, raw)):
            return os.path.join(root, raw)
    return path


def _row(
    path: str, finding: Finding, aside: Aside, said: int, *, report: Report, root: str,
    roots: Sequence[str],
) -> QuarantineRow:  # fmt: skip
    is_its_own = finding.at.file == aside.file
    reason = finding.message if is_its_own else f"{finding.at.file} {finding.message}"
    file = name_of(path, root)
    row = QuarantineRow(file=file, path=path, state=State.LEFT, check=finding.check, reason=reason)
    if not is_below(os.path.dirname(path), roots) or ".." in aside.file.split("/"):
        return replace(row, why="it lies outside the job's folder, and of all that was named")
    try:
        own, status, link = _seen(path)
    except (FileNotFoundError, NotADirectoryError):
        if os.path.islink(path):
            return replace(row, why=f"it is a link to {os.readlink(path)}, which is not there")
        return replace(row, state=State.GONE, why=_GONE)
    except OSError as error:
        return replace(row, why=f"it cannot be looked at: {error.strerror}")
    if aside.stays is not None and stat.S_ISDIR(status.st_mode):
        return replace(row, why=aside.stays)
    why = _changed(status, own, aside.bytes, report.started) or aside.stays
    if why is not None:
        reason = counted(said, "finding") if said > 1 else reason
        return replace(row, why=why, reason=reason, bytes=aside.bytes)
    return replace(
        row,
        state=State.LISTED,
        bytes=status.st_size,
        link=link,
        identity=identity_in(own),
    )


def _seen(path: str) -> tuple[os.stat_result, os.stat_result, str | None]:
    """Give what a file is by itself, what it leads to, and where that is if it is a link.

    Raises:
        OSError: it cannot be seen; another run may move it at any time.
    """
    own = os.lstat(path)
    return own, os.stat(path), os.readlink(path) if stat.S_ISLNK(own.st_mode) else None


def _changed(
    status: os.stat_result, own: os.stat_result, size: int | None, started: str
) -> str | None:
    """Say what is known to have changed since the look, if anything is.

    The time of the inode counts as well: a copy that keeps the time of its original has a new one.
    """
    if not stat.S_ISREG(status.st_mode):
        return "it is no file any more"
    if size is not None and status.st_size != size:
        return f"it has {status.st_size:,} bytes now, and had {size:,} when it was looked at"
    # A report says whole seconds; what was written in the first of them was looked at after that.
    begun = (calendar.timegm(time.strptime(started, "%Y-%m-%dT%H:%M:%SZ")) + 1) * _SECOND
    times = (own.st_mtime_ns, own.st_ctime_ns, status.st_mtime_ns, status.st_ctime_ns)
    return f"it has changed since the look of {started}: look again" if max(times) > begun else None


def _named(report: Report, root: str, here: str) -> Iterator[str]:
    """Give the folders that the words of a run and its settings have named, as far as there are."""
    words = [one.word for one in report.targets]
    words += [
        one.value
        for key, one in report.job.items()
        if re.fullmatch(r"(data|cache)\.\d+\.(path|shards)", key) and isinstance(one.value, str)
    ]
    for word in {part for each in words for part in each.split("::")}:
        plain = re.sub(r"^[a-z]+=", "", word)
        for before in {root, here}:
            path = os.path.join(before, plain)
            if not os.path.exists(path):
                path = os.path.dirname(re.split(r"[*?\[{]", path, maxsplit=1)[0])
            yield path if os.path.isdir(path) else os.path.dirname(path)


def _device_of(folder: str) -> int:
    """Give the file system on which a folder lies, or will lie."""
    place = os.path.abspath(folder)
    while not os.path.isdir(place) and place != os.path.dirname(place):
        place = os.path.dirname(place)
    return os.stat(place).st_dev


def _of_file_system(row: QuarantineRow, device: int, *, copy: bool) -> QuarantineRow:
    if row.state is not State.LISTED:
        return row
    try:
        if os.lstat(row.path).st_dev == device:
            return row
    except OSError:
        return replace(row, state=State.GONE, why=_GONE)
    if copy:
        return replace(row, copies=True)
    return replace(row, state=State.LEFT, why=OTHER_FILE_SYSTEM)


def _along(
    rows: Sequence[QuarantineRow], owned: Mapping[str, Sequence[str]], root: str
) -> Iterator[QuarantineRow]:
    """Give whole files that belong to those that are moved."""
    taken = {one.path for one in rows}
    for row in rows:
        for path in owned.get(row.path, ()) if row.state is State.LISTED else ():
            if path in taken or not os.path.isfile(path):
                continue
            taken.add(path)
            with contextlib.suppress(OSError):
                own, status, link = _seen(path)
                yield QuarantineRow(
                    file=name_of(path, root),
                    path=path,
                    state=State.LISTED,
                    check=row.check,
                    reason="is whole",
                    bytes=status.st_size,
                    link=link,
                    identity=identity_in(own),
                    goes_with=row.file,
                )
