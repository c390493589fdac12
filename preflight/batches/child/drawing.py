"""Runs in a process of its own: draws batches from loaders, and says of each what it is made of.

It has no thread, so that workers are forked as in the job. Whoever watches it does so from outside.
"""

from __future__ import annotations

import functools
import re
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess, active_children
from typing import Any, NamedTuple

from preflight.batches.child.parcels import Weighed, opened, way_of
from preflight.batches.facts import Structure
from preflight.batches.structure import structure_of
from preflight.batches.tracebacks import Printed, in_worker, our_failure
from preflight.flow.fitted import fit
from preflight.host.start_method import SPAWNING
from preflight.loaders.epoch import length_of
from preflight.loaders.workers.starting import parts_of
from preflight.loaders.wrappers import BatchSource, real_loader
from preflight.secrets.exception_text import hidden_of
from preflight.users_code.facts import Lack
from preflight.users_code.frames import said_by, text_of, user_frames
from preflight.users_code.lacks.lacking import lacking
from preflight.values.own_files import is_our_line, theirs
from preflight.values.wire import to_wire

# Batches that are drawn while that takes no longer than so many seconds.
_MOST, _WHILE = 4, 1.0

# Loaders whose workers are left alone: to end them waits for whatever they are at.
_HELD = 3

# How long a worker may take to end whose pipe has ended, in seconds.
_SETTLES = 1.0

# What torch says of a worker that is no more.
_ENDED = re.compile(
    r"DataLoader worker \(pid(?:\(s\))? (\d+).*(?:exited unexpectedly|is killed by)"
)
_IN_WORKER = re.compile(r"Caught .+ in DataLoader worker process (\d+)\.")
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_GROUP = "torch/distributed/"


class Drawable(NamedTuple):
    """A loader that is to be drawn from, and what is said of it."""

    name: str
    loader: Any
    about: dict[str, Any]
    """As fields of `FirstBatches`."""


def draw(
    loaders: Iterable[Drawable],
    tell: Callable[..., None],
    *,
    root: str,
    folders: Sequence[str],
    counts: bool = False,
    sheet: Mapping[str, Any] | None = None,
) -> None:
    """Draw the first batches of each loader, and tell each step.

    What goes through stages is counted on the way. Where a `sheet` is wanted, the first batch of
    each is shown there.
    """
    held: deque[Iterator[Any]] = deque(maxlen=_HELD)
    for one in loaders:
        tell(loader=one.name, about=to_wire({**one.about, "length": length_of(one.loader)}))
        fitted = fit(one.loader, one.about["defined"], root) if counts else None
        if fitted is not None:
            tell(flow=fitted.about)
        try:
            begins = way_of(one.loader) if one.about.get("num_workers") else None
            tell(way=to_wire(begins))
            tell(**_drawn(one, tell, held, sheet))
        except BaseException as error:  # noqa: BLE001  the user's code, sys.exit too
            tell(**raised(error, root, folders))
        finally:
            if fitted is not None:
                fitted.undo()


def _drawn(
    one: Drawable,
    tell: Callable[..., None],
    held: deque[Iterator[Any]],
    sheet: Mapping[str, Any] | None,
) -> dict[str, str]:
    """Draw a few batches; say how that ended."""
    workers = one.about.get("num_workers", 0)
    starts = workers and one.about.get("start_method") in SPAWNING
    # Of the time to the first one, most is that of workers to start, or others are made meanwhile.
    is_first_apart = starts or workers > 1
    begun = last = time.perf_counter()
    weighed = Weighed(one.loader)
    with weighed.noting():
        batches: Iterator[Any] = theirs(iter)(one.loader)
    held.append(batches)
    for _ in range(_MOST):
        try:
            with weighed.noting():
                batch = theirs(next)(batches)
        except StopIteration:
            return {"ended": "over"}
        now = time.perf_counter()
        tell(workers=[one.pid for one in active_children()])
        show = None if sheet is None else _shown(one, batch, sheet)
        structure, parcel, before = structure_or_type(batch), weighed.parcel_of(batch), opened()
        del batch
        if isinstance(one.loader, BatchSource) and _is_no_batch(structure):
            reason = f"it gives {_a(structure)}, which is no batch"
            if not one.loader.taken_from:
                return {"ended": "no-batch", "reason": reason}
            if structure.kind != "none":  # losses, say, of batches that are looked at beside it
                return {"ended": "not-drawn", "reason": reason}
        let_go = parcel._replace(descriptors=max(before - opened(), 0))
        tell(batch=to_wire(structure), seconds=now - last, parcel=to_wire(let_go))
        if is_first_apart:
            begun, is_first_apart = now, False
        spent = now - begun
        if show is not None:
            tell(shows=True)
            tell(sheet=to_wire(show()))
            sheet = None
        if spent > _WHILE:
            break
        last = time.perf_counter()
        begun = last - spent
    return {"ended": "enough"}


def _is_no_batch(structure: Structure) -> bool:
    """Whether this is a line of a file, or a loss: whoever gives it is no loader."""
    is_scalar = structure.kind in ("tensor", "array") and not structure.shape
    return is_scalar or structure.kind in ("str", "bytes", "int", "float", "bool", "none")


def _a(structure: Structure) -> str:
    if structure.kind == "none":
        return "None"
    return f"a {structure.kind}" + (" of one number" if structure.dtype else "")


def _shown(one: Drawable, batch: Any, sheet: Mapping[str, Any]) -> Callable[[], Any]:
    """Copy what a sheet shows of a batch; give what draws it, once the batch is let go."""
    from preflight.sheets.draw import draw_sheet, take

    try:
        parts = parts_of(real_loader(one.loader))
    except Exception:  # noqa: BLE001  a property of the user's loader
        parts = {}
    batched = parts.get("batch_size") is not None or parts.get("batch_sampler") is not None
    taken = take(batch, is_batched=batched)
    where = {name: parts.get(name) for name in ("collate_fn", "dataset")}
    return functools.partial(draw_sheet, one.name, taken, where, sheet)


def structure_or_type(batch: Any) -> Structure:
    """Say what a batch is made of, or, where nobody can, of which class it is."""
    try:
        return structure_of(batch)
    except Exception:  # noqa: BLE001  a class of the user's may refuse to be asked
        return Structure(kind="other", type=type(batch).__qualname__)


# --- what was raised ------------------------------------------------------------------------------


def raised(error: BaseException, root: str, folders: Sequence[str]) -> dict[str, Any]:
    """Say what was raised, where, and for want of what; of a worker, what it said, or how it died.

    A pipe ends with its worker, and torch's handler of signals may say so only now: it raises
    wherever this process is.
    """
    if is_our_line(error):
        raise error
    try:
        return _raised(error, root, folders)
    except RuntimeError as died:
        return _raised(died.with_traceback(error.__traceback__), root, folders)
    finally:
        # Else its frames hold it, and the iterator: the collector, which comes upon them some time,
        # ends queues before workers are told to end, and each of these is waited for, 5 s long.
        error.__traceback__ = None


def _raised(error: BaseException, root: str, folders: Sequence[str]) -> dict[str, Any]:
    trace = traceback.extract_tb(error.__traceback__)
    inside = _IN_WORKER.search(text_of(error))
    own = in_worker(error)
    said = own or Printed("", said_by(error), tuple(trace))
    if own and (ours := our_failure(said, text_of(error))):
        raise ours
    ended = _ENDED.search(text_of(error))
    status, worker = None, None
    lost = inside is None and isinstance(error, (EOFError, ConnectionError))
    if ended is not None or lost:
        status, worker = _died(error, None if ended is None else int(ended[1]))
    return {
        "ended": "raised" if ended is None and status is None else "died",
        "error": hidden_of(said.error, error),
        "frames": to_wire(user_frames(said.calls, root)),
        "lacks": to_wire(_lacking(error, said, folders)),
        "worker": int(inside[1]) if inside is not None else worker,
        "exit_status": status,
    }


def _lacking(error: BaseException, said: Printed, folders: Sequence[str]) -> Lack | None:
    """Say what is not here; a worker's exception has lost all but its text."""
    calls = said.calls
    if calls and any(_GROUP in one.filename.replace("\\", "/") for one in calls):
        return Lack(kind="group", name="a process group")
    missing = _NO_MODULE.match(said.error)
    if missing is not None:
        error = ModuleNotFoundError(said.error, name=missing[1])
    inner = calls[-1] if calls else None
    asks_os = inner is not None and inner.filename.endswith(("os.py", "<frozen os>"))
    if asks_os and said.error.startswith("KeyError: "):
        return Lack(kind="variable", name=said.error.partition(": ")[2].strip("'"))
    return lacking(error, folders)


def _died(error: BaseException, pid: int | None) -> tuple[int | None, int | None]:
    """Give the exit status of a worker that died, and which it was, by torch's iterator.

    Where its number is not known, any that ends by now, and not as it should. What torch raises
    when it hears of that may come while the iterator is not at work: `_drawn` has it then.
    """
    places = [one.f_locals for one, _ in traceback.walk_tb(error.__traceback__)]
    for holder in (one.get(name) for name in ("self", "batches") for one in places):
        workers = getattr(holder, "_workers", None)
        every = workers if isinstance(workers, list) else []
        wanted = [one for one in every if isinstance(one, BaseProcess) and pid in (None, one.pid)]
        ended = wait([one.sentinel for one in wanted], _SETTLES) if wanted else []
        for worker in wanted:
            if worker.sentinel in ended:
                worker.join(_SETTLES)  # its pipes end a moment before it does
            if worker.exitcode or (worker.pid == pid):
                return worker.exitcode, every.index(worker)
    return None, None
