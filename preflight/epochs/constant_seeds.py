"""Runs in a process of its own: finds a data set that seeds alike whichever sample it is asked for.

As `random.seed(0)` in `__getitem__` does. Two samples are asked for, with other random numbers each
time, and what both seed by one and the same number is noted. Where a sample is always the same so,
and is another one each time without that line, its random numbers are drawn by chance no more.
"""

from __future__ import annotations

import contextlib
import random
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from preflight.epochs.changing import PATIENCE, indices, may_be_copied
from preflight.epochs.facts import SeededAlike
from preflight.epochs.sample_numbers import digest
from preflight.objects.attributes import classes, own_attributes
from preflight.objects.facts import Definition
from preflight.objects.paths import type_name
from preflight.objects.random_state import kept_random_state, seed
from preflight.users_code.frames import user_frames

_Seed: TypeAlias = "tuple[str, str, str, int, str]"
"""The function, what it is given, and the user's line: its file, number and text."""


def seeded_alike(
    parts: Mapping[str, Any], root: str, seconds: float, tell: Callable[..., None]
) -> SeededAlike | None:
    """Say by which line a shuffled data set seeds alike; None: by none, or nobody can tell.

    Of one that keeps an epoch, nobody is to tell: it may seed by that.
    """
    dataset = parts["dataset"]
    sampler: Any = getattr(parts.get("batch_sampler"), "sampler", parts.get("sampler"))
    in_order = isinstance(sampler, classes("torch.utils.data", "SequentialSampler"))
    told = hasattr(dataset, "set_epoch") or any("epoch" in str(k) for k in own_attributes(dataset))
    few = list(dict.fromkeys(indices(parts)))[-2:]
    if in_order or told or len(few) < 2:
        return None
    asked = _Asked(dataset, root)
    begun = time.monotonic()
    if not parts.get("num_workers"):
        with kept_random_state():
            found = asked[tuple(few)]
    elif may_be_copied():
        loader: Any = classes("torch.utils.data", "DataLoader")[0]
        given = {"multiprocessing_context": "fork", "timeout": min(PATIENCE, max(seconds, 1))}
        (found,) = loader(asked, batch_size=None, sampler=[tuple(few)], num_workers=1, **given)
    else:
        return None
    tell(beside=time.monotonic() - begun)
    if found is None:
        return None
    _, _, file, line, text = found
    return SeededAlike(dataset=type_name(type(dataset)), code=text, at=Definition(file, line))


class _Asked:
    """A data set that says of two samples by what they are seeded."""

    def __init__(self, dataset: Any, root: str) -> None:
        self.dataset, self.root = dataset, root

    def __len__(self) -> int:
        return 1

    def __getitem__(self, few: tuple[Any, Any]) -> _Seed | None:
        one, other = few
        seeds = [self._asked(index, number)[1] for number, index in enumerate((one, other, one))]
        common = {*seeds[0]}.intersection(*seeds[1:])
        for found in [each for each in seeds[0] if each in common]:
            if self._made(one, 5) == self._made(one, 6):
                without = [self._made(one, number, found) for number in (7, 8, 9)]
                if len({*without}) == len(without):
                    return found
        return None

    def _made(self, index: Any, number: int, left_out: _Seed | None = None) -> int:
        return self._asked(index, number, left_out)[0]

    def _asked(
        self, index: Any, number: int, left_out: _Seed | None = None
    ) -> tuple[int, list[_Seed]]:
        """Give a number for a sample, and what was seeded while it was made."""
        seed(number)
        with _noting(self.root, left_out) as seeds:
            made = self.dataset[index]
        return digest(made), seeds


@contextlib.contextmanager
def _noting(root: str, left_out: _Seed | None) -> Iterator[list[_Seed]]:
    """Note meanwhile what seeds by a number that is written out; have one of them do nothing."""
    seeds: list[_Seed] = []
    numpy: Any = sys.modules.get("numpy.random")
    places: list[tuple[Any, str, Callable[[], Any]]] = [
        (random, "seed", lambda: None),
        (sys.modules["torch"], "manual_seed", lambda: sys.modules["torch"].default_generator),
    ]
    if numpy is not None:
        places += [(numpy, "seed", lambda: None), (numpy, "default_rng", numpy.default_rng)]
    before = [getattr(module, name) for module, name, _ in places]

    def noted(place: tuple[Any, str, Callable[[], Any]], call: Callable[..., Any]) -> Any:
        module, name, instead = place

        def seeds_or_not(*args: Any, **kwargs: Any) -> Any:
            frames = user_frames(traceback.extract_stack(), root)
            given = [*args, *kwargs.values()]
            if frames and given and given[0] is not None:
                last = frames[-1]
                one = (f"{module.__name__}.{name}", repr(given), last.file, last.line, last.text)
                seeds.append(one)
                if one == left_out:
                    return instead()
            return call(*args, **kwargs)

        return seeds_or_not

    try:
        for place, call in zip(places, before, strict=True):
            setattr(place[0], place[1], noted(place, call))
        yield seeds
    finally:
        for (module, name, _), call in zip(places, before, strict=True):
            setattr(module, name, call)
