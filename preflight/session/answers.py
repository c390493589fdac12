"""Makes facts of what processes answer, and words of what they could not read."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

from preflight import facts
from preflight.findings.check import Facts
from preflight.findings.finding import Location
from preflight.findings.judge import Failed, Left, Look
from preflight.images.facts import FolderFacts
from preflight.shards.facts import ShardFacts
from preflight.sources.facts import SourceFacts
from preflight.targets.targets import Source, Target
from preflight.values.wire import from_plain

READABLE = "Give the user that runs the job the right to read it."


def facts_of(plain: Mapping[str, Any]) -> Any:
    """Build the facts that a process gave as plain values."""
    return from_plain(
        _kind(plain["type"]), {key: value for key, value in plain.items() if key != "type"}
    )


@functools.cache
def _kind(name: str) -> Any:
    return getattr(facts, name)  # which may have to be imported


def unparsable(target: Target, kinds: tuple[type, ...], found: Facts) -> list[Look]:
    """Say of a single source that it could not be read; of a folder it may hold other languages."""
    if not isinstance(found, SourceFacts) or found.is_folder or not found.unreadable:
        return []
    if isinstance(target, Source) and target.implied:
        return [Left(reason="cannot be parsed, as its import says", kinds=kinds)]
    return [
        Failed(
            at=Location(file=file, line=int(line) if line else None),
            error=reason,
            kinds=kinds,
            fix="Mend it, or look with the job's own interpreter:  preflight run --python EXE",
        )
        for file, line, reason in found.unreadable
    ]


def unread_videos(found: Facts) -> Iterator[Look]:
    """Say of videos, and of what is to be heard, that nobody looks into them."""
    if isinstance(found, (ShardFacts, FolderFacts)) and found.videos:
        reason = "video is not read by this version"
        yield Left(
            reason=reason, kinds=(type(found),), count=found.videos, about="image", noun="video"
        )
    if isinstance(found, FolderFacts) and found.sounds:
        reason = "audio is not read by this version"
        yield Left(
            reason=reason,
            kinds=(FolderFacts,),
            count=found.sounds,
            about="image",
            noun="audio file",
        )


def mend(reason: str) -> str:
    """Say what to do about a file that cannot be read."""
    if "ermission" in reason:
        return READABLE
    return "Put back what it should be, or take it out of the folder."


def reason_of(error: OSError) -> str:
    """Say why the system refuses a file."""
    return f"{error.strerror or error} ({type(error).__name__})"
