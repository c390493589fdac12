"""A `return` in a `finally`, which takes the place of another value or of an exception.

What it finds
    `return`, and `break` or `continue` of a loop around it, directly in a `finally`, where
    something is lost by it: the value of a `return` in the `try` or its handlers, or an exception
    that no handler catches. What stands in a function that is only defined there is left alone, and
    so is a `try` whose handlers catch all, and that returns nothing else.

Why it matters
    A statement that leaves a `finally` wins over whatever was on its way out. An iterator that
    returns its batch in the `try` gives what the `finally` says instead, and an exception, an end
    of the data or Ctrl-C among them, is gone without a word: the loop goes on with the wrong
    thing, or for ever.

What to do
    Move the statement behind the `try`, or into its `else`.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Jump, SourceFacts
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import shown

from ._threads import waiting

_LOST = {
    "all": "every exception in the `try` is dropped without a word.",
    "others": "every exception that its handlers do not catch is dropped without a word.",
    "exits": "KeyboardInterrupt and SystemExit are dropped: Ctrl-C does not stop the job here.",
}


@check(
    over=SourceFacts,
    title="return in a finally",
    many="statements in a finally drop values or exceptions",
    severity=Severity.ERROR,
)
def source_return_in_finally(facts: SourceFacts, _: Job) -> Iterator[Finding]:
    """Give each `finally` by which something is lost."""
    for number, one in enumerate(facts.flaws.jumps):
        lost = "exceptions" if one.returns is None else f"`{shown(one.returns.code)}`"
        takes = "takes" if one.is_sure else "may take"
        yield source_return_in_finally.found(
            f"`{shown(one.code)}` in a `finally` {takes} the place of {lost}",
            at=Location(file=one.file, line=one.line),
            severity=_severity(one, facts),
            also=(Location(file=one.file, line=one.returns.line),) if one.returns else (),
            why=_why(one),
            fix=f"Move `{shown(one.code)}` behind the `try`, or into its `else`.",
            evidence={"swallows": one.swallows or "nothing"},
            about=f"{one.inside} {_which(one, facts.flaws.jumps[:number])}",
            line_text=one.text,
        )


def _which(one: Jump, before: tuple[Jump, ...]) -> int:
    """Tell those apart that read alike in one function."""
    same = (one.file, one.inside, one.text)
    return sum((other.file, other.inside, other.text) == same for other in before)


def _severity(one: Jump, facts: SourceFacts) -> Severity:
    if one.returns is None:
        return Severity.NOTE if one.swallows == "exits" else Severity.WARNING
    return Severity.WARNING if facts.is_folder else Severity.ERROR


def _why(one: Jump) -> str:
    each = []
    when = "" if one.is_sure else f"Where line {one.line} is come to, "
    if one.returns is not None:
        never = "never comes out" if one.is_sure else "does not come out"
        each.append(_begun(f"{when}what line {one.returns.line} returns {never}."))
    if one.swallows:
        each.append(_begun(f"{when}{_LOST[one.swallows]}"))
    if one.thread is not None and one.swallows:
        each.append(waiting(one.inside, one.thread))
    return " ".join(each)


def _begun(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
