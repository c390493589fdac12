"""A number in batches that counts steps, by its name, and that does not grow from one to the next.

Not an int that may be something else: only keys that say so, and what a loop takes for a step.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from preflight.facts import FirstBatches, Structure
from preflight.settings.taking import Taking, parse_taking

# Names of what never starts again.
_TOTAL = frozenset({"global_step", "global_iter", "global_iteration", "train_step"})

# As a key, `step` is also the place of a sample in its episode, which does start again.
_KEYS = _TOTAL | {"iteration", "step"}
_NAMES = _KEYS | {"current_step", "iter_num", "step_idx", "step_num"}

# A number that comes twice may count updates, of which each takes two batches.
_FEWEST = 3


class StuckStep(NamedTuple):
    """A step number that stays as it is, or falls."""

    name: str
    """As the loop calls it, or the key."""

    numbers: tuple[int, ...]
    batch: int
    """The first batch, counted from 1, whose number is not larger than the one before."""

    target: str
    """What a loop that counts by itself takes for the rest: `(_, batch)`."""

    each_worker: bool
    """Whether all comes as it does where each worker counts by itself."""


def stood(facts: FirstBatches) -> StuckStep | None:
    """Give the step number that does not grow; None where there is none, or it may be meant."""
    for name, target, numbers, restarts in (*_by_loops(facts), *_by_keys(facts)):
        places = [at for at, (a, b) in enumerate(itertools.pairwise(numbers), 2) if b <= a]
        falls = [*numbers] != sorted(numbers)
        if not places or (falls and restarts):
            continue
        is_several = facts.num_workers > 1
        is_one = len({*numbers}) == 1
        if not falls and (len(numbers) < _FEWEST or not (is_several or is_one)):
            continue
        return StuckStep(name, numbers, places[0], target, is_several and not is_one)
    return None


def _by_loops(facts: FirstBatches) -> Iterator[tuple[str, str, tuple[int, ...], bool]]:
    """Give the numbers at the places that loops, or the settings, take for a step."""
    for taken in facts.taken_for:
        taking = parse_taking(taken.takes)
        if (
            taken.is_combined
            or taking is None
            or taking.parts is None
            or taking.starred is not None
        ):
            continue
        for place, part in enumerate(taking.parts):
            if part.text.rpartition(".")[2] in _NAMES and not part.takes_apart:
                rows = [one for one in facts.batches if one.kind in ("tuple", "list")]
                numbers = _values([one.parts[place : place + 1] for one in rows])
                yield part.text, _without(place, taking.parts), numbers, False


def _without(place: int, parts: Sequence[Taking]) -> str:
    """Write what a loop takes, without the number: it still comes."""
    names = ["_" if at == place else one.text for at, one in enumerate(parts)]
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"


def _by_keys(facts: FirstBatches) -> Iterator[tuple[str, str, tuple[int, ...], bool]]:
    for key in facts.batches[0].keys:
        if key in _KEYS:
            named = [dict(zip(one.keys, one.parts, strict=False)) for one in facts.batches]
            numbers = _values([(one[key],) for one in named if key in one])
            yield key, "batch", numbers, key not in _TOTAL


def _values(parts: Sequence[Sequence[Structure]]) -> tuple[int, ...]:
    """Give the numbers; none where one of the parts is no number."""
    known = [one.value for (one,) in parts if one.value is not None] if all(parts) else []
    return tuple(known) if len(known) == len(parts) else ()
