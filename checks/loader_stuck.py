"""A loader that gives no batch when it is started as the job starts it.

What it finds
    In every run that makes a loader, the first batches are drawn from it: with the job's workers,
    started as the job starts them, in a process of their own. Found are a loader that gives nothing
    for as long as `--timeout` says, with the lines at which its workers stand (on Windows, where
    they cannot be asked, that at which the training process does), and with the process that died
    meanwhile; a worker that dies, with what it said; an exception, with the user's own line; and
    threads of the job that die meanwhile. A loader that ends without a batch is told by
    `loader-end`.

Why it matters
    Training stops at its first step, or stands there and says nothing. What a worker said when it
    died is in nobody's log, and of one that waits for ever nothing is known at all.

What to do
    Mend the line that is named. A lock, a queue or a connection that a worker waits for is best
    made in the worker. An error that is swallowed has to be counted: a stream in which each sample
    fails never gives one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from preflight.check import check
from preflight.facts import FirstBatches, Frame, Standing
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.exit_status import ending
from preflight.values.names import counted, shown

from ._dead_thread import MEND, dead_thread, has_died, loses, means
from ._first_line import first_line, in_full

_KILLED = -9

_ALONE = "num_workers=0 tells whether the workers are at fault: it loads in the training process."
_UNSEEN = (
    "Where its workers stand could not be asked, as on Windows: with num_workers=0, the training "
    "process loads by itself, and the line where it stands is told."
)

# What tarfile says of a shard that it does not unpack.
_OF_ZSTD = re.compile(r"ReadError\b.*'([^']+\.tar\.zstd?)'")


def _told(facts: FirstBatches, _: Job) -> str | None:
    return f"{facts.told_by} tells why no batch comes" if facts.told_by else None


@check(
    over=FirstBatches,
    title="loader that gives no batch",
    many="loaders give no batch",
    severity=Severity.ERROR,
    skip=_told,
)
def loader_stuck(facts: FirstBatches, job: Job) -> Iterator[Finding]:
    """Say how the drawing ended, where no batch came of it, and which threads have died."""
    if facts.told_by:
        return
    match facts.ended:
        case "stuck":
            yield _stuck(facts, job)
        case "died":
            yield _died(facts)
        case "raised":
            yield _raised(facts)
    if facts.ended not in ("raised", "stuck"):
        yield from _threads(facts)


def _stuck(facts: FirstBatches, job: Job) -> Finding:
    unsent = next((one for one in facts.printed if one.unsent), None)
    if unsent is not None:
        return loader_stuck.found(
            f"{_after(facts)} no batch for {facts.waited:g} s: a worker cannot send what it has "
            f"made: {shown(first_line(unsent.error))}",
            at=_place(unsent.frames, facts),
            why="The batch is lost in the worker, which says so to nobody: training waits for it "
            "for ever.",
            fix="Give out tensors, arrays, numbers and texts, or objects that pickle can send.",
            evidence=_evidence(facts),
            about=facts.name,
        )
    at = _telling(facts)
    dead = dead_thread(facts.printed)
    if dead is not None:
        return loader_stuck.found(
            f"{_after(facts)} no batch for {facts.waited:g} s: {has_died(dead)}",
            at=_place(dead.frames, facts),
            also=tuple(one.users[-1].place() for one in facts.standing if one.users),
            why="A thread that dies does not stop the job: training waits for it for ever.",
            fix=MEND,
            evidence=_evidence(facts),
            about=facts.name,
        )
    here = "" if at is None else f": {at.process} stands in {_written(at)}"
    longer = f"--timeout {job.look.timeout * 5:g}"
    lost = next((one for one in facts.standing if one.exit_status), None)
    if lost is not None and lost.exit_status is not None:
        return loader_stuck.found(
            f"{_after(facts)} no batch for {facts.waited:g} s, since {lost.process} "
            f"{ending(lost.exit_status)}{here}",
            at=_place(() if at is None else at.users, facts),
            also=_others(facts, at),
            why="The training process is not told that it has ended, and waits for it for ever.",
            fix="Mend what ends it: load one sample by hand, without workers; where the kernel "
            f"killed it, take fewer workers or smaller batches; or give it longer, if it is only "
            f"slow:  {longer}",
            evidence=_where(facts),
            about=facts.name,
        )
    unseen = facts.num_workers and not any("worker" in one.process for one in facts.standing)
    return loader_stuck.found(
        f"{_after(facts)} no batch for {facts.waited:g} s{here}",
        at=_place(() if at is None else at.users, facts),
        also=_others(facts, at),
        why=f"Training stands at step {len(facts.batches)}, and says nothing.",
        fix=f"Mend what it waits for there; or give it longer, if it is only slow:  {longer}",
        workaround=None if not facts.num_workers else _UNSEEN if unseen else _ALONE,
        evidence=_where(facts),
        about=facts.name,
    )


def _died(facts: FirstBatches) -> Finding:
    own = next((one for one in reversed(facts.printed) if not one.is_of_thread), None)
    if facts.exit_status == _KILLED:
        own = None  # it said nothing: what was printed is of others, whom it left waiting
    status = "ended" if facts.exit_status is None else ending(facts.exit_status)
    who = "the process that draws" if facts.worker is None else f"its worker {facts.worker + 1}"
    if facts.worker is None and facts.num_workers and facts.exit_status is None:
        who = "a worker of it"
    said = "" if own is None else f", which said: {shown(first_line(own.error))}"
    return loader_stuck.found(
        f"{_after(facts)} no batch, since {who} {status}{said}",
        at=_place(own.frames if own is not None else facts.frames, facts),
        why="The training process is told only that a worker exited unexpectedly, and stops."
        if facts.num_workers
        else "The training ends there.",
        fix="Mend the line that is named."
        if own is not None and own.frames
        else "Load one sample by hand, without workers; where the kernel killed it, take fewer "
        "workers or smaller batches.",
        evidence=_evidence(facts),
        about=facts.name,
    )


def _raised(facts: FirstBatches) -> Finding:
    inner = facts.frames[-1] if facts.frames else None
    where = "" if facts.worker is None else " in a worker"
    line = "the same line" if inner is None else f"`{shown(inner.text)}`"
    number = len(facts.batches)
    return loader_stuck.found(
        f"raises{where} at {'its first batch' if not number else f'batch {number + 1}'}: "
        f"{shown(first_line(facts.error))}",
        at=_place(facts.frames, facts),
        also=tuple(one.place() for one in facts.frames[:-1]),
        why=f"The job runs {line} at step {number}, too, and stops there.",
        fix=_mended(facts.error),
        evidence=_evidence(facts),
        about=facts.name,
    )


def _mended(error: str) -> str:
    """Say what to do about an error: where tarfile was given what zstd has packed, who unpacks."""
    packed = _OF_ZSTD.search(error)
    if packed is None:
        return "Mend this line, or what it is given."
    quoted = shown(shlex.quote(packed[1]))
    return f"Give webdataset the address  pipe:zstd -dc {quoted}  which unpacks it."


def _threads(facts: FirstBatches) -> Iterator[Finding]:
    """Tell threads that have died: nobody is told of that who waits for what they do."""
    seen = set()
    came = len(facts.batches)
    lacking = (facts.length or 0) - came if facts.ended == "over" else 0
    for one in facts.printed:
        key = (one.error, one.frames[-1:])
        if key in seen or not one.frames or not one.is_of_thread:
            continue
        seen.add(key)
        yield loader_stuck.found(
            loses(one),
            at=_place(one.frames, facts),
            severity=Severity.WARNING if came and lacking <= 0 else Severity.ERROR,
            why=means(came, lacking),
            fix=MEND,
            evidence={"loader": facts.name},
            about=f"{facts.name} thread",
        )


# --- words ----------------------------------------------------------------------------------------


def _after(facts: FirstBatches) -> str:
    number = len(facts.batches)
    return f"gives {counted(number, 'batch', 'batches')}, and then" if number else "gives"


def _telling(facts: FirstBatches) -> Standing | None:
    """Give the process whose place tells most: a worker in a line of the user's own."""
    *others, first = tuple(one for one in facts.standing[::-1] if one.lines) or (None,)
    workers = [one for one in others if one is not None][::-1]
    users = [one for one in (*workers, first) if one is not None and one.users]
    return users[0] if users else first


def _written(one: Standing) -> str:
    inner = one.users[-1] if one.users else one.lines[-1]
    return f"{shown(inner.function)} (`{shown(inner.text)}`)" if inner.text else _line(inner)


def _line(one: Frame) -> str:
    return f"{shown(one.file)}:{one.line} in {shown(one.function)}"


def _others(facts: FirstBatches, but: Standing | None) -> tuple[Location, ...]:
    """Give the lines of the user's own at which other processes stand, each once."""
    mine = but.users[-1].place() if but is not None and but.users else None
    places = [one.users[-1].place() for one in facts.standing if one.users]
    return tuple(dict.fromkeys(one for one in places if one != mine))


def _place(frames: tuple[Frame, ...], facts: FirstBatches) -> Location:
    return frames[-1].place(facts.name) if frames else facts.defined.at(facts.name)


def _where(facts: FirstBatches) -> dict[str, str | int | float]:
    """Add where each process stood, or how it had ended."""
    stood = {
        one.process: " < ".join(map(_line, one.lines[:-6:-1]))
        if one.exit_status is None
        else ending(one.exit_status)
        for one in facts.standing
    }
    return {**_evidence(facts), **stood}


def _evidence(facts: FirstBatches) -> dict[str, str | int | float]:
    seconds = {} if facts.seconds_to_first is None else {"seconds": facts.seconds_to_first}
    return {
        "loader": facts.name,
        "batches": len(facts.batches),
        "num_workers": facts.num_workers,
        "start_method": facts.start_method,
        **seconds,
        **in_full(facts.error),
    }
