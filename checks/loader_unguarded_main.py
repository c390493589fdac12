"""A script that starts the training again in each worker, since no main guard stands before it.

What it finds
    Scripts that start work when they are imported, outside `if __name__ == "__main__":`, and that
    make a loader with workers, by themselves or in what they import. It is seen in the source, and
    nothing is run for it. With --import-anyway, a worker is started to see it happen. It is an
    error where workers are spawned or come from a forkserver, and worth a note where they are
    forked, since nothing is imported a second time there.

Why it matters
    A worker that is spawned, or that comes from a forkserver, imports the script that was started,
    to find what it is sent. So workers start on Windows and macOS, and on Linux from Python 3.14
    on, where they are no longer forked. Without a guard that import starts the training again in
    each worker: all of it that stands before the first loop over a loader runs once more, and that
    loop stops with `RuntimeError: An attempt has been made to start a new process before the
    current process has finished its bootstrapping phase`. The job itself often says only that a
    worker exited unexpectedly.

What to do
    Put what starts the work under `if __name__ == "__main__":`, best by moving it into a function
    `main` and calling that there. With `num_workers=0` no worker is started, and the training
    process loads every batch itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Loaded, LoaderCall, SourceFacts, Unguarded
from preflight.finding import Finding, Location, Severity
from preflight.host.start_method import SPAWNING
from preflight.job import Job
from preflight.values.names import shown

from ._objects import WITHOUT_WORKERS

_STOPS = (
    "stops: RuntimeError, An attempt has been made to start a new process before the current "
    "process has finished its bootstrapping phase."
)


@check(
    over=(SourceFacts, Loaded),
    title="script that starts the training again in each worker",
    many="scripts start the training again in each worker",
    severity=Severity.ERROR,
)
def loader_unguarded_main(facts: SourceFacts | Loaded, job: Job) -> Iterator[Finding]:
    """Judge what the source shows, and what a worker was seen to do."""
    if job.launch.num_workers == 0:
        return  # Nobody imports it a second time.
    if isinstance(facts, Loaded):
        yield from _seen_in_worker(facts, job)
        return
    for one in facts.unguarded:
        yield from _seen_in_source(one, facts, job)


# --- in the source --------------------------------------------------------------------------------


def _seen_in_source(one: Unguarded, facts: SourceFacts, job: Job) -> Iterator[Finding]:
    known = [call for call in one.loaders if _has_workers(call, job)]
    possible = [call for call in one.loaders if _has_workers(call, job) is None]
    if not (known or possible):
        return
    ways = [(call, *_start_method(call, one, facts, job)) for call in known or possible]
    call, method, origin = next((way for way in ways if way[1] in SPAWNING), ways[0])
    severity = Severity.ERROR if known and method in SPAWNING else Severity.WARNING
    if method == "fork":
        severity = Severity.NOTE  # such a worker imports nothing
    loader = Location(file=call.file, line=call.line)
    yield loader_unguarded_main.found(
        f"starts work at import, outside a main guard: {shown(one.what)}",
        severity=severity,
        at=Location(file=one.at, line=one.line),
        also=() if (call.file, call.line) == (one.at, one.line) else (loader,),
        why=_why(call, one, method, origin, known=bool(known)),
        fix=shown(one.guard),
        workaround=WITHOUT_WORKERS,
        evidence={
            "script": one.file,
            "start_method": method or "unknown",
            "num_workers": call.num_workers or "unknown",
        },
        about=one.file,
        line_text=one.code,
    )


def _has_workers(call: LoaderCall, job: Job) -> bool | None:
    """Say whether a loader has workers; what the source leaves open the settings may tell."""
    if call.has_workers is None and job.launch.num_workers is not None:
        return True
    return call.has_workers


def _start_method(
    call: LoaderCall, one: Unguarded, facts: SourceFacts, job: Job
) -> tuple[str | None, str]:
    """Say how this loader's workers are started, and what makes it so; None where nobody knows."""
    if call.start_method is not None:
        return call.start_method, f"multiprocessing_context, {call.file}:{call.line}"
    if job.launch.start_method is not None:
        return job.launch.start_method, job.said_in("launch.start_method")
    if one.start_method is not None:
        return one.start_method, f"set_start_method, {one.start_method_from}"
    method = facts.default_start_method
    # The default is that of our machine; which of fork and forkserver, of our Python.
    if job.launch.elsewhere or (job.python is not None and method == "forkserver"):
        return None, ""
    return method, facts.default_start_method_from


def _why(call: LoaderCall, one: Unguarded, method: str | None, origin: str, *, known: bool) -> str:
    place = _place(call, one)
    unsaid = f"How many workers its loader has ({place}) is not in the source; --num-workers N says"
    begin = "" if known else f"{unsaid} it. "
    if method not in SPAWNING:
        return f"{begin}{_harmless(method, origin)} {_elsewhere(one)}"
    workers = f"The workers of its loader ({place})" if known else "Where it has any, they"
    return f"{begin}{workers} {_started(method, origin)}: {_again(one)}"


def _started(method: str | None, origin: str) -> str:
    way = "are spawned" if method == "spawn" else "come from a forkserver"
    return f"{way} ({shown(origin)})"


def _harmless(method: str | None, origin: str) -> str:
    if method is None:
        return "How the job starts its workers is not known here."
    return f"Here workers are forked ({shown(origin)}), which imports nothing again."


def _elsewhere(one: Unguarded) -> str:
    return (
        "Where they are spawned (Windows, macOS) or come from a forkserver (Linux from Python 3.14 "
        f"on), {_again(one)}"
    )


def _again(one: Unguarded) -> str:
    return f"each of them imports {shown(one.file)}, which starts the training again, and {_STOPS}"


def _place(call: LoaderCall, one: Unguarded) -> str:
    """Say where a loader is made, and with how many workers."""
    place = f"line {call.line}" if call.file == one.at else f"{shown(call.file)}:{call.line}"
    return f"{place}, num_workers={shown(call.num_workers)}" if call.num_workers else place


# --- in a worker ----------------------------------------------------------------------------------


def _seen_in_worker(loaded: Loaded, job: Job) -> Iterator[Finding]:
    if loaded.started_work is None or not loaded.num_workers:
        return
    file, _, line = loaded.started_work.rpartition(":")
    is_place = bool(file) and line.isascii() and line.isdigit()
    yield loader_unguarded_main.found(
        "starts the training again in a worker, confirmed by starting one",
        severity=Severity.ERROR if loaded.start_method in SPAWNING else Severity.NOTE,
        at=Location(file=file, line=int(line))
        if is_place
        else Location(file=loaded.defined.file, name=shown(loaded.started_work)),
        why=_why_seen(loaded, job),
        fix='Put what starts the training under `if __name__ == "__main__":`.',
        workaround=WITHOUT_WORKERS,
        evidence={"loader": loaded.name, "start_method": loaded.start_method},
        about=f"confirmed by {loaded.name}",
    )


def _why_seen(loaded: Loaded, job: Job) -> str:
    origin = loaded.start_method_from
    if origin == "launch.start_method":
        origin = job.said_in("launch.start_method")
    again = f"imports the script that was started, which starts the training again, and {_STOPS}"
    if loaded.start_method not in SPAWNING:
        harmless = _harmless(loaded.start_method, origin)
        return f"{harmless} One that is spawned or comes from a forkserver {again}"
    way = _started(loaded.start_method, origin)
    return f"The workers of {shown(loaded.name)} {way}: each of them {again}"
