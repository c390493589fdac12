"""Runs in a process of its own: runs one epoch of a loader, as far as it is bounded."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from preflight.batches.child.drawing import structure_or_type
from preflight.batches.facts import Form
from preflight.batches.pass_facts import Epoch
from preflight.batches.structure import form_of, rows_agree
from preflight.batches.tracebacks import mark
from preflight.epochs import sample_numbers
from preflight.values.own_files import passes_on, theirs
from preflight.values.wire import to_wire

# Seconds after which it is judged whether an epoch will end in time.
_JUDGED_AFTER = 1.0

# How long a thread may take to die that has told the loop of its end, in seconds.
_SETTLES = 0.05

# How often it says how far it has come, in seconds; each of the first batches is told.
_EACH = 0.05
_TOLD = 100

# Ways in which batches of an epoch are made that are told: of more, each batch is made in its own.
_MOST_FORMS = 8


class Batching(NamedTuple):
    """How samples are put together in what a loader gives."""

    is_done: bool | None = True
    """Whether they are; False: each comes by itself; None: nobody knows."""

    size: int | None = None
    """Samples of a full batch, where it comes as the loader makes it."""


class Bounds(NamedTuple):
    """How far a loader is run."""

    seconds: float
    length: int | None
    num_workers: int
    batching: Batching = Batching()

    def far_beyond(self) -> float:
        """Give the number of batches at which a loader is left that goes on behind its end."""
        return float("inf") if self.length is None else 2 * self.length + self.num_workers + 8


class _Following:
    """Goes through a loader, of which `__iter__` is called once, as a loop does it."""

    def __init__(self, loader: Any) -> None:
        self._batches = theirs(iter)(loader)

    def __iter__(self) -> _Following:
        return self

    @passes_on
    def __next__(self) -> Any:
        return next(self._batches)


def run_epoch(
    loader: Any,
    bounds: Bounds,
    tell: Callable[..., None],
    noting: Iterable[Callable[[Any], object]],
    forms: set[object] | None = None,
    is_enough: Callable[[], bool] = lambda: False,
) -> Epoch:
    """Run one epoch, as far as it is bounded; tell each batch that is made as none before it.

    Each batch is handed to all that note what comes. It is left where that `is_enough`.
    """
    begun = came = told = time.monotonic()
    number, total, most = 0, 0, 0
    ended, is_counted, kind, columns = "over", True, None, None
    epoch = time.monotonic_ns()
    mark(epoch)
    tell(at=0, marks=[epoch])
    following = _Following(loader)
    for batch in following:
        number += 1
        is_batched, size = bounds.batching
        columns = _asked(sample_numbers.columns_of, batch, size) if number == 1 else columns
        held = None if is_batched is None else 1
        if is_batched:
            held = _asked(sample_numbers.count, batch, size, columns)
        kind = kind or type(batch)
        is_counted = is_counted and held is not None and type(batch) is kind
        total, most = total + (held or 0), max(most, held or 0)
        for note in noting:
            note(batch)
        if forms is not None and len(forms) < _MOST_FORMS:
            made = structure_or_type(batch)
            form = (form_of(made), rows_agree(made))
            if form not in forms:
                forms.add(form)
                tell(form=to_wire(Form(number=number, batch=made)))
        del batch
        now = time.monotonic()
        came = now if number == 1 else came
        if number <= _TOLD or now - told > _EACH:
            tell(at=number)
            told = now
        if is_enough() or _is_too_long(now - begun, now - came, number, bounds):
            ended = "cut"
            break
        if number >= bounds.far_beyond():
            ended = "beyond"
            break
    else:
        if threading.active_count() > 1:
            time.sleep(_SETTLES)
    mark(epoch, is_end=True)  # before the iterator is let go: what comes of that is not the job's
    return Epoch(batches=number, rows=total if is_counted else None, most_rows=most, ended=ended)


def _asked(count: Callable[..., int | None], batch: Any, *known: int | None) -> int | None:
    try:
        return count(batch, *known)
    except Exception:  # noqa: BLE001  a class of the user's may refuse to be asked
        return None


def _is_too_long(spent: float, behind: float, number: int, bounds: Bounds) -> bool:
    """Say whether the time is used up, or will not do.

    Of how long an epoch takes, only the time behind its first batch tells: before that, workers
    start. One of which nobody knows whether it ends is run for as long behind that.
    """
    if bounds.length is None:
        return behind > bounds.seconds
    likely = spent
    if behind > _JUDGED_AFTER:
        likely += behind / (number - 1) * (bounds.length - number)
    return max(spent, likely) > bounds.seconds
