"""Says of which threads of a loader have died."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from preflight.facts import Traceback, WholePass
from preflight.finding import Finding, Severity
from preflight.values.names import counted, shown

from ._first_line import first_line

MEND = "Mend this line, or have the thread hand its exception to whoever waits for it."


def dead_thread(printed: tuple[Traceback, ...]) -> Traceback | None:
    """Give the first that died in a line of the user's own."""
    return next((one for one in printed if one.is_of_thread and one.frames), None)


def has_died(one: Traceback) -> str:
    """Say so."""
    return f"its thread {shown(one.thread)} has died of {shown(first_line(one.error))}"


def loses(one: Traceback) -> str:
    """Say so of a loader that goes on."""
    return f"loses its thread {shown(one.thread)}, which dies of {shown(first_line(one.error))}"


def means(came: int, lacking: int) -> str:
    """Say what that means to a loop that gets so many batches, where some are lacking."""
    if came and lacking > 0:
        number = counted(came, "batch", "batches")
        return f"The loop over it ends after {number} of {came + lacking:,}, without an error."
    return (
        "A thread that dies does not stop the job: whoever waits for what it does waits for ever."
    )


def lost_in_pass(
    found: Callable[..., Finding],
    facts: WholePass,
    dead: Traceback,
    evidence: Mapping[str, str | int | float],
) -> Finding:
    """Tell of a thread that died while epochs were run which nothing else has ended."""
    return found(
        loses(dead),
        at=dead.frames[-1].place(facts.name),
        severity=Severity.ERROR if facts.lacking else Severity.WARNING,
        why=means(facts.epochs[-1].batches, facts.lacking),
        fix=MEND,
        evidence=evidence,
        about=f"{facts.name} thread",
    )
