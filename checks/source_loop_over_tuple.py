"""A loop that takes pairs out of a function that returns one pair, and is no generator.

What it finds
    `for step, batch in next_batch():`, also with `enumerate` around the call or through a name,
    where `next_batch` is a function of the sources that returns one tuple of as many parts, with no
    `yield`. So is a loop that takes more or fewer parts than `zip` or `enumerate` gives at once:
    `for image, mask, label in zip(images, masks)`. Functions with decorators, several definitions
    of one name, and tuples whose parts are written out as tuples or lists themselves are left
    alone.

Why it matters
    The loop goes through the parts of that one tuple, and tries to take its first part apart:
    `TypeError: cannot unpack non-iterable int object`. It happens when a generator becomes a plain
    function and one of those who call it is forgotten.

What to do
    Call the function in the loop, `step, batch = next_batch()`, or make it a generator again.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import SourceFacts, TupleLoop
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import counted, shown


@check(
    over=SourceFacts,
    title="loop over one tuple",
    many="loops go over one tuple",
    severity=Severity.ERROR,
)
def source_loop_over_tuple(facts: SourceFacts, _: Job) -> Iterator[Finding]:
    """Give each loop; that it stops is certain where a part is known to be a number."""
    for one in facts.flaws.loops:
        if one.gives:
            yield _miscounted(one, is_certain=not facts.is_folder)
            continue
        file, line = one.defined.rsplit(":", 1)
        is_certain = bool(one.scalar) and not facts.is_folder
        yield source_loop_over_tuple.found(
            f"`{shown(one.code)}` goes over the {one.size} parts of one tuple: {one.function} "
            f"returns ({shown(one.defined)}), and yields nothing",
            at=Location(file=one.file, line=one.line),
            severity=Severity.ERROR if is_certain else Severity.WARNING,
            also=(Location(file=file, line=int(line)),),
            why=_why(one.scalar, one.size),
            fix=f"Call {one.function} inside a loop, and take apart what it returns; or let it "
            "yield.",
            evidence={"function": one.function, "size": one.size},
            about=f"{one.function} {one.code}",
            line_text=one.text,
        )


def _miscounted(one: TupleLoop, *, is_certain: bool) -> Finding:
    error = f"too many values to unpack (expected {one.size})"
    if one.size > one.gives:
        error = f"not enough values to unpack (expected {one.size}, got {one.gives})"
    return source_loop_over_tuple.found(
        f"`{shown(one.code)}` takes {counted(one.size, 'part')} at once, and {one.function} gives "
        f"{one.gives}",
        at=Location(file=one.file, line=one.line),
        severity=Severity.ERROR if is_certain else Severity.WARNING,
        why=f"Python raises `ValueError: {error}` at the first step, and the loop stops there.",
        fix=f"Take as many as {one.function} gives, or have it go over one thing more or less.",
        evidence={"function": one.function, "size": one.size, "gives": one.gives},
        about=f"{one.function} {one.code}",
        line_text=one.text,
    )


def _why(scalar: str, size: int) -> str:
    if scalar:
        return (
            f"{shown(scalar)} is a number: the loop stops at once, cannot unpack non-iterable int "
            "object, or at the part before it."
        )
    return f"The first part would have to be {size} things itself; else the loop stops at once."
