"""Keeps the random numbers of a process, or has them begin anew, whatever is drawn from them."""

from __future__ import annotations

import contextlib
import functools
import gc
import random
import sys
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from typing import Any

from preflight.objects.attributes import classes, subclasses


@contextlib.contextmanager
def kept_random_state() -> Iterator[None]:
    """Put the generators that a whole process shares back to where they stood."""
    torch: Any = sys.modules.get("torch")
    numpy: Any = sys.modules.get("numpy.random")
    python = random.getstate()
    of_torch = torch.get_rng_state() if torch is not None else None
    cuda = torch.cuda if torch is not None and torch.cuda.is_initialized() else None
    of_cuda = cuda.get_rng_state_all() if cuda is not None else None
    of_numpy = numpy.get_state() if numpy is not None else None
    try:
        yield
    finally:
        random.setstate(python)
        if torch is not None:
            torch.set_rng_state(of_torch)
        if cuda is not None:
            cuda.set_rng_state_all(of_cuda)
        if numpy is not None:
            numpy.set_state(of_numpy)


def seed(number: int) -> None:
    """Have all random numbers that a whole process shares begin alike."""
    torch: Any = sys.modules["torch"]
    random.seed(number)
    # `torch.manual_seed` writes the stack down for each kind of device that nobody has used as yet.
    (torch if torch.cuda.is_initialized() else torch.default_generator).manual_seed(number)
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(number)


def _shared() -> list[object]:
    """Give those of the whole process, which somebody may have frozen."""
    torch: Any = sys.modules.get("torch")
    numpy: Any = sys.modules.get("numpy.random")
    found = [getattr(random.random, "__self__", None), getattr(torch, "default_generator", None)]
    return [*found, getattr(getattr(numpy, "rand", None), "__self__", None)]


class Generators:
    """All that draw random numbers in this process by now, also those that a function has made.

    Where some are known already, and what there was then was frozen by `gc.freeze`, others are
    looked for among what was made since.
    """

    def __init__(self, known: Generators | None = None) -> None:
        every = gc.get_objects()
        every += gc.get_referents(*every)  # the collector knows nothing of torch's own
        every += _shared()
        kinds = {
            kind: begin
            for name, begin in _BEGIN.items()
            for made in classes(*name)
            for kind in (made, *subclasses(made))
        }
        self._found: dict[int, tuple[Any, Callable[[Any, int], object]]] = {}
        self._found |= {} if known is None else known._found  # noqa: SLF001
        self._found |= {id(one): (one, kinds[type(one)]) for one in every if type(one) in kinds}

    def begin(self, number: int) -> None:
        """Have each begin anew, and those of the process."""
        seed(number)
        for one, begin in self._found.values():
            with contextlib.suppress(Exception):  # one of a class or a device of its own
                begin(one, number)

    def begin_those(self, those: Collection[int], number: int) -> None:
        """Have these begin anew, by their numbers in `states`."""
        for key in those:
            one, begin = self._found[key]
            with contextlib.suppress(Exception):  # as above
                begin(one, number)

    def states(self) -> dict[int, int]:
        """Give where each stands now, as a number."""
        found = {}
        for key, (one, begin) in self._found.items():
            with contextlib.suppress(Exception):  # as above
                found[key] = hash(_STATES[begin](one))
        return found


def known_generators() -> Generators:
    """Give all by now; what there was at the first call is looked through once a process.

    From then on nothing of that is collected, so call it only in a process that is ours.
    """
    return Generators(_of_the_first_call())


@functools.cache
def _of_the_first_call() -> Generators:
    found = Generators()
    gc.freeze()
    return found


def _of_numpy(generator: Any, number: int) -> None:
    bits = generator.bit_generator
    bits.state = type(bits)(number).state


def _plain(_name: str, key: Any, *place: Any) -> Hashable:
    return key.tobytes(), place


_BEGIN: Mapping[tuple[str, str], Callable[[Any, int], object]] = {
    ("random", "Random"): random.Random.seed,
    ("numpy.random", "RandomState"): lambda one, number: one.seed(number),
    ("numpy.random", "Generator"): _of_numpy,
    ("torch", "Generator"): lambda one, number: one.manual_seed(number),
}

_STATES: Mapping[Callable[[Any, int], object], Callable[[Any], Hashable]] = {
    _BEGIN["random", "Random"]: lambda one: one.getstate(),
    _BEGIN["numpy.random", "RandomState"]: lambda one: _plain(*one.get_state()),
    _BEGIN["numpy.random", "Generator"]: lambda one: repr(one.bit_generator.state),
    _BEGIN["torch", "Generator"]: lambda one: one.get_state().numpy().tobytes(),
}
