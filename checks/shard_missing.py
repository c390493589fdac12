"""Shards that a range names, or that a loader opens, and that are not there.

What it finds
    Files that a brace range such as `data/{000..009}.tar` names, and that are not there. Of those
    that a live loader of webdataset opens by itself, too; where no loader is built, of those that
    the script which was named (`source=train.py`), or what it imports, names in full: as a literal,
    in a list, by a constant of its module, or by a key of a file of settings that it reads. Of a
    folder of sources, the scripts in it that lead there. Lines behind a test and in functions that
    nobody calls are left aside, and so is all of it where the job runs elsewhere.

    An error, and a warning where a handler goes on without them (`warn_and_continue`), or where a
    source names them and none is there, as they may lie elsewhere; a note where that is one of a
    folder.

Why it matters
    webdataset opens shards one by one while it trains. At a missing one it stops, hours after the
    start; or, with a handler that goes on, it trains without those samples and does not say so.

What to do
    Bring the missing shards, or write a range that names only what is there.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Absent, Opened
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import counted, first_of, shown

from ._handler_words import told_by


def _opens_none(facts: Absent | Opened, _job: Job) -> str | None:
    if isinstance(facts, Opened) and not facts.shards:
        return "its shards lie behind addresses"
    return None


@check(
    over=(Absent, Opened),
    title="shards that are not there",
    many="places lack shards that are named",
    severity=Severity.ERROR,
    always=True,
    skip=_opens_none,
)
def shard_missing(facts: Absent | Opened, _job: Job) -> Iterator[Finding]:
    """Report each name of a range that is no file, and what loaders open that is none."""
    if isinstance(facts, Opened):
        if facts.untold:
            yield _not_opened(facts)
        return
    if facts.pattern is None:
        return
    named = Location(file=facts.named_in, line=facts.named_at)
    yield shard_missing.found(
        f"is named by {shown(facts.pattern)} and is not there",
        at=Location(file=facts.file),
        also=() if facts.named_in is None else (named,),
        why="webdataset meets the gap in the middle of the run: it stops there, or goes on without "
        "these samples where its handler swallows errors.",
        fix="Bring the shard, or write a range that leaves it out.",
    )


def _not_opened(facts: Opened) -> Finding:
    at = facts.defined
    none_there = facts.missing == facts.shards
    goes_on = facts.handler == "goes-on"
    is_ = "is" if facts.untold == 1 else "are"
    said = f"as {facts.config} has it" if facts.config else "as the source is written"
    by = f", {said} (a guess: no loader was made)" if facts.guess else ""
    severity = Severity.WARNING if goes_on or (facts.guess and none_there) else Severity.ERROR
    if facts.in_folder and none_there:
        severity = Severity.NOTE  # of an example, say, that nobody starts here
    names = first_of(facts.names, facts.untold)
    return shard_missing.found(
        f"opens {counted(facts.shards, 'shard')}{by}, of which {facts.untold:,} {is_} not there: "
        f"{names}",
        at=Location(
            file=at.file,
            line=at.line if at.file else None,
            name=None if facts.guess else facts.name,
        ),
        severity=severity,
        why=_why(facts, none_there=none_there, goes_on=goes_on),
        fix="Bring them, or name only what is there; --elsewhere says that they lie on another "
        "machine.",
        evidence={"missing": facts.untold, "of": facts.shards},
        about="opens",
        line_text=at.line_text or None,
    )


def _why(facts: Opened, *, none_there: bool, goes_on: bool) -> str:
    words = told_by([facts.handler_name])
    if goes_on:
        rest = "nothing is left to train on" if none_there else "the job trains without them"
        return f"{facts.handler_name} passes over each {words}, and {rest}."
    if facts.handler == "stops":
        return f"{facts.handler_name} ends the stream at the first of them, {words}."
    if facts.handler == "raises":
        return "webdataset raises FileNotFoundError at the first of them that a worker comes to."
    return "A worker stops at the first of them, or goes on without it, as its handler has it."
