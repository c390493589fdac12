"""A loop that does nothing but ask, again and again, until somebody else changes something.

What it finds
    Loops such as `while queue.empty(): continue`, and `while not self.ready: pass`: the body does
    nothing, and the test asks a queue, a thread, an event, a file or a flag, which answers at
    once; and a `while True` that begins with `queue.get_nowait()`, and does so again at once where
    the queue is empty. Loops that sleep, wait with a timeout, or do their work in the test are left
    alone.

Why it matters
    The loop takes a whole processor, and holds Python's interpreter lock while the thread that it
    waits for needs it. And it has no way out: when that thread has died, the job hangs here with a
    busy processor and says nothing.

What to do
    Wait with a timeout, `queue.get(timeout=…)` or `Event.wait(timeout)`, and look in between
    whether the other side still lives.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import SourceFacts
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import shown


@check(
    over=SourceFacts,
    title="loop that waits without a pause and without an end",
    many="loops wait without a pause and without an end",
    severity=Severity.WARNING,
)
def source_busy_wait(facts: SourceFacts, _: Job) -> Iterator[Finding]:
    """Give each loop."""
    for number, one in enumerate(facts.flaws.waits):
        same = (one.file, one.inside, one.text)
        which = sum(
            (other.file, other.inside, other.text) == same for other in facts.flaws.waits[:number]
        )
        yield source_busy_wait.found(
            f"asks `{shown(one.test)}` again and again, with no pause and no timeout",
            at=Location(file=one.file, line=one.line),
            why="It takes a whole processor from those it waits for, and never ends when they have "
            "died.",
            fix="Wait with a timeout (queue.get(timeout=…), Event.wait(…)), and look in between "
            "whether the other side still lives.",
            about=f"{one.inside} {which}",
            line_text=one.text,
        )
