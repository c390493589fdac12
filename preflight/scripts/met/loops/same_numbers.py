"""Loops over epochs that seed anew in each: the loader shuffles alike, however long is trained.

Where a pass over a loader begins with the very random numbers of the pass before, nothing else can
come of it: to begin one draws a number of them, and so does whatever else is random.
"""

from __future__ import annotations

import hashlib
import sys
from typing import Any, NamedTuple

from preflight.epochs.facts import SameOrder
from preflight.loaders.epoch import length_of
from preflight.objects.attributes import own_attributes
from preflight.objects.paths import type_name
from preflight.scripts.watch import Watch
from preflight.users_code.facts import Frame

# Torch's own, which draw by the random numbers that stand as an epoch begins.
_BY_CHANCE = frozenset({"RandomSampler", "SubsetRandomSampler", "WeightedRandomSampler"})

# Fewer come in one order by chance.
_FEWEST = 8


class _Began(NamedTuple):
    numbers: str
    dataset: int
    optimizers: int
    """How many there were: a run that begins anew, with a model of its own, is seeded alike."""


class SameNumbers:
    """How random numbers stood as each pass for training began, by the line that begins it."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._began: dict[Frame, tuple[_Began, int]] = {}
        self._told: set[Frame] = set()

    def begin(self, loader: object, at: Frame | None, optimizers: int) -> SameOrder | None:
        """Note a pass, and give the order of one that begins as the one before did, once.

        `optimizers`: how many the script has made so far.
        """
        watch = self._watch
        if at is None or at in self._told or not watch.wants("RandomDraws"):
            return None
        own = own_attributes(loader)
        batches = own_attributes(own.get("batch_sampler"))
        sampler: Any = batches.get("sampler", own.get("sampler"))
        kind = type_name(type(sampler))
        name, samples = kind.rpartition(".")[2], length_of(sampler) or 0
        if name not in _BY_CHANCE or not kind.startswith("torch.utils.data."):
            return None
        stands = _stand(own_attributes(sampler).get("generator"))
        now = _Began(stands, id(own.get("dataset")), optimizers)
        before, steps = self._began.get(at, (None, watch.steps))
        self._began[at] = now, watch.steps
        if now != before or watch.steps == steps or samples < _FEWEST:
            return None
        self._told.add(at)
        return SameOrder(sampler=name, samples=samples, begins_anew=True, by_loop=True)


def _stand(generator: Any) -> str:
    torch: Any = sys.modules["torch"]
    state = (generator or torch.default_generator).get_state()
    return hashlib.sha256(state.numpy().tobytes()).hexdigest()
