"""Loaders that a script begins: each gives a few batches an epoch, and is looked at once."""

from __future__ import annotations

import functools
import itertools
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from preflight.loaders.epoch import length_of
from preflight.loaders.facts import Sent
from preflight.scripts.facts import Met
from preflight.scripts.failing import guarded
from preflight.scripts.met.evaluated import look_at_sums
from preflight.scripts.met.left_in_eval import left_of
from preflight.scripts.met.loops.counted import counts_by_length, counts_itself
from preflight.scripts.met.loops.leaving import Leaving
from preflight.scripts.met.ranks_in_step import Together
from preflight.scripts.met.running_out import counted_of
from preflight.scripts.met.steps import numbers_of
from preflight.scripts.points import Point
from preflight.scripts.watch import Watch
from preflight.users_code.facts import Frame
from preflight.values.names import counted
from preflight.values.own_files import passes_on, theirs

if TYPE_CHECKING:
    from preflight.scripts.met.flows import Counting

# Passes over loaders at one line without a step of training: beyond that, it is no set-up.
_MOST_PASSES = 50

# How long a script may go on, with a batch an epoch, to come to what stands behind its last one;
# in seconds.
_TO_THE_END = 5.0


class Shortened:
    """What `iter(loader)` gives: a few batches, and then the end of the epoch."""

    def __init__(
        self,
        batches: Iterator[Any],
        passes: _Passes,
        at: Frame | None,
        kind: str,
        most: int,
        flow: Counting | None,
    ) -> None:
        self._flow = flow
        self._batches: Iterator[Any] | None = batches
        self._most = most
        self._passes = passes
        self._watch = passes.watch
        self._at = at
        self._kind = kind
        self._given = 0
        self._began = numbers_of(passes.watch).steps

    def __iter__(self) -> Shortened:
        """Give itself, as every iterator does."""
        return self

    @passes_on
    def __getattr__(self, name: str) -> Any:
        """Be for all else what the loader gave."""
        return getattr(self.__dict__["_batches"], name)

    @passes_on
    def __len__(self) -> int:
        """Say how many batches the whole epoch would have."""
        return len(self._batches)  # type: ignore[arg-type]

    def __next__(self) -> Any:
        """Give the next batch, or say that the epoch is over."""
        return guarded(self._give, self._watch)()

    def _give(self) -> Any:
        watch = self._watch
        evaluating = self._evaluates()
        if evaluating and self._given:
            look_at_sums(watch)
        enough = self._given >= self._most and not self._passes.goes_beyond(self._at)
        if self._batches is None or enough:
            self._over(evaluating=evaluating)
            batches, self._batches = self._batches, None  # its workers end
            if self._flow is not None and batches is not None:
                self._flow.go_on(batches, self._given)
            watch.shortened(f"epochs to {counted(watch.batches, 'batch', 'batches')}")
            over = StopIteration()
            over.of_preflight = True  # type: ignore[attr-defined]
            raise over
        watch.goes_on(evaluating=evaluating)
        flow = self._flow
        with watch.looking(), nullcontext() if flow is None else flow.drawing():
            try:
                batch = theirs(next)(self._batches)
            except StopIteration:
                self._over(evaluating=evaluating)
                if flow is not None:
                    flow.over(self._given)
                raise
        if flow is not None and not self._given:
            flow.came()
            watch.on_stop.append(self._at_end)
        self._given += 1
        watch.given += 1
        watch.trained_on += not evaluating
        watch.in_epoch |= not evaluating
        watch.met(Met(what="loader", at=self._at))
        if watch.while_at == "evaluation" and self._given == 1:
            watch.evaluates(self._at)
        return batch

    def _evaluates(self) -> bool:
        """Whether this batch is for evaluation; a model may be trained in the mode of one."""
        if _is_without_gradients():
            left_of(self._watch).has_evaluated()
            return True
        if self._kind == "evaluation" and numbers_of(self._watch).steps > self._began:
            self._kind = "training"
            self._passes.trains.add(self._at)
        return self._kind == "evaluation"

    def _over(self, *, evaluating: bool) -> None:
        self._watch.in_epoch &= evaluating
        if not evaluating and self._batches is not None:
            counted_of(self._watch).over(length_of(self._batches))

    def _at_end(self) -> None:
        if self._flow is not None and self._batches is not None:
            self._flow.at_end(self._batches, self._given)


def _is_without_gradients() -> bool:
    torch: Any = sys.modules["torch"]
    return not torch.is_grad_enabled()


def _wrap(original: Callable[[Any], Iterator[Any]], watch: Watch) -> Callable[[Any], Any]:
    passes = _Passes(watch)

    @functools.wraps(original)
    def begin(loader: Any) -> Any:
        with watch.looking() as is_outermost:
            if not is_outermost:
                return original(loader)
            at = watch.place()
            is_mode_of_one = watch.in_eval_mode and at not in passes.trains
            evaluating = is_mode_of_one or _is_without_gradients()
            most = watch.batches if evaluating else passes.begin(at)
            told_by, flow = passes.look_once(loader, at)
            watch.goes_on(evaluating=evaluating)
            try:
                batches = original(loader)
            except Exception as error:
                watch.blamed[id(error)] = told_by
                raise
        watch.met(Met(what="loader", at=at, count=0, epochs=1))
        kind = "evaluation" if evaluating else "training"
        return Shortened(theirs(iter)(batches), passes, at, kind, most, flow)

    return begin


class _Passes:
    """Counts the passes over loaders by the script's lines, and ends the script after enough."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.trains: set[Frame | None] = set()
        """The lines that train, whatever the mode."""

        self._begun: dict[tuple[str, int] | None, list[int]] = {}
        self._enough: float | None = None
        """Since when there were epochs enough, by the monotonic clock."""

        self._seen: weakref.WeakSet[Any] = weakref.WeakSet()
        self._together = Together()
        self._leaving = Leaving(watch)
        self._ended = ""
        """What was told of the first end: a bare `except` goes on behind it, again and again."""

        self._beyond = 0
        """How many batches the script got that it counts itself."""

    def begin(self, at: Frame | None) -> int:
        """Count a pass for training, and give how many batches it has.

        After enough epochs it is one, for some seconds, so that a script whose epochs are counted
        comes to its end.

        Raises:
            Stopped: there were enough.
        """
        watch = self.watch
        steps = self._begun.setdefault(None if at is None else (at.file, at.line), [])
        steps.append(watch.steps)
        trained = sum(after > before for before, after in itertools.pairwise(steps))
        if trained < watch.epochs and len(steps) <= _MOST_PASSES:
            return watch.batches
        place = "" if at is None else f" ({at.file}:{at.line})"
        if self._is_soon(f"pass {len(steps)}{place}"):
            watch.shortened(f"epochs after the first {watch.epochs} to 1 batch")
            return 1
        words = f"training to {counted(len(steps) - 1, 'epoch')}{place}"
        if self._leaves(words):
            return 1
        self._ended = self._ended or f"{words}, and not to what stands behind"
        watch.shortened(self._ended)
        watch.stop("epochs")
        return 0

    def _leaves(self, words: str) -> bool:
        """Have a loop around it end, if one can, and the script go on for a while."""
        if not self._leaving.can_leave(words):
            return False
        self._enough = None
        return True

    def _is_soon(self, what: str) -> bool:
        """Whether there was enough, and the script may go on for a while all the same.

        All ranks do as one of them does, which is asked by what is to come.
        """
        if self._enough is None:
            self._enough = time.monotonic()
        return self._together.decided(what, time.monotonic() - self._enough < _TO_THE_END)

    def goes_beyond(self, at: Frame | None) -> bool:
        """Whether the script gets more batches, since it counts them itself.

        Raises:
            Stopped: it has gone on for long.
        """
        watch = self.watch
        if not counts_itself(watch.frames()):
            return False
        self._beyond += 1
        place = "" if at is None else f" ({at.file}:{at.line})"
        if self._is_soon(f"batch {self._beyond}{place}"):
            return True
        words = f"training to what came of {_TO_THE_END:g} s: it counts batches{place}"
        if self._leaves(words):
            return True
        watch.shortened(f"{words}, and not to what stands behind")
        watch.stop("batches")
        return False

    def look_once(self, loader: Any, at: Frame | None) -> tuple[str, Counting | None]:
        """Give the facts of a loader that is met for the first time, and have its pipeline count.

        Where these say that it cannot be sent to its workers, the check that tells so is given.
        """
        try:
            known = loader in self._seen
            self._seen.add(loader)
        except TypeError:  # it has no hash, or cannot be referred to
            return "", None
        if known:
            return "", None
        from preflight.scripts.met.flows import counting
        from preflight.scripts.met.loader_look import look, name_of_loader

        found = look(loader, at, self.watch)
        self.watch.gave(*found)
        unsent = any(isinstance(one, Sent) and one.objects for one in found)
        flow = counting(loader, name_of_loader(at), self.watch)
        return "loader-unpicklable" if unsent else "", flow


def _length(original: Callable[[Any], int], watch: Watch) -> Callable[[Any], int]:
    """Have loops be short that count the batches which they draw by `next()`."""

    @functools.wraps(original)
    def length(loader: Any) -> int:
        own = original(loader)
        if watch.is_here and own > watch.batches:
            frame = next(watch.frames(), None)
            if frame is not None and counts_by_length(frame):
                watch.shortened(f"epochs to {counted(watch.batches, 'batch', 'batches')}")
                return watch.batches
        return own

    return length


POINTS = (
    *(
        Point(module=module, name=f"{name}.{method}", wrap=wrap)
        for module, name in (
            ("torch.utils.data.dataloader", "DataLoader"),
            ("torchdata.stateful_dataloader.stateful_dataloader", "StatefulDataLoader"),
        )
        for method, wrap in (("__iter__", _wrap), ("__len__", _length))
    ),
    Point(module="webdataset.pipeline", name="DataPipeline.__iter__", wrap=_wrap),
)
