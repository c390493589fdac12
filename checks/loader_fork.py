"""Something that forked workers would share with the process that forks them, or with each other.

What it finds
    Open handles below a loader's dataset, collate function and worker function (zip archives and
    what `numpy.load` opens of them, ordinary files, HDF5 files, LMDB environments, SQLite
    connections) and tensors in the memory of a GPU. Each is named by its paths and by the line that
    keeps it, also where `__getstate__` leaves it out, since a fork does not ask. Where this process
    has other threads, or has started CUDA, a note says so.

Why it matters
    All workers of a fork read through one open file, and each seek moves the position of the
    others. Two workers that share a ZipFile stop with BadZipFile (one read in five, when this was
    measured); a plain file gives another sample's bytes without a word (one read in eleven), and so
    does h5py with a driver that seeks. With its own driver, h5py reads at given positions since
    HDF5 1.12, and read right. LMDB finds the slots of its lock table taken. CUDA does not work in a
    forked worker at all. Whether a worker reads a plain file that is open cannot be seen from
    outside, so that is a warning.

What to do
    Keep the path, and open it in the worker when it is first used, or in `worker_init_fn`. A
    dataset that has to open a file in `__init__`, for its length, closes it there again. Keep
    tensors on the CPU, and move each batch in the training loop. With `num_workers=0` nothing is
    shared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from preflight.check import check
from preflight.facts import Held, Inherited, Sent
from preflight.finding import Finding, Severity
from preflight.job import Job
from preflight.values.names import counted, shown

from ._objects import WITHOUT_WORKERS, cut_evidence, cut_short

_NOUNS = {
    "cuda-tensor": "memory of a GPU",
    "file": "an open file",
    "h5py": "an open HDF5 file",
    "lmdb": "an LMDB environment that is open with its lock table",
    "sqlite": "an open SQLite connection",
    "zip": "an open zip archive",
}

_HARM = {
    "file": "they all read through one position, and get each other's bytes without a word",
    "h5py": "its driver seeks before it reads, and all of them move one position: they get each "
    "other's bytes, or an error",
    "lmdb": "each transaction of a worker takes a slot of the lock table and cannot give it back: "
    "reads stop with MDB_READERS_FULL or MDB_BAD_RSLOT",
    "sqlite": "SQLite says that a connection must not be carried across a fork, since its locks do "
    "not hold there",
    "zip": "they all read through one position, and a worker stops with BadZipFile as soon as two "
    "read at once",
}

# One worker has the position of a file for itself, as long as the training process does not read.
_NEED_TWO = frozenset({"file", "h5py", "zip"})

_LOWER = {"file": Severity.WARNING, "sqlite": Severity.WARNING}

_OPEN_LATER = "Keep {what} in place of `{at}`, and open it in the worker: when it is first used"
_FIXES = {
    "cuda-tensor": "Keep `{at}` on the CPU, and move each batch to the GPU in the training loop.",
    "lmdb": f"{_OPEN_LATER}; or open it with readonly=True, lock=False.",
}

# A path through one of these leads to what a function has beside it, such as a trainer's model.
_BESIDE = (".__self__", ".<closure ")


@check(
    over=Sent,
    title="handle or GPU memory that forked workers would share",
    many="objects would be shared by forked workers",
    severity=Severity.ERROR,
)
def loader_fork(sent: Sent, job: Job) -> Iterator[Finding]:
    """Tell what the workers would share; of those that are not forked, what each has of a GPU."""
    facts = sent.inherited
    if facts is None or not sent.num_workers:
        return
    forked = sent.start_method == "fork"
    told = [one for one in facts.held if _matters(one, sent, forked=forked)]
    for number, one in enumerate(told, 1):
        yield _found(one, sent, job, cut=facts.cut if number == len(told) else ())
    if forked:
        yield from _of_process(facts, sent, job)


def _matters(one: Held, sent: Sent, *, forked: bool) -> bool:
    if not forked:
        return one.kind == "cuda-tensor"
    return one.kind not in _NEED_TWO or sent.num_workers > 1


def _found(one: Held, sent: Sent, job: Job, *, cut: Sequence[str]) -> Finding:
    forked = sent.start_method == "fork"
    kept = one.defined if one.defined.file else sent.defined
    at, *also = (kept.at(shown(path)) for path in one.paths)
    return loader_fork.found(
        _message(one) + cut_short(cut),
        severity=_severity(one, forked=forked),
        at=at,
        also=tuple(also),
        why=_why(one, sent, job),
        fix=_fix(one, at.name or ""),
        workaround=WITHOUT_WORKERS if forked else None,
        evidence={
            "kind": one.kind,
            "type": one.type,
            "paths": len(one.paths),
            "loader": sent.name,
            **({"file": shown(one.file)} if one.file else {}),
            **({"by_position": one.by_position} if one.kind == "h5py" else {}),
            **cut_evidence(cut),
        },
        about=sent.name,
        line_text=kept.line_text,
    )


def _fix(one: Held, at: str) -> str:
    text = _FIXES.get(one.kind, f"{_OPEN_LATER}, or in worker_init_fn.")
    what = f"the path {shown(one.file)}" if one.file else "what opens it"
    return text.format(what=what, at=at)


def _severity(one: Held, *, forked: bool) -> Severity:
    if not forked or one.by_position:
        return Severity.NOTE
    if one.kind == "cuda-tensor" and _only_dragged(one):
        return Severity.WARNING
    return _LOWER.get(one.kind, Severity.ERROR)


def _only_dragged(one: Held) -> bool:
    """Whether it only hangs on functions of the loader, which may never use it."""
    return all(any(step in path for step in _BESIDE) for path in one.paths)


def _message(one: Held) -> str:
    of = f" ({shown(one.file)})" if one.file else ""
    many = f", under {len(one.paths):,} paths" if len(one.paths) > 1 else ""
    if one.kind == "cuda-tensor":
        return f"is in the {_NOUNS[one.kind]}{many}"
    return f"is {_NOUNS.get(one.kind, shown(one.type))}{of}, opened before the workers start{many}"


def _why(one: Held, sent: Sent, job: Job) -> str:
    workers = counted(sent.num_workers, "worker")
    if sent.start_method != "fork":
        return (
            f"The workers of this job are started by {sent.start_method} "
            f"({job.said_in(sent.start_method_from)}): "
            f"each of the {workers} starts CUDA for itself, which takes some hundred MB of the GPU."
        )
    if one.kind == "cuda-tensor":
        harm = "what uses it in a worker raises Cannot re-initialize CUDA in forked subprocess"
        if _only_dragged(one):
            harm += "; it hangs on a function of the loader, which may never use it"
    elif one.by_position:
        harm = (
            "this HDF5 reads at given positions, so they read right; another build or driver, "
            "which seeks before it reads, gives them each other's bytes"
        )
    else:
        harm = _HARM.get(one.kind, "it belongs to one process")
    return f"{_forked(sent, job)}, and all have the same one: {harm}."


def _forked(sent: Sent, job: Job) -> str:
    many = counted(sent.num_workers, "worker")
    place = job.said_in(sent.start_method_from)
    verb = "is" if sent.num_workers == 1 else "are"
    return f"The {many} of {shown(sent.name)} {verb} forked ({place})"


def _of_process(facts: Inherited, sent: Sent, job: Job) -> Iterator[Finding]:
    """Tell what of the process itself a fork does not copy well; most jobs have it and are fine."""
    made = sent.defined.at(sent.name)
    if facts.cuda:
        yield loader_fork.found(
            "CUDA is started before its workers are forked",
            severity=Severity.NOTE,
            at=made,
            why=f"{_forked(sent, job)}. They run as long as none of them touches the GPU; one that "
            "does raises Cannot re-initialize CUDA in forked subprocess.",
            fix="Leave CUDA to the training loop, or start the workers by "
            'multiprocessing_context="forkserver".',
            evidence={"loader": sent.name, "cuda": True},
            about=f"cuda {sent.name}",
        )
    if facts.threads:
        names = ", ".join(shown(name) for name in facts.threads[:5])
        more = ", \u2026" if len(facts.threads) > 5 else ""
        many = counted(len(facts.threads), "thread")
        verb = "runs" if len(facts.threads) == 1 else "run"
        yield loader_fork.found(
            f"{many} {verb} beside the one that forks its workers: {names}{more}",
            severity=Severity.NOTE,
            at=made,
            why=f"{_forked(sent, job)}. A lock that such a thread holds at that moment stays "
            "locked in the worker for ever; Python warns of it from 3.12 on.",
            fix="Start threads after the first batch, or start the workers by "
            'multiprocessing_context="forkserver".',
            evidence={"loader": sent.name, "threads": len(facts.threads)},
            about=f"threads {sent.name}",
        )
