"""The manifest of one quarantine: what was to be moved, and from where; written before anything is.

There are no marks of what was done: a file that lies in the quarantine was moved, and one that does
not was not, or was brought back.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from preflight.quarantine.moving import store_names
from preflight.quarantine.quarantined import QuarantineRow
from preflight.values.small_files import read_small
from preflight.values.state_folder import make_state, write_whole
from preflight.values.version import __version__

FOLDER = "quarantine"
MANIFEST = "manifest.jsonl"
SCHEMA = 1

# Where files from outside the job's folder are kept, by their whole path.
_INSIDE, _OUTSIDE = "files", "outside"


class ManifestError(ValueError):
    """A manifest that cannot be read, or names what it must not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One file that was to be moved."""

    file: str
    """Where it lay: relative to the job's folder, or absolute."""

    to: str
    """Where it lies then, relative to the manifest, with forward slashes."""

    bytes: int
    mtime_ns: int
    check: str
    reason: str
    goes_with: str | None
    copied: bool
    beside: str
    """What the names begin with that it has for a moment beside its place, while it is copied."""


def begin(state: str, rows: Sequence[QuarantineRow], *, report: str) -> tuple[str, list[Entry]]:
    """Make the folder of a new quarantine, and write into it what is about to be moved there.

    Raises:
        OSError: it cannot be written; nothing was moved.
    """
    make_state(state)
    above = os.path.join(state, FOLDER)
    os.makedirs(above, exist_ok=True)
    folder = _new_folder(above)
    entries = [_entry(one) for one in rows]
    head = {"schema": SCHEMA, "preflight": __version__, "report": report}
    lines = [json.dumps(one) for one in (head, *map(asdict, entries))]
    path = os.path.join(folder, MANIFEST)
    write_whole(path, "\n".join([*lines, ""]))
    with open(path, "rb+") as file:
        os.fsync(file.fileno())
    for each in (folder, above, state):
        store_names(each)
    return folder, entries


def _new_folder(above: str) -> str:
    """Make a folder that nobody else has, named by the time."""
    now, number = time.strftime("%Y-%m-%dT%H-%M-%SZ", time.gmtime()), 1
    while True:
        name = now if number == 1 else f"{now}-{number}"
        try:
            os.mkdir(os.path.join(above, name), 0o700)
        except FileExistsError:
            number += 1
        else:
            return os.path.join(above, name)


def _entry(row: QuarantineRow) -> Entry:
    assert row.identity is not None  # noqa: S101  for the type checker
    if os.path.isabs(row.file):
        _, below = os.path.splitdrive(row.file)
        to = f"{_OUTSIDE}/{below.replace(os.sep, '/').strip('/')}"
    else:
        to = f"{_INSIDE}/{row.file}"
    return Entry(
        file=row.file,
        to=to,
        bytes=row.identity[0],
        mtime_ns=row.identity[1],
        check=row.check,
        reason=row.reason,
        goes_with=row.goes_with,
        copied=row.copies,
        beside=f".preflight-moving-{os.urandom(8).hex()}",
    )


def read(folder: str) -> list[Entry]:
    """Read what was to be moved into a quarantine.

    Raises:
        ManifestError: it is none of ours, or leads out of its folder.
    """
    path = os.path.join(folder, MANIFEST)
    try:
        head, *lines = map(json.loads, read_small(path).decode("utf-8").splitlines())
        if head["schema"] != SCHEMA:
            raise ManifestError(f"{path} is of another version of preflight")
        entries = [Entry(**one) for one in lines]
        real = os.path.realpath(folder)
        odd = next((one for one in entries if not _is_sound(real, one)), None)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        if isinstance(error, ManifestError):
            raise
        raise ManifestError(f"{path} cannot be read as a manifest: {error}") from error
    if odd is not None:
        raise ManifestError(f"{path} leads out of its folder, and is none of preflight's")
    return entries


def _is_sound(folder: str, entry: Entry) -> bool:
    """Whether an entry names a file of the quarantine, and a place that has one meaning.

    The folder's path leads over no links.
    """
    parts = entry.to.split("/")
    target = os.path.realpath(os.path.dirname(os.path.join(folder, *parts)))
    inside = os.path.join(folder, "")
    return (
        parts[0] in (_INSIDE, _OUTSIDE)
        and os.path.join(target, "").startswith(inside)
        and not {"", ".", ".."} & set(parts)
        and ".." not in entry.file.split("/")
        and re.fullmatch(r"\.preflight-moving-[0-9a-f]{16}", entry.beside) is not None
    )


def quarantines(state: str) -> list[str]:
    """Give the folders of all quarantines, the last one first."""
    above = os.path.join(state, FOLDER)
    try:
        names = sorted(os.listdir(above), key=_by_time, reverse=True)
    except FileNotFoundError:
        return []
    return [
        os.path.join(above, one)
        for one in names
        if os.path.isfile(os.path.join(above, one, MANIFEST))
    ]


def _by_time(name: str) -> tuple[str, int]:
    time_of, _, number = name.partition("Z")
    return time_of, int(number[1:]) if number[1:].isdigit() else 1


def place_of(folder: str, entry: Entry) -> str:
    """Give where an entry lies once it is moved."""
    return os.path.join(folder, *entry.to.split("/"))
