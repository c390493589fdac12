"""What the checks of scripts share: the line at which one ends, and how it is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from preflight.check import Check, Job
from preflight.facts import Frame, Raised, Rehearsal
from preflight.finding import Finding, Location, Severity
from preflight.values.code_name import module_command
from preflight.values.names import counted, shown

from ._missing_imports import fix_of_import
from ._no_place import to_write_at

_NO_PACKAGE = "ImportError: attempted relative import with no known parent package"


def in_evaluation(raised: Raised) -> bool:
    """Whether the script was evaluating when it raised; what a thread was at is chance."""
    return raised.while_at == "evaluation" and not raised.thread


def every(facts: Rehearsal) -> Iterator[Raised]:
    """Give what was raised and not caught: by the script, then by its threads.

    A thread that is started for each checkpoint raises the same again: the first of them is given.
    """
    known = set()
    for one in (facts.ended.raised, *facts.threads):
        lacks = None if one is None else one.lacks
        if one is not None and not one.told_by and (lacks is None or lacks.kind == "variable"):
            what = one.error.partition(":")[0], one.frames, bool(one.thread)
            if what not in known:
                yield one
            known.add(what)


def told(check: Check, raised: Raised, facts: Rehearsal, job: Job, why: str) -> Finding:
    """Tell of an exception at the script's own innermost line."""
    fix = f"Mend this line; if it only needs more than {_given(facts, job)}"
    if not facts.batches or facts.is_certain:
        fix = "Mend this line."
        if raised.error.startswith("FileNotFoundError"):
            fix = "Put the file where this line looks for it, or name another there."
    inner = raised.frames[-1] if raised.frames else None
    fix = (to_write_at(inner.text, raised.error, job.root) if inner is not None else None) or fix
    if raised.unfound is not None:
        fix = fix_of_import(raised.unfound)
    if "/" in facts.file and raised.error.startswith(_NO_PACKAGE):
        fix = f"Start it as a module of its package:  {module_command(facts.file)}"
    if raised.is_of_image:
        fix = (
            "Take out the image that is damaged: each is told where its loader lists its files, or "
            "where the folder that holds them is named, as data=…"
        )
    thread = f"thread {shown(raised.thread)} " if raised.thread else ""
    if raised.behind:
        why = f"A loop was left early for this, so that it is a guess: {shown(facts.file)} may come"
        why += " here otherwise at the end of its training."
        fix = (
            "See whether it holds at the end of a whole training; mend this line where it does not."
        )
    is_guess = raised.behind or raised.not_passed is not None
    if raised.not_passed is not None:
        test = raised.not_passed
        why = f"A guess: a training in short may not come behind `{shown(test.text)}` "
        why += f"({shown(test.file)}:{test.line}), which the job may pass."
        fix = "Have this line expect that no score was good enough, as after a short training."
    # An assertion mostly says nothing but what stands there.
    line = f" at `{shown(inner.text)}`" if inner is not None and ":" not in raised.error else ""
    return check.found(
        f"{thread}raises {shown(raised.error)}{line}",
        at=place(raised.frames, facts),
        also=tuple(one.place() for one in raised.frames[:-1]),
        why=why,
        fix=fix,
        severity=Severity.WARNING if is_guess else None,
        about=raised.thread or raised.error.partition(":")[0],
        line_text="" if inner is None else inner.text,
    )


def left_out(facts: Rehearsal) -> str:
    """Say that what was left out may be the cause, where something was."""
    if not facts.shortened:
        return ""
    if facts.more is None:
        return ", unless it only lacks what was left out"
    if facts.is_certain:
        return ", as it did when nothing was left out"
    return f", unless it needs more than {facts.more.given}"


def _given(facts: Rehearsal, job: Job) -> str:
    """Say how much the script was given, and the command that gives it more."""
    look = job.look
    batches, epochs = look.batches, look.epochs
    if facts.more is not None:
        batches, epochs = facts.more.batches, facts.more.epochs
    given = counted(batches, "batch", "batches")
    options = f"--batches {batches * 10}"
    if any(one.startswith("epochs after the first") for one in facts.shortened):
        given += f" and {counted(epochs, 'epoch')}"
        options += f" --epochs {epochs * 10}"
    device = f"--device {look.device} " if look.device else ""
    return f"{given}:  preflight run {options} {device}{facts.name}"


def place(frames: Sequence[Frame], facts: Rehearsal) -> Location:
    """Give the innermost of the script's own lines, or the script."""
    return frames[-1].place() if frames else Location(file=facts.file)
