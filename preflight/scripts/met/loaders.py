"""Loaders that a script begins: each gives a few batches an epoch, and is looked at once."""

from __future__ import annotations

import functools
import math
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from preflight.loaders.epoch import length_of
from preflight.objects.facts import Definition
from preflight.scripts.facts import Met
from preflight.scripts.failing import guarded
from preflight.scripts.met.evaluated import look_at_sums
from preflight.scripts.met.left_in_eval import left_of
from preflight.scripts.met.loops.empty_passes import EmptyPasses
from preflight.scripts.met.loops.epoch_ends import LAST, WholeEpoch, last_of, length, whole_epoch
from preflight.scripts.met.loops.passes import Passes
from preflight.scripts.met.loops.same_numbers import SameNumbers
from preflight.scripts.met.rank_lengths import RankLengths
from preflight.scripts.met.running_out import counted_of
from preflight.scripts.met.steps import numbers_of, trained_of
from preflight.scripts.points import Point
from preflight.scripts.watch import Watch
from preflight.users_code.facts import Frame
from preflight.values.names import counted
from preflight.values.own_files import passes_on, theirs

if TYPE_CHECKING:
    from preflight.epochs.facts import SameOrder
    from preflight.pipelines.facts import Reads
    from preflight.scripts.met.flows import Counting
    from preflight.scripts.met.loader_look import Travelled
    from preflight.scripts.met.loops.strict_zips import StrictZip

_next, _last = theirs(next), theirs(last_of)


class Shortened:
    """What `iter(loader)` gives: a few batches, and then the end of the epoch."""

    def __init__(
        self,
        batches: Iterator[Any],
        passes: Passes,
        at: Frame | None,
        kind: str,
        most: int,
        flow: Counting | None,
        whole: WholeEpoch | None,
    ) -> None:
        self._flow = flow
        self._batches: Iterator[Any] | None = batches
        self._most = most
        self._is_told = False
        """Whether it was told as an evaluation."""

        self._is_full = most == passes.watch.batches
        self._passes = passes
        self._watch = passes.watch
        self._at = at
        self.kind = kind
        self.whole = whole
        """None: none that ends with a short batch is to be come to."""

        self.more = ""
        """Which batch it gives beyond these: `last`, `next` or none."""

        self.ends_short = False
        """Whether the last of these is that which ends the whole epoch."""

        self.strict: StrictZip | None = None
        """The call of `zip(…, strict=True)` that draws from it and others."""

        # Nothing here refers to itself: a loop that leaves has its workers end, as without us.
        self._next = guarded(Shortened._give, passes.watch)
        self.too_soon: float | None = None
        """When it was begun, where the epoch before it was ended before its end."""

        self.given = 0
        self.is_over = False
        """Whether it has ended by itself."""

        numbers = numbers_of(passes.watch)
        self._began, self._backwards = numbers.steps, numbers.backwards

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
        return self._next(self)

    def _give(self) -> Any:
        watch = self._watch
        evaluating = self._evaluates()
        if evaluating and self.given:
            look_at_sums(watch)
        enough = self.given >= self._most and not self._has_more()
        if self._batches is None or enough:
            self._end(evaluating=evaluating)
            raise _end_of_epoch()
        watch.goes_on(evaluating=evaluating)
        flow = self._flow
        with watch.looking(), nullcontext() if flow is None else flow.drawing():
            try:
                is_last = self.more == LAST or (self.ends_short and self.given == self._most - 1)
                batch = (_last if is_last else _next)(self._batches)
            except StopIteration:
                self.is_over = True
                self._over(evaluating=evaluating)
                if flow is not None:
                    flow.over(self.given)
                raise
        if flow is not None and not self.given:
            flow.came()
            watch.on_stop.append(self._at_end)
        if self.too_soon is not None:  # a step of the whole epoch does not wait for new workers
            watch.aside += time.perf_counter() - self.too_soon
            self.too_soon = None
        self.given += 1
        watch.given += 1
        watch.trained_on += not evaluating
        watch.in_epoch |= not evaluating
        watch.met(Met(what="loader", at=self._at))
        if watch.while_at == "evaluation" and self.given == 1:
            watch.evaluates(self._at)
            self._is_told = True
        return batch

    def _end(self, *, evaluating: bool) -> None:
        self._over(evaluating=evaluating)
        if self.given < (length_of(self._batches) or math.inf):
            self._passes.cut.add(self._at)
        batches, self._batches = self._batches, None  # its workers end
        if self._flow is not None and batches is not None:
            self._flow.go_on(batches, self.given)
        self._tell()

    def _has_more(self) -> bool:
        """Whether one more batch is given: that which ends the whole epoch, or the next one."""
        if self.more or self._batches is None:
            return False
        decided = None if self.strict is None else self.strict.more(self)
        if decided is not None:
            return decided
        if self.strict is not None and not self.strict.is_all_known:
            return self._passes.goes_beyond(self._at, strictly=True)
        if self._adds_up() and self._passes.awaits_step(self._at):
            return True
        if self._is_full and self.kind == "training":
            batches = length_of(self._batches)
            a_step = numbers_of(self._watch).seconds
            if self._passes.seldom.more(self.given, batches, self._at, a_step):
                return True
        self.more = self._passes.beginnings.more(self, self._at, self.given)
        return bool(self.more) or self._passes.goes_beyond(self._at)

    def _adds_up(self) -> bool:
        """Whether it has computed gradients, and no optimizer of the script's has taken a step."""
        numbers = numbers_of(self._watch)
        has_any = numbers.backwards > self._backwards and not numbers.steps
        return has_any and self.kind == "training" and trained_of(self._watch).has_optimizer

    @property
    def is_under_way(self) -> bool:
        """Whether it may give more batches."""
        return self._batches is not None

    def _tell(self) -> None:
        last = ", and the short one at their end" if self.more == LAST else ""
        batches = counted(self._watch.batches, "batch", "batches")
        self._watch.shortened(f"epochs to {batches}{last}")

    def _evaluates(self) -> bool:
        """Whether this batch is for evaluation; a model may be trained in the mode of one."""
        if _is_without_gradients():
            left_of(self._watch).has_evaluated()
            return True
        if self.kind == "evaluation" and numbers_of(self._watch).steps > self._began:
            self.kind = "training"
            self._passes.trains.add(self._at)
            self._passes.seldom.begins()
            if self._is_told:  # another model, an average, was set to evaluate for good
                self._watch.met(Met(what="evaluation", at=self._at, count=-1))
        return self.kind == "evaluation"

    def _over(self, *, evaluating: bool) -> None:
        self._watch.in_epoch &= evaluating
        if not evaluating and self._batches is not None:
            counted_of(self._watch).over(length_of(self._batches))

    def _at_end(self) -> None:
        if self._flow is not None and self._batches is not None:
            self._flow.at_end(self._batches, self.given)


def _end_of_epoch() -> StopIteration:
    """Make the end of an epoch; no frame keeps it, whose traceback would keep the workers."""
    over = StopIteration()
    over.of_preflight = True  # type: ignore[attr-defined]
    return over


def _is_without_gradients() -> bool:
    torch: Any = sys.modules["torch"]
    return not torch.is_grad_enabled()


def _wrap(original: Callable[[Any], Iterator[Any]], watch: Watch) -> Callable[[Any], Any]:
    passes, seen, lengths = Passes(watch), _Seen(watch), RankLengths(watch)
    same, empty = SameNumbers(watch), EmptyPasses(watch)

    @functools.wraps(original)
    def begin(loader: Any) -> Any:
        with watch.looking() as is_outermost:
            if not is_outermost:
                return original(loader)
            looked = time.thread_time()
            at = watch.place()
            empty.begin(loader, at)
            is_mode_of_one = watch.in_eval_mode and at not in passes.trains
            evaluating = is_mode_of_one or _is_without_gradients()
            if not evaluating:
                order = same.begin(loader, at, trained_of(watch).number_made)
                _tell_order(order, at, watch)
            most = watch.batches if evaluating else passes.begin(at)
            told_by, flow = seen.look_once(loader, at)
            lengths.tell(loader, at)
            watch.goes_on(evaluating=evaluating)
            empty.ours += time.thread_time() - looked
            began = time.perf_counter()
            try:
                batches = original(loader)
            except Exception as error:
                watch.blamed[id(error)] = told_by
                raise
        watch.met(Met(what="loader", at=at, count=0, epochs=1))
        kind = "evaluation" if evaluating else "training"
        is_counted = flow is not None and flow.is_counting
        whole = whole_epoch(loader) if most == watch.batches and not is_counted else None
        begun = Shortened(theirs(iter)(batches), passes, at, kind, most, flow, whole)
        if at in passes.cut:
            begun.too_soon = began
            passes.cut.discard(at)
        passes.beginnings.begin(begun, at)
        begun.ends_short = most == watch.batches and passes.beginnings.ends_short(begun, at, most)
        begun.strict = passes.strict.begin(begun, loader, at)
        return begun

    return begin


def _tell_order(order: SameOrder | None, at: Frame | None, watch: Watch) -> None:
    """Tell that a loop has its loader shuffle alike in each epoch."""
    if order is not None and at is not None:
        from preflight.batches.pass_facts import RandomDraws
        from preflight.scripts.met.loader_look import name_of_loader

        place = Definition(file=at.file, line=at.line, line_text=at.text, qualname=at.function)
        watch.gave(RandomDraws(name=name_of_loader(at), defined=place, order=order))


class _Seen:
    """The loaders that were looked at."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._seen: weakref.WeakSet[Any] = weakref.WeakSet()
        self._reads: list[Reads] = []
        self._travelled: Travelled | None = None

    def look_once(self, loader: Any, at: Frame | None) -> tuple[str, Counting | None]:
        """Give the facts of a loader that is met for the first time, and have its pipeline count.

        Where these say that it cannot be sent to its workers, the check that tells so is given. In
        a second run of a script, nobody asks.
        """
        if not self._watch.options["wants"]:
            return "", None
        try:
            known = loader in self._seen
            self._seen.add(loader)
        except TypeError:  # it has no hash, or cannot be referred to
            return "", None
        if known:
            return "", None
        from preflight.loaders.facts import Sent
        from preflight.pipelines.facts import Reads
        from preflight.scripts.met.flows import counting
        from preflight.scripts.met.loader_look import Travelled, look, name_of_loader

        self._travelled = self._travelled or Travelled()
        found = look(loader, at, self._watch, self._travelled)
        told = [one for one in found if one not in self._reads]  # it may be made in each epoch
        self._reads += [one for one in told if isinstance(one, Reads)]
        self._watch.gave(*told)
        unsent = any(isinstance(one, Sent) and one.objects for one in found)
        flow = counting(loader, name_of_loader(at), self._watch)
        return "loader-unpicklable" if unsent else "", flow


POINTS = (
    *(
        Point(module=module, name=f"{name}.{method}", wrap=wrap)
        for module, name in (
            ("torch.utils.data.dataloader", "DataLoader"),
            ("torchdata.stateful_dataloader.stateful_dataloader", "StatefulDataLoader"),
        )
        for method, wrap in (("__iter__", _wrap), ("__len__", length))
    ),
    Point(module="webdataset.pipeline", name="DataPipeline.__iter__", wrap=_wrap),
)
