"""A name that an error handler reads, and that has no value when the error comes early.

What it finds
    Functions with a `try` in which a name gets its first value after something that may raise, and
    a handler of this `try` that reads the name: `batch = [queue.get(timeout=1)]`, then `except
    Empty: write(batch)`. What may raise is known by its name (`open` raises OSError, a model
    RuntimeError), or by what the functions of the same file raise. Names that have a value before
    the `try`, or that the handler gives one, are left alone; so are reads behind a test that tells
    how far the `try` has come.

Why it matters
    The handler itself stops with `UnboundLocalError: cannot access local variable`, which hides
    the error that it was to handle. In a thread nobody sees that: the thread ends, and whoever
    waits for its queue waits for ever.

What to do
    Give the name a value before the `try`.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import SourceFacts, UnboundRead
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import shown

from ._threads import waiting


@check(
    over=SourceFacts,
    title="error handler that reads a name without a value",
    many="error handlers read a name without a value",
    severity=Severity.ERROR,
)
def source_unbound_name(facts: SourceFacts, _: Job) -> Iterator[Finding]:
    """Give each name of each handler."""
    for one in facts.flaws.unbound:
        yield source_unbound_name.found(
            f"{shown(one.name)} is read in `{shown(one.handler)}`, and has no value yet where "
            f"`{shown(one.raises.code)}` raises (line {one.raises.line})",
            at=Location(file=one.file, line=one.line),
            severity=_severity(one, facts),
            also=(Location(file=one.file, line=one.raises.line),),
            why=_why(one),
            fix=f"Give {shown(one.name)} a value before the `try`.",
            evidence={"name": one.name, "bound": one.bound, "in_thread": one.thread is not None},
            about=f"{one.inside} {one.name} {one.handler}",
            line_text=one.text,
        )


def _severity(one: UnboundRead, facts: SourceFacts) -> Severity:
    """Of a folder not every file need be part of the job; what normal work comes to is."""
    if one.is_usual or (one.is_sure and not facts.is_folder):
        return Severity.ERROR
    return Severity.WARNING


def _why(one: UnboundRead) -> str:
    when = "The first time" if one.is_usual else "Then"
    error = "UnboundLocalError" if one.inside else "NameError"
    begin = f"{when} the handler stops with {error}: its first value comes in line {one.bound}."
    if one.thread is None:
        return f"{begin} That hides the error that it was to handle."
    return f"{begin} {waiting(one.inside, one.thread)}"
