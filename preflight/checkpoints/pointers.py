"""Judges what names the checkpoint that a job goes on from (`latest`), and whether it is there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from preflight.checkpoints import state_names as names
from preflight.checkpoints.facts import Checkpoint
from preflight.checkpoints.notes import pointer_in


def taken(top: str, found: Iterable[str]) -> str:
    """Give which of these checkpoints `latest` in a folder names; empty where none is named."""
    pointer = pointer_in(top)
    return (pointed(pointer.to, found) if pointer is not None else None) or ""


def pointed(to: str, found: Iterable[str]) -> str | None:
    """Find the checkpoint that a file names, by its name or by its number alone."""
    for name in found:
        number = re.search(r"\d{1,18}$", name)
        if name == to or (to.isascii() and to.isdigit() and number and int(number[0]) == int(to)):
            return name
    return None


def astray(top: str, found: Iterable[Checkpoint]) -> tuple[str, str]:
    """Name what should say which checkpoint is the newest, and does not, and what it says.

    Two empty texts where it does, or where it may mean something else.
    """
    pointer = pointer_in(top)
    there = [one.name for one in found]
    members = [name for one in found for name in one.members]
    if pointer is None or not there or pointed(pointer.to, [*there, *members]) is not None:
        return "", ""
    if not pointer.to:
        return pointer.name, "is empty"
    if not pointer.is_link and os.path.lexists(os.path.join(top, pointer.to)):
        return "", ""
    kinds = {names.kind_of(name) for name in (*there, *members)}
    like = names.kind_of(pointer.to) in kinds or names.is_step(pointer.to)
    by_number = pointer.to.isdigit() and all(re.search(r"\d$", name) for name in there)
    if like or by_number or pointer.is_link:
        return pointer.name, f"names {pointer.to}, which is not there"
    return "", ""
