"""A loader or a model that the job's own code does not give.

What it finds
    A module that raises while it is imported, or a factory that raises or calls `sys.exit` when it
    is called as the job calls it. Only lines of the user's own code are told. What is raised for
    want of something that is not here (a GPU, NCCL, a launcher, a package) is no finding of this
    check: it could not be looked at, or `gpu-unusable` tells it. A file beside the script, or in a
    folder of PYTHONPATH, that Python takes for a module of its own or of a package (`numbers.py`),
    so that torch cannot be imported.

    Where the job has several ranks, the loader is made for others than rank 0, too (see
    world-steps): what raises on those alone, while it is made or gone through, is found as well,
    unless they have asked or waited for other ranks before. Of a place behind the end of the data
    set, which the sampler of such a rank gives, that sample is drawn.

Why it matters
    The job runs the same lines at its start, and stops there. Where a line asks for a variable that
    is not set here, what stands behind it could not be looked at.

What to do
    Mend the line that is named last: it is the innermost one of your own code. Where an import
    finds nothing, write the module, correct its name, or add its folder to PYTHONPATH.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from preflight.check import check
from preflight.facts import Frame, Unbuilt
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.users_code.facts import CopyStop
from preflight.values.names import first_of, shown

from ._copies import FIXES
from ._missing_imports import fix_of_import

_DOING = {
    "import": "while it is imported",
    "call": "when it is called",
    "pick": "in what it gave",
    "look": "when it is looked at",
    "epoch": "when it is gone through",
}


def _lacks_gpu(facts: Unbuilt, _job: Job) -> str | None:
    lacks_gpu = facts.lacks is not None and facts.lacks.kind == "gpu"
    return "it needs a GPU, and finds none that it can use" if lacks_gpu else None


@check(
    over=Unbuilt,
    title="loader or model that cannot be made",
    many="loaders or models cannot be made",
    severity=Severity.ERROR,
    always=True,
    skip=_lacks_gpu,
)
def target_unbuildable(facts: Unbuilt, job: Job) -> Iterator[Finding]:
    """Report what the user's code raised, at its own innermost line."""
    if _lacks_gpu(facts, job) is not None:
        return
    *outer, inner = facts.frames or (None,)
    place = Location(name=facts.name) if inner is None else inner.place(facts.name)
    lacks = facts.lacks
    if lacks is None or lacks.kind == "file":
        why, fix = _of_code(inner, facts.ranks)
    else:
        why, fix = _of_variable(lacks.name)
    if facts.unfound is not None:
        fix = fix_of_import(facts.unfound)
    if facts.copy_stop is not None:
        fix = _of_copy(facts.copy_stop)
    if facts.shadows:
        yield _in_place_of(facts, place)
        return
    on = f" on {_ranks(facts.ranks)} of {job.launch.ranks:,}" if facts.ranks else ""
    yield target_unbuildable.found(
        f"raises {_DOING.get(facts.step, facts.step)}{on}: {shown(facts.error)}",
        at=place,
        also=tuple(one.place() for one in outer if one is not None),
        why=why,
        fix=fix,
        about=f"{facts.step} by rank" if facts.ranks else facts.step,
    )


def _ranks(ranks: Sequence[int]) -> str:
    return f"rank{'s' * (len(ranks) > 1)} {first_of([*map(str, ranks)], len(ranks), most=8)}"


def _in_place_of(facts: Unbuilt, place: Location) -> Finding:
    file = place.file or "a file of the job"
    return target_unbuildable.found(
        f"cannot import torch, which takes {file} for another module: {shown(facts.error)}",
        at=place,
        why="A script that is started in this folder stops at `import torch`, since its own folder "
        "and what PYTHONPATH names come first.",
        fix=f"Give {file} another name, or leave its folder out of PYTHONPATH.",
        about=facts.step,
    )


def _of_code(inner: Frame | None, ranks: Sequence[int]) -> tuple[str, str]:
    line = "the same line" if inner is None else f"`{shown(inner.text)}`"
    why = f"The job runs {line} at its start too, and stops there."
    if ranks:
        why = f"Rank {ranks[0]} of the job runs {line}, too, and stops there, while the others "
        why += "wait for it in their next all-reduce until it times out."
    fix = (
        "Mend this line, or make it as the job does: arguments go into preflight.toml, under "
        "[[loader]] or [[model]]."
    )
    return why, fix


def _of_copy(stop: CopyStop) -> str:
    """Say what stops a copy that the factory makes by itself, and where more is told of it."""
    what, path = shown(stop.type), shown(stop.path)
    where = f"{path} of the {what}" if path else f"the {what}"
    known = FIXES.get(stop.kind, "Take it off before this line, and give it to both behind it")
    if stop.kind == "wrapper":
        known = "Give this line the module in it, its .module"
    return (
        f"copy.deepcopy stops at {where}. {known}. Of a function that gives the {what} itself, "
        "model-uncopyable says what else works."
    )


def _of_variable(variable: str) -> tuple[str, str]:
    """Say of a variable that whoever starts the job may well set where it is to come from."""
    why = (
        f"{variable} is not set here: the job stops at this line where it is not set, and what "
        "stands behind it was not looked at."
    )
    return why, f"Set {variable} here as it is where the job starts."
