"""Finds averages of the weights that a script keeps beside its model: copies that follow it.

Whoever keeps one names it as he likes: a copy of the model, torch's AveragedModel, a dict or a list
of tensors. It is known by what it does: it began as the weights, and steps move it to other values.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from preflight.objects.attributes import subclasses
from preflight.resuming.moments import Average
from preflight.scripts.saving.states.weight_samples import numbers_of, sample_of

# Each look goes over all objects, which takes a tenth of a second. After so many, it is known
# whether there are copies of the weights; after so many more, whether they follow these.
_LOOKS, _LOOKS_AT_COPIES = 4, 8

# So many are told of, the largest first.
_MOST = 8

_PLAIN = {one.__name__ for one in (dict, OrderedDict, list)}


class Averages:
    """What was seen of them in one process."""

    def __init__(self) -> None:
        self._looks = 0
        self._were: dict[int, tuple[float, ...]] = {}
        self._raw: set[int] = set()
        self._follow: set[int] = set()

    @property
    def is_open(self) -> bool:
        """Whether there are copies of the weights of which it is not known if they follow."""
        return bool(self._raw - self._follow)

    def look(self, optimizers: Iterable[Any]) -> tuple[Average, ...]:
        """Give what may be one: tensors of the shapes that optimizers train, in other memory."""
        if self._looks >= (_LOOKS_AT_COPIES if self._raw else _LOOKS):
            return ()
        self._looks += 1
        trained = [_trained(one) for one in optimizers]
        marks = [set(map(_mark, one)) for one in trained]
        found = []
        for number, kind, tensors in _beside(trained, optimizers):
            own, sample = set(map(_mark, tensors)), sample_of(tensors)
            is_raw = any(one <= own or own <= one for one in marks)
            if is_raw:
                self._raw.add(number)
            elif number in self._raw and self._were.get(number) not in {None, sample}:
                self._follow.add(number)
            self._were[number] = sample
            found.append(
                Average(
                    kind=kind,
                    weights=sum(one.numel() for one in tensors),
                    sample=sample,
                    is_raw=is_raw,
                    follows=number in self._follow,
                )
            )
        return tuple(found)


def _trained(optimizer: Any) -> list[Any]:
    return [one for group in optimizer.param_groups for one in group["params"]]


def _mark(tensor: Any) -> tuple[float, ...]:
    return (*tensor.shape, *numbers_of(tensor))


def _beside(
    trained: Sequence[Sequence[Any]], optimizers: Iterable[Any]
) -> Iterator[tuple[int, str, list[Any]]]:
    """Give what holds such tensors, the largest first, and nothing that lies within another.

    A module before a dict: its state is given as one while it is saved.
    """
    known = {_place(one) for each in trained for one in each}
    known |= {_place(one.grad) for each in trained for one in each if one.grad is not None}
    known |= {_place(one) for optimizer in optimizers for one in _state(optimizer)}
    shapes = [Counter(one.shape for one in each) for each in trained if each]
    holders = [one for one in _holders() if known.isdisjoint(map(_place, one[2]))]
    holders.sort(key=lambda one: (-len(one[2]), one[1] in _PLAIN))
    count = 0
    for number, kind, tensors in holders:
        own = Counter(one.shape for one in tensors)
        fits = any(not (one - own) or not (own - one) for one in shapes)
        if not fits or known.issuperset(map(_place, tensors)) or count >= _MOST:
            continue
        known.update(map(_place, tensors))
        count += 1
        yield number, kind, tensors


def _state(optimizer: Any) -> Iterator[Any]:
    torch: Any = sys.modules["torch"]
    for each in filter(lambda one: isinstance(one, dict), optimizer.state.values()):
        yield from (one for one in each.values() if isinstance(one, torch.Tensor))


def _holders() -> Iterator[tuple[int, str, list[Any]]]:
    torch: Any = sys.modules["torch"]
    module, tensor = torch.nn.Module, torch.Tensor
    kinds = {dict, OrderedDict, list, module, *subclasses(module)}
    found: list[Any] = [one for one in gc.get_objects() if type(one) in kinds]
    for one in found:
        kind = type(one)
        held = one.values() if kind is dict or kind is OrderedDict else one
        try:
            if issubclass(kind, module):
                held = [*module.parameters(one), *module.buffers(one)]
            # Asked by its type: proxies answer questions about themselves by imports and calls.
            if not issubclass(type(next(iter(held), None)), tensor):
                continue
            tensors = [each for each in held if issubclass(type(each), tensor)]
            tensors = [each for each in tensors if _is_plain(each)]
        except (AttributeError, RuntimeError, ValueError):  # half made, or changed meanwhile
            continue
        if tensors:
            yield id(one), kind.__name__, tensors


def _is_plain(tensor: Any) -> bool:
    return bool(tensor.is_floating_point()) and not tensor.is_nested


def _place(tensor: Any) -> tuple[int, int]:
    """Say where a tensor lies; one that lies nowhere is none but itself."""
    try:
        return tensor.data_ptr(), 0
    except (RuntimeError, NotImplementedError):
        return 0, id(tensor)
