"""A loader or a model that the job's own code does not give.

What it finds
    A module that raises while it is imported, or a factory that raises or calls `sys.exit` when it
    is called as the job calls it. Only lines of the user's own code are told.

Why it matters
    The job runs the same lines at its start, and stops there. Where a line asks for a variable that
    is not set here, such as RANK, what stands behind it could not be looked at.

What to do
    Mend the line that is named last: it is the innermost one of your own code. What torchrun sets,
    preflight sets too, once it knows that the job has several ranks (`--world-size`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

from preflight.check import check
from preflight.facts import Frame, Unbuilt
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import shown

Advice: TypeAlias = tuple[str, str, str | None]
"""Why it matters, what to do, and what runs today."""

_DOING = {
    "import": "while it is imported",
    "call": "when it is called",
    "pick": "in what it gave",
    "look": "when it is looked at",
}

# What preflight sets itself, for a job of several ranks; with what one rank alone would have.
_OF_TORCHRUN = {
    "RANK": "0",
    "LOCAL_RANK": "0",
    "WORLD_SIZE": "1",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "29500",
}

_READS = r"""(?:environ(?:\.get\(|\[)|getenv\()\s*["']([A-Za-z_][A-Za-z0-9_]*)["']"""


@check(
    over=Unbuilt,
    title="loader or model that cannot be made",
    many="loaders or models cannot be made",
    severity=Severity.ERROR,
    always=True,
)
def target_unbuildable(facts: Unbuilt, job: Job) -> Iterator[Finding]:
    """Report what the user's code raised, at its own innermost line."""
    *outer, inner = facts.frames or (None,)
    place = (
        Location(name=facts.name)
        if inner is None
        else Location(file=inner.file, line=inner.line, name=facts.name)
    )
    variable = _unset(facts.error, inner.text) if inner is not None else None
    why, fix, workaround = _of_code(inner) if variable is None else _of_launch(variable, job)
    yield target_unbuildable.found(
        f"raises {_DOING.get(facts.step, facts.step)}: {shown(facts.error)}",
        at=place,
        also=tuple(Location(file=one.file, line=one.line) for one in outer if one is not None),
        why=why,
        fix=fix,
        workaround=workaround,
        about=facts.step,
    )


def _of_code(inner: Frame | None) -> Advice:
    line = "the same line" if inner is None else f"`{shown(inner.text)}`"
    why = f"The job runs {line} at its start too, and stops there."
    fix = (
        "Mend this line, or make it as the job does: arguments go into preflight.toml, under "
        "[[loader]] or [[model]]."
    )
    return why, fix, None


def _of_launch(variable: str, job: Job) -> Advice:
    """Say of a variable that whoever starts the job may well set where it is to come from."""
    alone = _OF_TORCHRUN.get(variable) if job.launch.ranks == 1 else None
    stops = "where it is not set" if alone is None else "unless torchrun starts it"
    why = (
        f"{variable} is not set here: the job stops at this line {stops}, and what stands behind "
        "it was not looked at."
    )
    if alone is None:
        return why, f"Set {variable} here as it is where the job starts.", None
    fix = (
        "Say how many ranks the job has (world_size in preflight.toml, or --world-size N): "
        f"preflight then sets {variable}, as torchrun does."
    )
    return why, fix, f"For one rank, set {variable}={alone} here."


def _unset(error: str, line: str) -> str | None:
    """Name the variable for want of which a line has raised."""
    read = [match[1] for match in re.finditer(_READS, line)]
    if error.startswith("KeyError"):
        return next((one for one in read if f"'{one}'" in error), None)
    return read[0] if error.startswith("TypeError") and "NoneType" in error and read else None
