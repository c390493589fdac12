"""What was found and done, as text for people and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from preflight.quarantine.quarantined import QuarantineRow, State
from preflight.values.byte_sizes import format_size
from preflight.values.names import counted, first_of, shown

SCHEMA = 1
"""Of the JSON below."""

# Files of one kind that are listed; JSON has them all.
_MOST = 200

_HEADS = {
    State.LISTED: "To be moved",
    State.MOVED: "Moved",
    State.RESTORED: "Brought back",
    State.LEFT: "Left where they are",
    State.GONE: "Gone already",
    State.FAILED: "Refused by the system",
}


class QuarantinePage(NamedTuple):
    """All that a page tells."""

    rows: Sequence[QuarantineRow]
    about: str
    """Whose files these are: `the run of 2026-07-26T10:00:00Z`."""

    more: int = 0
    """Findings that are only counted."""

    folder: str | None = None
    """The quarantine that they were moved into, as reports name files."""

    restores: bool = False
    outside: bool = False
    """Whether some were moved from outside the job's folder, where `--yes` brings them back."""


def as_text(told: QuarantinePage) -> str:
    """Give the page, which ends with what to do."""
    lines: list[str] = []
    for state, head in _HEADS.items():
        rows = [one for one in told.rows if one.state is state]
        if rows:
            size = sum(one.bytes or 0 for one in rows)
            lines.append(
                f"{head}: {counted(len(rows), 'file')}{f', {format_size(size)}' * (size > 0)}"
            )
            for row in rows[:_MOST]:
                lines += _lines_of(row)
            if len(rows) > _MOST:
                lines.append(f"  and {len(rows) - _MOST:,} more, which --format json lists")
            lines.append("")
    return "\n".join([*lines, *_end(told), ""])


def _lines_of(row: QuarantineRow) -> Iterator[str]:
    size = "" if row.bytes is None else f"  {format_size(row.bytes)}"
    yield f"  {shown(row.file)}{size}  {row.check}"
    if row.goes_with is not None:
        yield f"      it is whole, and goes with {shown(row.goes_with)}"
    elif row.reason:
        yield f"      {shown(row.reason)}"
    if row.why:
        yield f"      {shown(row.why)}"
    if row.link is not None:
        yield f"      it is a link to {shown(row.link)}: the link is moved, and that stays"
    if row.belongs and row.state in {State.LISTED, State.MOVED}:
        names, verb = first_of(row.belongs, len(row.belongs)), "belong"
        if len(row.belongs) == 1:
            verb = "belongs"
        yield f"      {names} {verb} to it: move that along (--with-pairs), or edit it"
    if row.named_by and row.state in {State.LISTED, State.MOVED}:
        names = first_of(row.named_by, len(row.named_by))
        yield f"      {names} {'names' if len(row.named_by) == 1 else 'name'} it: edit that too"


def _end(told: QuarantinePage) -> Iterator[str]:
    states = {one.state for one in told.rows}
    if told.more:
        of_them = counted(told.more, "finding")
        yield f"{of_them} more were only counted: look again once these are moved."
    if told.restores:
        if not told.rows:
            yield "There is nothing to bring back."
        elif states == {State.RESTORED}:
            yield "All is back in its place. Look again:  preflight run"
        else:
            yield "What was not brought back stays in the quarantine."
    elif not told.rows:
        yield f"There is nothing to move: {told.about} names no damaged file."
    elif State.MOVED in states:
        yield f"They lie in {shown(told.folder or '')}, beside a manifest; nothing was deleted."
        if told.outside:
            yield "Back again:  preflight quarantine --restore --yes"
        else:
            yield "Back again:  preflight quarantine --restore"
    elif State.LISTED in states:
        yield f"This is what {told.about} names. Nothing was moved."
        yield "Move what is to be moved:  preflight quarantine --yes"
    else:
        yield f"This is what {told.about} names. Nothing was moved."


def as_json(told: QuarantinePage) -> str:
    r"""Give the same for programs; bytes of a name that are no UTF-8 read `\xe9`."""
    plain = {
        "schema": SCHEMA,
        "about": told.about,
        "folder": told.folder,
        "more": told.more,
        "files": [_plain(row) for row in told.rows],
    }
    return json.dumps(plain, indent=2) + "\n"


def _plain(row: QuarantineRow) -> dict[str, object]:
    return {
        "file": _sayable(row.file),
        "state": row.state.value,
        "why": _sayable(row.why),
        "check": row.check,
        "reason": _sayable(row.reason),
        "bytes": row.bytes,
        "link": None if row.link is None else _sayable(row.link),
        "belongs": [*map(_sayable, row.belongs)],
        "named_by": [*map(_sayable, row.named_by)],
        "goes_with": None if row.goes_with is None else _sayable(row.goes_with),
        "to": None if row.to is None else _sayable(row.to),
    }


def _sayable(text: str) -> str:
    return (
        text
        if text.isascii()
        else text.encode(errors="surrogateescape").decode(errors="backslashreplace")
    )
