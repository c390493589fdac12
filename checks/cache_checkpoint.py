"""The checkpoint from which the job would go on is not whole.

What it finds
    In a folder of checkpoints (`checkpoint=out`, `checkpoints = true` in `[[cache]]`, or a folder
    that was found or named and holds some called `checkpoint-500` or `checkpoint_3`, or `epoch_3`
    with the state of an optimizer), where each folder or file is one state of a run, and a folder
    that is called as the others whatever lies in it (a temporary file, a log, nothing): a newest
    checkpoint with a damaged file (with --deep, also one that holds NaN or infinity), with a
    `.json` or a `.pkl` that was cut, or without a file that all others have (where there are two:
    one that is written after the model), or that its own index (`model.safetensors.index.json`)
    names. That only states of random numbers are missing, or `training_args.bin`, is a warning,
    since accelerate and transformers go on without them. Of one that is alone, too, a scheduler
    without its optimizer, an optimizer of transformers without its scheduler or, beside
    `training_args.bin`, without `trainer_state.json`, either without a model, and, in
    `checkpoints/checkpoint_3`, a model without states of random numbers, which accelerate writes
    last: a warning, or an error where its optimizer is missing, too. Of
    torch.distributed.checkpoint, one with parts (`.distcp`) and without `.metadata`, which is
    written last and names all that is in them. Files of several ranks and of one step are one
    checkpoint. The newest is that of the highest number, as trainers take it; where not all are
    numbered alike, the one last written. Where `latest`, `last_checkpoint` or
    `latest_checkpointed_iteration.txt` names one, newer ones that are not whole come after that;
    that it names what is not there is told. Of a folder of several runs
    (`runs/exp1/checkpoint-500`) each has a newest one. What lies beside several that are numbered
    alike (`best`, `final`) is none of them, but for the `last` or `latest`; what has a name for the
    time being (`tmp-checkpoint-500`) is passed over. The newest one that is whole is named, and
    what is wrong with the others. Of a folder whose newest checkpoint is whole, only that is a note
    if others are not; so is one of transformers that was saved with `save_only_model`, from which a
    resume begins the optimizer anew. A folder with an index of its own is one model: here only
    files and tensors that the index names and that are not there are told, and a `.json` that was
    cut.

Why it matters
    A trainer that resumes takes the newest. It stops there, after the models were loaded, or begins
    anew without a word; and a scheduler that restarts it does so again and again.

What to do
    Resume from the checkpoint that is named, and move the damaged ones aside.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Sequence

from preflight.check import check
from preflight.facts import Checkpoint, CheckpointFacts
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import counted, first_of, shown

from ._for_the_record import RECORD

# Of accelerate, whatever raises as they are loaded; of transformers, only where there are none.
_RANDOM = re.compile(r"(?:^|/)random_states_\d+\.pkl$")
_OF_MODEL = re.compile(r"(?:generation_)?config\.json")
_RANDOM_OR_NONE = re.compile(r"(?:^|/)(?:random_states_\d+\.pkl|rng_state(?:_\d+)?\.pth)$")


@check(
    over=CheckpointFacts,
    title="newest checkpoint that is not whole",
    many="newest checkpoints or models are not whole",
    severity=Severity.ERROR,
)
def cache_checkpoint(facts: CheckpointFacts, _job: Job) -> Iterator[Finding]:
    """Name the newest whole checkpoint, where another one is not whole."""
    whole = next((one for one in facts.checkpoints if one.is_whole), None)
    if facts.astray:
        yield _lost(facts, whole)
    for newest in facts.checkpoints[:1]:
        if newest.is_whole and newest.is_weights_only:
            yield _of_weights_only(facts, newest)
    broken = [one for one in facts.checkpoints if not one.is_whole]
    if not broken:
        return
    newest = facts.checkpoints[0]
    is_newest = not newest.is_whole
    alone = len(facts.checkpoints) == 1
    said = "; ".join(f"{shown(one.name)} {_wrong(one)}" for one in broken[:3])
    more = f"; and {len(broken) - 3:,} more are not whole" if len(broken) > 3 else ""
    if whole:
        more += f"; {_newest_whole(whole)}"
    elif not alone:
        more += "; none of them is whole"
    yield cache_checkpoint.found(
        f"{said}{more}",
        at=Location(file=facts.file),
        also=tuple(Location(file=_below(facts, one.name)) for one in broken[1:6]),
        severity=_severity(newest),
        why=_why(newest, is_newest=is_newest, alone=alone),
        fix=_fix(whole, broken, alone=alone),
        evidence={"checkpoints": len(facts.checkpoints), "broken": len(broken)},
    )


def _severity(newest: Checkpoint) -> Severity:
    if newest.is_whole:
        return Severity.NOTE
    return Severity.WARNING if _goes_on(newest) else Severity.ERROR


def _goes_on(one: Checkpoint) -> bool:
    """Whether only states of random numbers are missing, which trainers pass over where they are.

    Of accelerate's, also what is damaged in them; what is only for the record; and what a model
    is made by, which a script has made by then.
    """
    if one.absent or one.without or one.unfinished or one.astray or one.is_begun:
        return False
    torn = all(_RANDOM.search(file) or RECORD.search(file) for file in one.torn)
    lacking = (*one.lacks, *one.parted)
    lacks = all(
        _RANDOM_OR_NONE.search(file) or RECORD.search(file) or _OF_MODEL.fullmatch(file)
        for file in lacking
    )
    return len(one.torn) == one.damaged and torn and lacks


def _below(facts: CheckpointFacts, name: str) -> str:
    return name if facts.file == "." else f"{facts.file}/{name}"


def _lost(facts: CheckpointFacts, whole: Checkpoint | None) -> Finding:
    """Say of `latest` that it leads a job to nothing."""
    then = f"; {_newest_whole(whole)}" if whole else ""
    to = f"write {shown(whole.name)} there" if whole else "begin anew"
    return cache_checkpoint.found(
        f"{shown(facts.astray)}{then}",
        at=Location(file=_below(facts, facts.pointer)),
        why="A job that goes on from what it names stops there, or begins anew.",
        fix=f"Bring back what it names, or {to}.",
        about="pointer",
    )


def _of_weights_only(facts: CheckpointFacts, newest: Checkpoint) -> Finding:
    return cache_checkpoint.found(
        f"{shown(newest.name)} holds a model, how far training was, and no state of an optimizer",
        at=Location(file=facts.file),
        severity=Severity.NOTE,
        why="A Trainer that resumes from it goes on at its step with a new optimizer, and with the "
        "learning rate that training began with.",
        fix="Nothing, where no job goes on from it; else save without save_only_model.",
        about="weights only",
    )


def _newest_whole(whole: Checkpoint) -> str:
    written = datetime.datetime.fromtimestamp(whole.written, tz=datetime.timezone.utc)
    return f"the newest whole one is {shown(whole.name)}, of {written:%Y-%m-%d %H:%M} UTC"


def _why(newest: Checkpoint, *, is_newest: bool, alone: bool) -> str:
    if not is_newest:
        return (
            "The newest checkpoint is whole; a job that is told to take one of these stops there, "
            "or goes on with what is wrong in it."
        )
    if alone:
        return "A job that loads it stops there, or goes on without what is missing."
    if _goes_on(newest) and all(map(RECORD.search, (*newest.torn, *newest.lacks, *newest.parted))):
        return (
            "transformers goes on from it: it wrote these arguments for the record, and reads "
            "them nowhere."
        )
    if _goes_on(newest) and any(map(_OF_MODEL.fullmatch, newest.lacks)):
        return (
            "The Trainer of transformers goes on from it with the model that the script has made; "
            "from_pretrained stops there."
        )
    if _goes_on(newest):
        return (
            "A job that goes on from the newest checkpoint does so without a word, and with other "
            "random numbers than it would have had: other orders of samples, other noise."
        )
    if newest.is_quiet and not _is_short(newest):
        return (
            "A job that goes on from the newest checkpoint loads it without a word, and trains on "
            "with wrong numbers."
        )
    return "A job that goes on from the newest checkpoint stops there, or begins anew."


def _is_short(one: Checkpoint) -> bool:
    """Whether something is not there at all."""
    lost = (one.unfinished, one.absent, one.without, one.lacks, one.parted)
    return any(lost) or bool(one.astray) or one.is_begun


def _fix(whole: Checkpoint | None, broken: Sequence[Checkpoint], *, alone: bool) -> str:
    if whole is not None:
        names = [one.name for one in broken]
        return f"Go on from {shown(whole.name)}, and move {first_of(names, len(names))} aside."
    if alone and broken[0].is_begun:
        return "Move it aside, and begin anew."
    if alone and broken[0].unfinished:
        return "Go on from another one; or, where this is a copy, copy or download it again."
    if alone:
        return "Copy or download again what is named; where its save was stopped, begin anew."
    return "Take a copy from elsewhere, or begin anew."


def _wrong(one: Checkpoint) -> str:
    """Say what is wrong with a checkpoint, as a predicate; empty where it is whole."""
    said = []
    if one.is_begun:
        said.append("holds nothing that can be loaded: its save was stopped before its first file")
    if one.unfinished:
        last = first_of(one.unfinished, len(one.unfinished))
        said.append(f"lacks {last}, which is written last: its save did not come to its end")
    if one.damaged:
        of = counted(one.files, "file")
        others = [name.rpartition("/")[2] for name in one.torn[1:]]
        more = f"; also {first_of(others, one.damaged - 1)}" if others else ""
        said.append(f"has {one.damaged:,} damaged of {of}: {shown(one.first_damaged)}{more}")
    if one.absent:
        said.append(f"lacks {first_of(one.absent, len(one.absent))}, which its index names")
    if one.without:
        tensors = counted(len(one.without), "tensor")
        said.append(
            f"lacks {tensors} that its index names: {first_of(one.without[:1], len(one.without))}"
        )
    if one.astray:
        said.append(f"lacks {shown(one.astray)}, which `latest` in it names")
    if one.parted:
        lacks = first_of(one.parted, len(one.parted))
        said.append(f"lacks {lacks}, with which the other files in it are loaded")
    if one.lacks:
        said.append(f"lacks {first_of(one.lacks, len(one.lacks))}, which the others have")
    return ", and ".join(said)
