"""An object that a DataLoader would send to its workers, and that cannot be sent.

What it finds
    Everything in a loader's dataset, collate function and worker function that pickle refuses:
    lambdas, functions and classes that are defined inside a function, open files, locks,
    generators, modules. Each is named by its path in the loader and by the line that makes it, all
    of them in one look. A lock of multiprocessing that was made here, where processes are forked,
    is left alone where the settings say that the job's are spawned: there the same line makes one
    that can be sent.

Why it matters
    A worker that is spawned is sent its part of the loader by pickle. That is how workers start on
    Windows and macOS, and on Linux from Python 3.14 on, where they are no longer forked. The first
    loop over the loader then stops, often minutes into a job, after its models were loaded. Python
    names the first object only, and not where it is; each fix uncovers the next one.

What to do
    Define functions and classes at the top level of a module, and give them what they need by
    `functools.partial` or as attributes of a class with `__call__`. Open files and make locks in
    the worker, when they are first used. With `num_workers=0` nothing is sent, and the training
    process loads every batch itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Sent, Unsendable
from preflight.finding import Finding, Severity
from preflight.host.start_method import SPAWNING
from preflight.job import Job
from preflight.values.names import counted, shown

from ._objects import WITHOUT_WORKERS, cut_evidence, cut_short, started

_REASONS = {
    "lambda": "Pickle sends functions by name, and a lambda has none.",
    "local-function": "Pickle sends functions by name, from the top level of a module only.",
    "decorated": "Pickle sends functions by name, and its decorator gives it none.",
    "local-class": "Pickle sends classes by name, from the top level of a module only.",
    "rebound": "Pickle sends it by its name, and would send the other thing.",
    "unnamed": "Pickle sends it by its name, and there is nothing of that name.",
    "module": "A module is not sent.",
    "generator": "What is running here cannot go on in another process.",
    "lock": "A lock holds in its own process only.",
    "forked-lock": "It was made for processes that are forked, and a worker is spawned.",
    "file": "An open file belongs to its own process.",
    "handle": "What it has opened belongs to its own process.",
    "tensor": "The graph behind it belongs to its own process.",
}

_FIXES = {
    "local-function": "Define it at the top level of its module.",
    "decorated": "Put functools.wraps on it in its decorator: it then has the name of what that "
    "decorates.",
    "local-class": "Define it at the top level of its module.",
    "rebound": "Let the name mean this object again: use functools.wraps in the decorator, or give "
    "the original another name.",
    "unnamed": "Define it at the top level of its module, and keep it there under its own name.",
    "module": "Import it in the method that uses it, and do not keep it as an attribute.",
    "generator": "Keep the function that makes it, and call that in the worker.",
    "lock": "Make it when it is first used, and leave it out in __getstate__.",
    "forked-lock": "Make it by the context that starts the workers: "
    'multiprocessing.get_context("spawn").',
    "file": "Keep the path; open the file in the worker when it is first read, and leave it out in "
    "__getstate__.",
    "handle": "Keep the path; open it in the worker when it is first used, and leave it out in "
    "__getstate__.",
    "tensor": "Keep tensor.detach() instead.",
}


_ONLY_CALLS = "this function only calls it with what it is given"


@check(
    over=Sent,
    title="object that cannot be sent to a worker",
    many="objects cannot be sent to a worker",
    severity=Severity.ERROR,
)
def loader_unpicklable(sent: Sent, job: Job) -> Iterator[Finding]:
    """Tell each object once, with all its paths."""
    if not sent.num_workers:
        return  # Nothing is sent, whatever it is.
    spawned = sent.start_method in SPAWNING
    then = _why(sent, job) if spawned else _why_elsewhere(sent)
    for number, one in enumerate(sent.objects, 1):
        cut = sent.cut if number == len(sent.objects) else ()
        at, *also = (one.defined.at(shown(path)) for path in one.paths)
        yield loader_unpicklable.found(
            _message(one) + cut_short(cut),
            severity=Severity.ERROR if spawned else Severity.WARNING,
            at=at,
            also=tuple(also),
            why=f"{_reason(one)} {then}",
            fix=_fix(one),
            workaround=WITHOUT_WORKERS,
            evidence={
                "kind": one.kind,
                "type": one.type,
                "error": one.error,
                "paths": len(one.paths),
                **({"objects": one.count} if one.count > 1 else {}),
                "loader": sent.name,
                **cut_evidence(cut),
            },
            about=sent.name,
            line_text=one.defined.line_text,
        )


def _message(one: Unsendable) -> str:
    """Say what it is, and what it holds."""
    held = ", ".join(f"`{shown(name)}`" for name in one.captures)
    holding = f", which holds {held}" if held else ""
    many = f", one of {one.count:,} that are kept alike" if one.count > 1 else ""
    return f"cannot be sent to a worker: {one.text}{many}{holding}"


def _reason(one: Unsendable) -> str:
    """Say in a sentence of its own why it cannot travel: many are often kept for one reason."""
    return _REASONS.get(one.kind, f"Pickle says {shown(one.error).removesuffix('.')}.")


def _why(sent: Sent, job: Job) -> str:
    begun = started(sent.start_method, sent.start_method_from, job)
    many = sum(one.count for one in sent.objects)
    text = f"{begun}: the first loop over {shown(sent.name)} stops here, before its "
    text += f"{counted(sent.num_workers, 'worker')} can start."
    if many > 1:
        text += f" Python names only the first of the {many} objects; each fix uncovers the next."
    return text


def _why_elsewhere(sent: Sent) -> str:
    return (
        f"Here workers are forked ({sent.start_method_from}), which sends nothing. Where they are "
        "spawned (Windows, macOS, Linux from Python 3.14 on), the first loop over "
        f"{shown(sent.name)} stops."
    )


def _fix(one: Unsendable) -> str:
    """Say the one thing to do, and what it would uncover."""
    if one.kind not in ("lambda", "local-function"):
        return _FIXES.get(
            one.kind, "Leave it out of what is sent: drop it in __getstate__, and make it anew."
        )
    if one.passes_on is not None and one.inside:
        held = shown(one.inside[0])
        return f"Define {held}, at the top level of its module, and give it itself: {_ONLY_CALLS}."
    if one.passes_on is not None:
        return f"Give it {shown(one.passes_on)} itself: {_ONLY_CALLS}."
    unsent = {re.split(r"\W", text, maxsplit=1)[0] for text in one.inside}
    sent = [shown(name) for name in one.captures if name not in unsent]
    fix = "Make it a function with a name (def) at the top level of its module"
    if sent:
        fix += (
            f" that takes {', '.join(sent)} as {'an argument' if len(sent) == 1 else 'arguments'}"
        )
        fix += f", and give it {'that' if len(sent) == 1 else 'those'} with functools.partial"
    if not one.inside:
        return f"{fix}."
    held = "; ".join(map(shown, one.inside[:3]))
    more = f"; and {len(one.inside) - 3:,} more" if len(one.inside) > 3 else ""
    return f"{fix}. What it holds cannot be sent either; define or make it there: {held}{more}."
