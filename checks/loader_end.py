"""A loader whose epochs do not end as the job counts on it.

What it finds
    A DataLoader of which an epoch has no batch: its data set is empty, its sampler draws nothing
    for this rank, `drop_last=True` leaves out the only batch because it is not full, or a stream
    ends without one. Then, loaders are run past their end and into a second epoch, where that takes
    no longer than a quarter of `--budget`, in a process of their own; where no budget is given, 15
    s, and 3 s for a stream without a length. Found are a second epoch that gives nothing, or
    raises; an exception, a hang, or a worker or a thread that dies, behind the first batches; a
    `len()` that is not the number of batches that come; epochs of different sizes; samples of a
    stream that come once from each worker, or from two of them, or from none (or once from each
    shard of `datasets`), held against an epoch of it without workers, or, where it does not end in
    time, against each other; full batches that come from a DataLoader to a class which stands
    around it, or to a `__iter__` of its own, and that the loop does not get (one in flight at the
    end, a first one that is looked at), or that do not come since it raises, which nobody hears;
    samples that are left out of batches (of 512 from all over an epoch, also those without which a
    collate function of the job's own makes the same batch, or in whose place another one may
    stand), or that are still in a stream's own shuffle buffer when it ends; epochs that
    `with_epoch` ends behind the same samples each time, of a pipeline of webdataset that has more;
    images of one suffix (`.png`, `.JPG`) in archives that a data set reads by `tarfile` or
    `zipfile`, of which it reads all others; and samples that a sampler of the job's own never
    takes, in two epochs, while it takes others again, or in six, where these fill no batch of the
    group that they are in, or where its source fills batches by hand (a budget of tokens, pools by
    length) and chooses among no samples; less than a hundredth of all is a note, and less than a
    twentieth nothing where the sampler has `drop_last` set. A sampler without end is run for as
    many samples as the loader takes in an epoch, where it ends, or for 16 times as many as there
    are. In the rehearsal of a script that came to its end, found is a loop over one iterator,
    within a loop over epochs, that has trained in the first epoch alone; and in the sources of a
    loader that is named and was run past its end, a loop over a generator, or over one
    `iter(loader)`, that is made before a loop of two rounds or more goes over it to its end.

Why it matters
    A loop over an empty loader ends at once, without an error: the average of its losses is a
    division by zero, and a loop that goes on until so many steps are done never ends. A second
    epoch without batches is over at once, and the job goes on as if it had trained. Schedules of
    learning rates, progress and the end of training are computed from `len()`. A stream that does
    not ask which worker it runs in gives each sample as often as there are workers.

What to do
    Look whether the data set found its files; take a smaller batch, fewer ranks, or
    `drop_last=False`. Open files and make generators in `__iter__`, and not in `__init__`. Divide a
    stream among its workers by `torch.utils.data.get_worker_info()`. Have `__len__` count what
    really comes.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import Foreign, check
from preflight.facts import AgainIn, EpochLength, FirstBatches, Sent, WholePass
from preflight.finding import Finding, Severity
from preflight.job import Job
from preflight.values.names import counted, shown

from ._dead_thread import dead_thread, lost_in_pass
from ._end_among import among_workers
from ._end_broken import broken
from ._end_left_out import left_out
from ._first_line import in_full

# Part of an epoch by which another one may differ: groups by length do not come out even.
_UNEVEN = 0.05

_BATCH = ("batch", "batches")


def _no_length(facts: Sent | FirstBatches | WholePass, _job: Job) -> str | None:
    if isinstance(facts, Sent) and facts.epoch is None:
        return Foreign("its epoch has no length that is known before")
    return None


@check(
    over=(Sent, FirstBatches, WholePass),
    title="loader whose epochs do not end as they should",
    many="loaders do not end their epochs as they should",
    severity=Severity.ERROR,
    skip=_no_length,
)
def loader_end(facts: Sent | FirstBatches | WholePass, _job: Job) -> Iterator[Finding]:
    """Hold epochs against each other, and against what the loader says of itself."""
    if isinstance(facts, WholePass):
        yield from _epochs(facts)
        if facts.again is not None:
            yield _again(facts, facts.again)
    elif isinstance(facts, FirstBatches):
        if facts.ended == "over" and not facts.batches and not facts.told_by:
            yield _empty(
                facts, "ends without a batch", "Look whether its data set found its files."
            )
    elif facts.epoch is not None and not facts.epoch.batches:
        few = "Take a smaller batch, fewer ranks, or drop_last=False."
        fix = few if facts.epoch.samples else "Look whether its data set found its files."
        yield _empty(facts, f"has 0 batches in an epoch: {_cause(facts.epoch)}", fix)


def _empty(facts: Sent | FirstBatches, message: str, fix: str) -> Finding:
    return loader_end.found(
        message,
        at=facts.defined.at(facts.name),
        why="The loop over it ends at once, without an error, and nothing is trained.",
        fix=fix,
        about="empty",
        line_text=facts.defined.line_text,
    )


def _cause(epoch: EpochLength) -> str:
    have = counted(epoch.samples, "sample")
    if epoch.drawn != epoch.samples:
        have += f", of which its sampler draws {epoch.drawn:,}"
    if not epoch.drawn:
        return have
    return f"{have}, batch_size={epoch.batch_size}, drop_last={epoch.drop_last}"


def _epochs(facts: WholePass) -> Iterator[Finding]:
    last, dead = facts.epochs[-1], dead_thread(facts.printed)
    swallowed = facts.lost is not None and facts.lost.error  # tells what a worker said
    if last.ended in ("raised", "died", "stuck"):
        if not facts.told_by:
            yield broken(loader_end.found, facts, dead, _evidence(facts))
        return
    if dead is not None and (facts.lacking or not facts.printed_before) and not swallowed:
        yield lost_in_pass(loader_end.found, facts, dead, _evidence(facts))
        if facts.lacking:
            return
    if any(one.ended == "over" and not one.batches for one in facts.epochs):
        yield _nothing(facts)
    elif facts.among is not None:
        place = facts.defined.at(facts.name)
        yield among_workers(loader_end.found, facts, facts.among, place, _evidence(facts))
    elif _differ(facts):
        yield _uneven(facts)
    else:
        known = facts.left_behind is not None or facts.lost is not None
        if facts.length is not None and not known and not _agrees(facts, facts.length):
            yield _miscounted(facts, facts.length)
        yield from left_out(loader_end.found, facts, facts.defined.at(facts.name), _evidence(facts))


# --- epochs that end badly ------------------------------------------------------------------------


def _nothing(facts: WholePass) -> Finding:
    first = facts.epochs[0].batches
    gave = f"gives {counted(first, *_BATCH)} in its first epoch" if first else "gives batches once"
    return loader_end.found(
        f"{gave}, and none in its second",
        at=facts.defined.at(facts.name),
        why="Each epoch but the first is over at once, and the job goes on as if it had trained."
        + (
            " Workers that outlive an epoch keep what they have used up." if _used_up(facts) else ""
        ),
        fix="Make the iterator anew in __iter__: a generator, a file or a counter that was used up "
        "is not wound back.",
        evidence=_evidence(facts),
        about=facts.name,
    )


def _again(facts: WholePass, again: AgainIn) -> Finding:
    """Tell of a loop over epochs in which one iterator is gone over."""
    many = counted(facts.epochs[0].batches, *_BATCH)
    is_here = again.rounds.file == again.batches.file
    loop = f"line {again.rounds.line}" if is_here else str(again.rounds)
    return loader_end.found(
        f"goes over one iterator of {shown(facts.name)} in each round of the loop in {loop}: the "
        f"first round takes its {many}, and each other has none",
        at=again.batches,
        also=() if is_here else (again.rounds,),
        severity=Severity.ERROR if again.is_sure else Severity.WARNING,
        why="Each epoch but the first is over at once, without an error, and the job goes on as if "
        "it had trained.",
        fix="Make the iterator anew in each round.",
        evidence=_evidence(facts),
        about=f"{facts.name} again",
    )


def _used_up(facts: WholePass) -> bool:
    return facts.persistent and facts.num_workers > 0


# --- epochs of other sizes ------------------------------------------------------------------------


def _differ(facts: WholePass) -> bool:
    """Whether a second epoch has another number of batches, and of samples, than the first."""
    if len(facts.epochs) < 2 or facts.resampled or facts.resumes:
        return False
    first, second = facts.epochs
    if second.ended == "cut" and second.batches <= first.batches:
        return False
    if first.batches == second.batches or first.rows == second.rows is not None:
        return False
    few, many = sorted((first.batches, second.batches))
    return many - few > _tolerated(facts) and (many - few > _UNEVEN * many or facts.length == few)


def _uneven(facts: WholePass) -> Finding:
    first, second = facts.epochs
    more = "at least " if second.ended != "over" else ""
    return loader_end.found(
        f"gives {counted(first.batches, *_BATCH)} in its first epoch, and {more}{second.batches:,} "
        "in its second",
        at=facts.defined.at(facts.name),
        severity=Severity.WARNING,
        why="What an epoch leaves behind, or out by chance, changes its length; ranks whose epochs "
        "differ wait for each other for ever.",
        fix="Have __iter__ begin with what __init__ was given, change nothing of it, and give all: "
        "also what is over at the end, or in other streams where one of them ends first.",
        evidence=_evidence(facts),
        about=f"{facts.name} epochs",
    )


# --- what it says of itself -----------------------------------------------------------------------


def _tolerated(facts: WholePass) -> int:
    """Say how many batches more or fewer each worker's own last one makes."""
    return max(facts.num_workers - 1, 0) if facts.is_iterable else 0


def _agrees(facts: WholePass, length: int) -> bool:
    first = facts.epochs[0]
    if first.ended == "cut":
        return first.batches <= length + _tolerated(facts)
    fewer = facts.resumes and first.batches < length
    return facts.resampled or fewer or abs(first.batches - length) <= _tolerated(facts)


def _miscounted(facts: WholePass, length: int) -> Finding:
    first = facts.epochs[0]
    more = "" if first.ended == "over" else "at least "
    why = f"Training that counts by len() ends, and has its learning rate, after {length:,} steps"
    if first.ended == "over" and first.batches < length:
        why = f"A schedule of {length:,} steps does not come to its end"
    return loader_end.found(
        f"len() is {length:,}, and {more}{counted(first.batches, *_BATCH)} come",
        at=facts.defined.at(facts.name),
        severity=Severity.WARNING if first.ended == "over" else Severity.NOTE,
        why=f"{why}; a loop over the loader has another number.",
        fix="Have __len__ give what comes: samples, of a data set; batches, of a batch sampler.",
        evidence=_evidence(facts),
        about=f"{facts.name} len",
    )


# --- words ----------------------------------------------------------------------------------------


def _evidence(facts: WholePass) -> dict[str, str | int | float]:
    length = {} if facts.length is None else {"len": facts.length}
    return {
        "loader": facts.name,
        "epochs": ", ".join(f"{one.batches} ({one.ended})" for one in facts.epochs),
        "num_workers": facts.num_workers,
        **length,
        **in_full(facts.error),
    }
