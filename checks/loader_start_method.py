"""A loader that works with some ways of starting workers, and not with others.

What it finds
    Where a loader works: whether its workers start where they are forked (Linux before Python
    3.14), spawned (Windows, macOS) and started by a forkserver (Linux from Python 3.14 on). It says
    so in one line for a loader that does not work everywhere.

Why it matters
    The same script runs on the machine that it was written on, and stops on a laptop, on a
    colleague's Windows, or after an update of Python, since there workers are sent what they need.

What to do
    Mend what `loader-unpicklable` and `loader-unloadable` name. Until then, choose a way that works
    with `multiprocessing_context=` of the DataLoader.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Loaded
from preflight.finding import Finding, Severity
from preflight.job import Job
from preflight.values.names import counted, shown

_FAILS = frozenset({"refused", "died", "late", "unsent"})

# Where Python starts workers in this way unless it is told otherwise.
_HOMES = {
    "fork": "Linux before Python 3.14",
    "spawn": "Windows, macOS",
    "forkserver": "Linux from Python 3.14 on",
}


@check(
    over=Loaded,
    title="loader that does not work with every start method",
    many="loaders do not work with every start method",
    severity=Severity.NOTE,
)
def loader_start_method(loaded: Loaded, job: Job) -> Iterator[Finding]:
    """Say in one line where this loader works, if that is not everywhere."""
    outcomes = {trip.method: trip.outcome for trip in loaded.trips}
    fails = [method for method in _HOMES if outcomes.get(method) in _FAILS]
    if not fails or not loaded.num_workers:
        return
    works = ["fork", *(method for method in _HOMES if outcomes.get(method) == "loaded")]
    untried = [method for method in _HOMES if method not in (*works, *fails)]
    tail = f"; not tried here: {_listed(untried)}" if untried else ""
    here = loaded.start_method
    yield loader_start_method.found(
        f"works with {_listed(works)}, and not with {_listed(fails)}{tail}",
        at=loaded.defined.at(shown(loaded.name)),
        why=f"The workers of this job are started by {here} "
        f"({job.said_in(loaded.start_method_from)}), with which it "
        f"{'works' if here in works else 'does not work' if here in fails else 'was not tried'}."
        + _many(loaded),
        fix="Mend what loader-unpicklable and loader-unloadable name.",
        workaround=None
        if here in works
        else 'Where Python can fork: DataLoader(…, multiprocessing_context="fork").',
        evidence={
            "fork": "works",
            **{trip.method: trip.outcome for trip in loaded.trips},
            "used": here,
            "loader": loaded.name,
        },
        about=loaded.name,
        line_text=loaded.defined.line_text,
    )


def _listed(methods: list[str]) -> str:
    return "; ".join(f"{method} ({_HOMES[method]})" for method in methods)


def _many(loaded: Loaded) -> str:
    parts = []
    if loaded.unsendable:
        parts.append(f"{counted(loaded.unsendable, 'object')} cannot be sent")
    if loaded.objects:
        parts.append(f"{counted(len(loaded.objects), 'object')} cannot be loaded")
    return f" In the way: {' and '.join(parts)}." if parts else ""
