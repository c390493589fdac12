"""How an epoch that is made short ends: with the last batch of the whole one, where that is short.

It is what a script meets at the end of its first epoch, hours later: a batch of fewer samples.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, NamedTuple

from preflight.loaders.epoch import epoch_of
from preflight.processes.rank import ranks_in_group
from preflight.scripts.met.lines.counted import at_work, counts_by_length
from preflight.scripts.met.loops.ranks_in_step import Together
from preflight.scripts.watch import Watch
from preflight.users_code.facts import Frame
from preflight.values.names import counted
from preflight.values.own_files import passes_on

# Of a longer epoch, the indices are not drawn to their end.
_MOST_SAMPLES = 5_000_000

# What may end before a loader does, or takes one in place of another.
_IN_PART = re.compile(r"\b(?:islice|take|takewhile|zip_longest|any|all|next)\b")
_STRICT = re.compile(r"\bstrict\b")
_ZIP = re.compile(r"\bzip\b")
_ALL_OF = frozenset({"sum", "list", "tuple", "sorted", "max", "min"})
_LOOPS = (ast.For, ast.ListComp, ast.DictComp)
_LEAVES = (ast.Break, ast.Return, ast.Yield, ast.YieldFrom)


LAST, NEXT = "last", "next"
"""Which batch is given beyond the few of an epoch."""

# Their loops go over all that a loader gives; Lightning asks for as many batches as it was told.
_TRANSFORMERS = ("transformers.trainer",)
_LIGHTNING = ("pytorch_lightning.loops.", "lightning.pytorch.loops.")
_FEWEST = 2
"""Batches of an epoch of which one is short: the first is to be as long as most are."""

_BEFORE_TRAINING = "_run_sanity_check"


class WholeEpoch(NamedTuple):
    """How many batches a whole epoch of a loader has, and whether the last one is short."""

    batches: int
    is_short: bool


def whole_epoch(loader: Any) -> WholeEpoch | None:
    """Ask torch's own samplers; None of all others, and where the epoch is too long."""
    epoch = epoch_of(loader)
    if epoch is None or epoch.drawn > _MOST_SAMPLES:
        return None
    size = epoch.batch_size
    is_short = size is not None and not epoch.drop_last and epoch.drawn % size > 0
    return WholeEpoch(epoch.batches, is_short)


def is_last_due(together: Sequence[WholeEpoch | None], most: int, watch: Watch) -> bool:
    """Whether a loop that has got so many batches goes on, in whole, to a last one that is short.

    `together` are the epochs of all loaders that one line draws from in turn.
    """
    lengths = {one.batches for one in together if one is not None}
    if None in together or min(lengths, default=0) <= most:
        return False
    if not any(one.is_short and one.batches == min(lengths) for one in together if one):
        return False
    return _goes_through(watch, several=len(together) > 1)


@functools.lru_cache(maxsize=1)
def gone_through(_watch: Watch) -> set[str]:
    """Give the one record of what known trainers go through to its end: `training`, `evaluation`.

    As their arguments say that were made less since.
    """
    return set()


def _is_of(modules: tuple[str, ...]) -> bool:
    """Whether a loop of a library asks, unless it only tries a few batches before it trains."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith(modules):
            return not _tries_first(frame)
        frame = frame.f_back
    return False


def _tries_first(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code.co_name != _BEFORE_TRAINING:
        frame = frame.f_back
    return frame is not None


def _goes_through(watch: Watch, *, several: bool) -> bool:
    """Whether the script's innermost line is the head of a loop that leaves none out."""
    head = _head(watch)
    if head is None or _STRICT.search(head[1]) or bool(_ZIP.search(head[1])) != several:
        return False
    return _leaves_none(*head, *((ast.Continue,) if "enumerate" in head[1] else ()))


def goes_to_its_end(watch: Watch) -> bool:
    """Whether the script's innermost line is the head of a loop that ends with what it takes."""
    head = _head(watch)
    return head is not None and _leaves_none(*head)


def _head(watch: Watch) -> tuple[ast.AST, str] | None:
    """Give the loop at whose head the script's innermost line is, and what it goes over."""
    frame = next(watch.frames(), None)
    heads = [] if frame is None else [*_heads(frame)]
    return heads[-1] if heads else None


def _leaves_none(loop: ast.AST, text: str, *more: type[ast.stmt]) -> bool:
    inner = [one for part in getattr(loop, "body", ()) for one in ast.walk(part)]
    return not (_IN_PART.search(text) or any(isinstance(one, (*_LEAVES, *more)) for one in inner))


def _heads(frame: FrameType) -> Iterator[tuple[ast.AST, str]]:
    """Give the loops at whose head a line is, and what each goes over, the innermost last."""
    for one in at_work(frame, *_LOOPS, ast.Call):
        loop: Any = one
        if isinstance(one, ast.Call):
            is_all = isinstance(one.func, ast.Name) and one.func.id in _ALL_OF
            loop = one.args[0] if is_all and len(one.args) == 1 else None
            if not isinstance(loop, ast.GeneratorExp):
                continue
        if isinstance(loop, ast.For):
            if loop.lineno <= frame.f_lineno <= (loop.iter.end_lineno or 0):
                yield loop, ast.unparse(loop.iter)
        elif len(loop.generators) == 1 and not loop.generators[0].ifs:
            yield loop, ast.unparse(loop.generators[0].iter)


@passes_on
def last_of(batches: Any) -> Any:
    """Draw the last batch of a loader's iterator, and what is under way before it."""
    last = None
    for indices in getattr(batches, "_sampler_iter", ()):
        last = indices
    if last is not None:
        batches._sampler_iter = iter([last])  # noqa: SLF001  there is no other way
    batch = next(batches)
    for later in batches:
        batch = later
    return batch


class Beginnings:
    """Which epochs a line has begun that are under way, and of which the last batch was given."""

    def __init__(self, watch: Watch, together: Together) -> None:
        self._watch = watch
        self._together = together
        self._begun: dict[Frame | None, list[weakref.ref[Any]]] = {}
        self._given: set[tuple[Frame | None, int, str]] = set()

    def begin(self, one: Any, at: Frame | None) -> None:
        """Note an epoch."""
        self._begun[at] = [weakref.ref(each) for each in (*self._under_way(at), one)]

    def _under_way(self, at: Frame | None) -> list[Any]:
        every = (ref() for ref in self._begun.get(at, ()))
        return [one for one in every if one is not None and one.is_under_way]

    def ends_short(self, one: Any, at: Frame | None, most: int) -> bool:
        """Whether the last of a few batches is to be that which ends the whole epoch, a short one.

        That is where Lightning draws them, which asks for no batch beyond these. Once for each
        line, length and kind.
        """
        watch, whole = self._watch, one.whole
        if watch.options.get("resuming") or watch.left or most < _FEWEST or not _is_of(_LIGHTNING):
            return False
        key = at, 0 if whole is None else whole.batches, one.kind
        due = whole is not None and whole.is_short and whole.batches > most
        due = due and one.kind in gone_through(watch) and key not in self._given
        place = "" if at is None else f"{at.file}:{at.line}"
        due = self._together.decided(f"short {len(self._given)} {place}", due)
        if due:
            self._given.add(key)
            watch.shortened("the last of these batches to the short one at the end of an epoch")
        return due

    def more(self, one: Any, at: Frame | None, given: int) -> str:
        """Say which batch it gives beyond the few: its LAST, the NEXT beside that of another, none.

        Once for each line, length and kind. All ranks of a group take one or none.
        """
        watch = self._watch
        if watch.options.get("resuming") or watch.left:
            return ""
        beside = [each for each in self._under_way(at) if each is not one]
        together = [each.whole for each in (one, *beside)]
        if not any(each.more for each in beside):  # by which it was decided for all of them
            key = at, one.whole.batches if one.whole is not None else 0, one.kind
            if key in self._given:
                return ""
            due = one.whole is not None and (
                is_last_due(together, given, watch)
                if beside or one.kind not in gone_through(watch) or not _is_of(_TRANSFORMERS)
                else one.whole.is_short and one.whole.batches > given
            )
            place = "" if at is None else f"{at.file}:{at.line}"
            number = sum(line == at for line, *_ in self._given)
            due = self._together.decided(f"last {number} {place}", due)
            if due or ranks_in_group() > 1:
                self._given.add(key)
            if not due:
                return ""
        if one.whole is None:
            return ""
        least = min(each.batches for each in together if each is not None)
        return LAST if one.whole.is_short and one.whole.batches == least else NEXT


def length(original: Callable[[Any], int], watch: Watch) -> Callable[[Any], int]:
    """Have loops be short that count the batches which they draw by `next()`."""

    @functools.wraps(original)
    def shorter(loader: Any) -> int:
        own = original(loader)
        if watch.is_here and own > watch.batches:
            frame = next(watch.frames(), None)
            if frame is not None and counts_by_length(frame):
                watch.shortened(f"epochs to {counted(watch.batches, 'batch', 'batches')}")
                return watch.batches
        return own

    return shorter
