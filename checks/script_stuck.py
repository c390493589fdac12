"""A script in which nothing goes on any more.

What it finds
    A script that has given no sign of itself for `--timeout` seconds (no batch, no step, no print)
    while neither it nor what it has started computes anything: each waits for the other. Its own
    line, and those of its other threads and of its processes, say for what. One that is still at
    work after this time is no finding: it could not be judged. Where no batch comes since errors
    are swallowed all the while, `loader-starved` tells that in its place, and where a thread of its
    own has ended with an exception, `script-stopped`.

    And a loop that begins a loader again and again, for seconds, and gets no batch of it:
    `while True: for batch in loader: …` over a stream that is empty.

Why it matters
    The job stands there, and holds its GPUs until somebody ends it.

What to do
    Look at what the line that is named waits for: a queue that nothing fills, a lock that another
    thread holds, a process that has died. Where a loader gives nothing, look whether its data set
    finds its files.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Rehearsal
from preflight.finding import Finding, Severity
from preflight.job import Job
from preflight.values.names import shown

from ._script_ends import every, place


@check(
    over=Rehearsal,
    title="script that waits for ever",
    many="scripts wait for ever",
    severity=Severity.ERROR,
)
def script_stuck(facts: Rehearsal, _job: Job) -> Iterator[Finding]:
    """Report where each thread and each process waits."""
    yield from _rounds(facts)
    ended = facts.ended
    if ended.how != "stuck" or ended.told_by or any(one.thread for one in every(facts)):
        return
    main = next((one for one in ended.waiting if one.frames), None)
    others = [one for one in ended.waiting if one.frames and one is not main]
    within = f" (in {shown(main.within)})" if main is not None and main.within else ""
    threads = len(ended.waiting)
    yield script_stuck.found(
        f"waits{within}: no batch, no step and no print for {ended.silent:.0f} s, "
        f"and {threads or 'its'} threads compute nothing",
        at=place(main.frames if main is not None else (), facts),
        also=tuple(
            one.frames[-1].place(None if one.process == "script" else one.process) for one in others
        ),
        why="The job would stand there until somebody ends it.",
        fix="Look at what this line waits for; if it only is slow, raise --timeout.",
        about="stuck",
    )


def _rounds(facts: Rehearsal) -> Iterator[Finding]:
    for one in facts.met:
        if one.what == "goes round" and one.at is not None:
            yield script_stuck.found(
                f"begins its loader again and again: {one.count:,} times in a row without a batch",
                at=one.at.place(),
                why="The job would stand at this line, and compute for nothing.",
                fix="Look whether its data set finds its files; and have the loop raise where a "
                "pass over its loader gives nothing.",
                about="round",
            )
