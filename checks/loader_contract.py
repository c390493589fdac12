"""A loader whose batches are not what the loop over it takes them for.

What it finds
    The first batches of each loader, drawn as the job draws them, are held against the loop that
    takes them apart: what `unpack` of a `[[loader]]` says, or else `for images, labels in loader`,
    `images, labels = batch` and `next(iter(loader))` as they stand in sources, also in functions
    of other files that the loader is handed to. Found are batches
    that cannot be taken apart so, and dicts that can, so that names stand for keys; a loop over
    Lightning's CombinedLoader takes three: a batch of each loader, and two numbers. Found as well:
    batches that are None or False, and batches that differ in their parts, keys, types or
    dimensions, also behind the first ones, as far as the loader is run. How many samples there are,
    and how long texts and sequences are, may differ; but not within a batch, where one part has
    fewer rows than the others, and all have as many in other batches. Also a data set that gives
    another sample each time that it is asked for the same one, in a process that goes on, where no
    random number makes it so: it works on what it keeps; and one that takes two lists of files by
    the same index, of which one lacks a file, so that all behind it have the next one's partner,
    or which have the same names in another order.
    A part that is None, or a key or attribute that lacks, is found where the loop uses it in each
    step (`mask.to(device)`, `batch["mask"]`, `batch.mask`), or a function of its file to which it
    hands it, and nothing there asks what it is, or may have set it. And a step number that stays as
    it is or falls: what a loop takes as `step`, or the batch has under the key `global_step`,
    `step` or `iteration`.

Why it matters
    The job stops at that line, with `cannot unpack non-iterable int object`; or it goes on with the
    names of fields in place of images. What differs from batch to batch stops it later, at the
    first batch of the other kind. By a step number that does not grow, a schedule stands still, and
    a loop that goes on until so many steps are done does not end.

What to do
    Let the loop and the collate function agree: take a dict by its keys, and let each sample give
    the same parts, in the same order. Count steps in the training process, and not in workers, of
    which each would count by itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import FirstBatches, Structure, TakenFor
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.settings.taking import Taking, parse_taking
from preflight.values.names import shown

from ._batch_changes import changes
from ._changing import of_changing
from ._combined import as_combined, is_told_by_another
from ._shifted import of_shifted
from ._short_part import of_short_part
from ._steps import stood
from ._taken_apart import Misfit, described, misfit
from ._used_parts import first_misuse, may_lack, written


def _none(facts: FirstBatches, _: Job) -> str | None:
    return None if facts.batches else "no batch came of it"


@check(
    over=FirstBatches,
    title="batches that are not what the loop takes them for",
    many="loaders give batches that are not what their loops take them for",
    severity=Severity.ERROR,
    skip=_none,
)
def loader_contract(facts: FirstBatches, _job: Job) -> Iterator[Finding]:
    """Hold each batch against the loops over it, and against the first one."""
    wrong = [one for taken in facts.taken_for if (one := _untaken(taken, facts)) is not None]
    wrong = wrong or [one for taken in facts.taken_for if (one := _unused(taken, facts))]
    yield from wrong
    if not wrong:
        nothing = _nothing(facts)
        yield from [nothing] if nothing is not None else _changed(facts)
        if not any(one.asks for one in facts.taken_for):
            yield from of_short_part(loader_contract.found, facts, _numbered(facts))
        yield from _not_counted(facts)
    if facts.shifted is not None:
        yield of_shifted(loader_contract.found, facts, facts.shifted)
    if facts.changing is not None:
        yield of_changing(loader_contract.found, facts, facts.changing)


# --- held against loops ---------------------------------------------------------------------------


def _untaken(taken: TakenFor, facts: FirstBatches) -> Finding | None:
    """Say of one loop which batch it cannot take; None where it takes each of them."""
    taking = parse_taking(taken.takes)
    if taking is None or not taking.takes_apart:
        return None
    if taken.is_combined and is_told_by_another(taking, facts):
        return None
    for number, own in _numbered(facts):
        batch = as_combined(own, facts) if taken.is_combined else own
        found = misfit(taking, batch)
        if found is not None:
            return _of_loop(taken, taking, found, (number, batch), facts)
    return None


def _of_loop(
    taken: TakenFor,
    taking: Taking,
    found: Misfit,
    which_is: tuple[int, Structure],
    facts: FirstBatches,
) -> Finding:
    number, batch = which_is
    which = "each batch" if number == 1 else f"batch {number}"
    loop = f"`{shown(taken.takes)}`"
    of = facts.combined.name if facts.combined and taken.is_combined else facts.name
    what = f"takes {which} of {shown(of)} for {loop}, which is {described(batch)}"
    is_said = taken.by == "settings"
    why = f"Python raises `{found.error}` at step {number - 1}, and training stops there."
    if not found.error:
        why = (
            "A loop over a dict gives its keys, and Python says nothing: "
            f"{found.what}, the texts, in place of what they name."
        )
    return loader_contract.found(
        what,
        at=Location(file=taken.file, line=taken.line, name=None if taken.file else facts.name),
        also=_made_at(facts),
        severity=Severity.ERROR if taken.is_sure else Severity.WARNING,
        why=why,
        fix=_OF_COMBINED if taken.is_combined else _fix(taking, batch, is_said=is_said),
        evidence={
            "loader": facts.name,
            "takes": taken.takes,
            "batch": number,
            "gives": described(batch),
            **({"raises": found.error} if found.error else {}),
        },
        about=f"{facts.name} {taken.takes}",
    )


def _unused(taken: TakenFor, facts: FirstBatches) -> Finding | None:
    """Say of one loop which part of a batch it cannot do with what it does with it."""
    for number, own in _numbered(facts):
        batch = as_combined(own, facts) if taken.is_combined else own
        found = first_misuse(taken.uses, batch)
        if found is None:
            continue
        part = f"of which part {written(found.use.at)}" if found.use.at else "which"
        where = "each batch" if number == 1 else f"batch {number}"
        return loader_contract.found(
            f"does `{shown(found.use.code)}` with {where} of {shown(facts.name)}, {part} is "
            f"{found.what}",
            at=Location(file=taken.file, line=found.use.line),
            also=_made_at(facts),
            severity=Severity.ERROR if taken.is_sure else Severity.WARNING,
            why=f"Python raises `{found.error}` at step {number - 1}, and training stops there.",
            fix=f"Have {_MAKERS} give this part each time, or ask for it in the loop before it is "
            "used.",
            evidence={
                "loader": facts.name,
                "part": written(found.use.at),
                "batch": number,
                "gives": described(batch),
                "raises": found.error,
            },
            about=f"{facts.name} {found.use.code}",
        )
    return None


_OF_COMBINED = (
    "A CombinedLoader gives three: take them by `for batch, batch_idx, dataloader_idx in …`, and "
    "then batch apart as it comes."
)


# A collate function, unless nothing is batched, or the loop goes over a class of the job's own.
_MAKERS = "what makes the batch, its collate function or an __iter__,"


def _fix(taking: Taking, batch: Structure, *, is_said: bool) -> str:
    where = "Say in `unpack` what the loop takes" if is_said else "Take the batch as it comes"
    if batch.kind == "dict" and batch.keys:
        keys = ", ".join(f"batch[{key!r}]" for key in batch.keys[:3])
        return f"{where}, by its keys: {keys}."
    make = f"have {_MAKERS} give {shown(taking.text)}"
    if batch.kind == "none":
        return f"{make[0].upper()}{make[1:]} each time, or leave out what is None."
    return f"{where}; or {make}."


# --- held against each other ----------------------------------------------------------------------


def _nothing(facts: FirstBatches) -> Finding | None:
    """Tell a batch that is None or False, where no loop asks for that."""
    if any(one.asks for one in facts.taken_for):
        return None
    every = _numbered(facts)
    wrong = ("bool",) if _passes_over_none(facts) else ("none", "bool")
    empty = [(number, one) for number, one in every if one.kind in wrong]
    if not empty:
        return None
    at, one = empty[0]
    name = "None" if one.kind == "none" else "a bool"
    which = "each batch" if len(empty) == len(every) else f"batch {at}"
    return loader_contract.found(
        f"gives {name} as {which}",
        at=facts.defined.at(facts.name),
        why="A loop that does not ask for that stops there, or trains on nothing.",
        fix="Return the batch at the end of the collate function or of the iterator, and leave out "
        "what is none.",
        evidence={"loader": facts.name, "batch": at, "batches": len(facts.batches)},
        about=facts.name,
    )


def _passes_over_none(facts: FirstBatches) -> bool:
    """Whether it is Lightning that trains by it, which goes on to the next batch then."""
    return facts.name.endswith(".train_dataloader")


def _changed(facts: FirstBatches) -> Iterator[Finding]:
    """Tell what is different in a later batch, each part once."""
    every = _numbered(facts)
    if _passes_over_none(facts):
        every = [one for one in every if one[1].kind != "none"]
    first, *later = every or _numbered(facts)
    seen = set()
    fits = any(_takes_all(one, facts) for one in facts.taken_for)
    spared = may_lack(facts.taken_for)
    for number, batch in later:
        for one in changes(first[1], batch):
            if one.at in seen or (fits and one.stops) or any(t.asks for t in facts.taken_for):
                continue
            if one.keys and {*one.keys} <= spared:
                continue
            seen.add(one.at)
            part = f", at {shown(one.at)}," if one.at else ""
            yield loader_contract.found(
                f"gives a batch {number} that{part} {one.what}",
                at=facts.defined.at(facts.name),
                severity=Severity.ERROR if one.stops else Severity.WARNING,
                why=f"What takes the first batch does not take this one: step {number - 1} stops, "
                "or trains on something else.",
                fix="Have each sample give the same parts, and have the collate function fill what "
                "one lacks.",
                evidence={
                    "loader": facts.name,
                    "batch": number,
                    "first": described(first[1]),
                    "later": described(batch),
                },
                about=f"{facts.name} {one.at}",
            )


def _not_counted(facts: FirstBatches) -> Iterator[Finding]:
    """Tell a step number that does not grow."""
    found = stood(facts)
    if found is None:
        return
    numbers = ", ".join(map(str, found.numbers))
    name = shown(found.name)
    why = f"A schedule by {name} stands still or starts again, and what waits for a step may wait "
    why += "for ever."
    if found.each_worker:
        why += f" It looks as if each of its {facts.num_workers} workers counts by itself."
    yield loader_contract.found(
        f"gives a step number, {name}, that does not grow from batch to batch: {numbers}",
        at=facts.defined.at(facts.name),
        severity=Severity.WARNING,
        why=why,
        fix=f"Count in the loop: for {name}, {shown(found.target)} in enumerate(loader).",
        evidence={"loader": facts.name, "batch": found.batch, "numbers": numbers},
        about=f"{facts.name} {found.name}",
    )


def _takes_all(taken: TakenFor, facts: FirstBatches) -> bool:
    taking = parse_taking(taken.takes)
    if taking is None or not taking.takes_apart:
        return False
    every = [one for _, one in _numbered(facts)]
    held = [as_combined(one, facts) for one in every] if taken.is_combined else every
    return all(misfit(taking, one) is None for one in held)


def _numbered(facts: FirstBatches) -> list[tuple[int, Structure]]:
    """Give the first batches, and those that came further, of which each has a form of its own."""
    further = [(one.number, one.batch) for one in facts.forms]
    return [*enumerate(facts.batches, 1), *further]


# --- places ---------------------------------------------------------------------------------------


def _made_at(facts: FirstBatches) -> tuple[Location, ...]:
    return (facts.defined.at(facts.name),) if facts.defined.file else ()
