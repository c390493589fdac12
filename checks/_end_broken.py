"""Tells of an epoch that ends badly, behind the first batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from preflight.facts import Epoch, Frame, Standing, Traceback, WholePass
from preflight.finding import Finding
from preflight.values.exit_status import ending
from preflight.values.names import counted, shown

from ._dead_thread import MEND, has_died
from ._first_line import first_line


def broken(
    found: Callable[..., Finding],
    facts: WholePass,
    dead: Traceback | None,
    evidence: Mapping[str, str | int | float],
) -> Finding:
    """Tell of an exception, a worker that dies or a hang, and of the thread that it comes of."""
    last = facts.epochs[-1]
    which = "" if len(facts.epochs) == 1 else " of the second epoch"
    count = counted(last.batches, "batch", "batches")
    after = f"after {count}{which}" if last.batches else f"at the begin{which}"
    is_stuck = last.ended == "stuck"
    standing = _telling(facts.standing) if is_stuck else None
    frames = facts.frames if standing is None else standing.users
    beside = () if dead is None else dead.frames[-1:]
    if is_stuck and beside:  # the cause; who waits for it knows nothing of it
        frames, beside = beside, frames[-1:]
    match last.ended:
        case "raised":
            what = f"raises{'' if facts.worker is None else ' in a worker'} {after}: "
            what += shown(first_line(facts.error))
        case "died":
            status = "has ended" if facts.exit_status is None else ending(facts.exit_status)
            who = "the process that draws" if facts.worker is None else "a worker"
            what = f"gives no batch {after}, since {who} {status}"
        case _:
            what = f"gives no batch for {facts.waited or 0:g} s {after}"
            lost = next((one for one in facts.standing if one.exit_status), None)
            if lost is not None and lost.exit_status is not None:
                what += f", since {lost.process} {ending(lost.exit_status)}"
            inner = None if standing is None else (standing.users or standing.lines)[-1]
            if dead is not None:
                what += f": {has_died(dead)}"
            elif standing is not None and inner is not None:
                line = shown(inner.text or inner.function)
                what += f": {standing.process} stands in {shown(inner.function)} (`{line}`)"
    return found(
        what,
        at=frames[-1].place(facts.name) if frames else facts.defined.at(facts.name),
        also=tuple(one.place() for one in (*frames[:-1], *beside) if one != frames[-1]),
        why=f"Training {'stands' if last.ended == 'stuck' else 'stops'} there"
        + (", when its first epoch was trained." if which else "."),
        fix=_mended(last, frames, dead),
        evidence=evidence,
        about=facts.name,
    )


def _mended(last: Epoch, frames: tuple[Frame, ...], dead: Traceback | None) -> str:
    """Say what to do, also where no line of the job's own is told."""
    if last.ended == "stuck" and dead is not None:
        return MEND
    if frames:
        return "Mend this line, or what it is given."
    is_stuck = last.ended == "stuck"
    return f"Mend what it {'waits for' if is_stuck else 'is given'} there."


def _telling(standing: tuple[Standing, ...]) -> Standing | None:
    """Give the process whose place tells most: a worker in a line of the user's own."""
    users = [one for one in standing if one.users]
    return users[-1] if users else next((one for one in standing if one.lines), None)
