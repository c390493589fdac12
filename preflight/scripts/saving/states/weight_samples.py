"""A few numbers of weights and batches, by which two moments of a training are told apart."""

from __future__ import annotations

import itertools
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

# Tensors of one owner, and numbers of each tensor.
_TENSORS, _NUMBERS = 200, 8

# A state may hold more tensors than are looked at; what a model makes is few.
_MOST_MADE = 100

# Bytes of a batch, and things in it.
_BYTES, _THINGS = 1 << 16, 200


def sample_of(tensors: Iterable[Any]) -> tuple[float, ...]:
    """Give some numbers of each of some tensors, from the same places each time."""
    return tuple(
        number for one in itertools.islice(tensors, _TENSORS) for number in numbers_of(one)
    )


def numbers_of(tensor: Any) -> list[float]:
    """Give some numbers of a tensor; none where nobody can read them."""
    try:
        flat = tensor.detach().reshape(-1)
        step = max(flat.numel() // _NUMBERS, 1)
        numbers: list[float] = flat[::step][:_NUMBERS].float().cpu().tolist()
    except Exception:  # noqa: BLE001  a class of the user's, or on no device
        return []
    return numbers


def moves_nothing(optimizer: Any) -> bool:
    """Whether an optimizer has gradients, and each of them is zero."""
    every = (one.grad for group in optimizer.param_groups for one in group["params"])
    given = [
        one.to_local() if hasattr(one, "to_local") else one for one in every if one is not None
    ]
    return bool(given) and not any(map(_is_some, given))


def _is_some(gradient: Any) -> bool:
    return gradient.is_sparse or bool(gradient.any())


def mark_of(batch: object) -> int | None:
    """Tell a batch from others by its first tensors; None where it has none."""
    mark, seen = 0, False
    for one in itertools.islice(_tensors(batch), 4):
        try:
            flat = one.detach().reshape(-1)[: max(_BYTES // max(one.element_size(), 1), 1)]
            data = flat.cpu().contiguous().view(sys.modules["torch"].uint8).numpy().tobytes()
        except Exception:  # noqa: BLE001, S112  as above
            continue
        mark, seen = zlib.crc32(data, mark), True
    return mark if seen else None


def _tensors(thing: object) -> Iterator[Any]:
    torch: Any = sys.modules["torch"]
    todo = [thing]
    for _ in range(_THINGS):
        if not todo:
            return
        one = todo.pop(0)
        if isinstance(one, torch.Tensor):
            yield one
        elif isinstance(one, Mapping):
            todo += one.values()
        elif isinstance(one, (tuple, list)):
            todo += one
        elif isinstance(one, torch.nn.Module):
            todo += one.parameters()


def holds_trained(state: object, optimizers: Iterable[Any]) -> bool:
    """Whether parts of what is trained are saved: one shape alone may be that of labels, too."""
    trained = _shapes(optimizers)
    return bool(trained) and _holds(state, trained)


def _holds(state: object, trained: set[Any]) -> bool:
    made = {one.shape for one in _tensors(state)}
    return len(made & trained) >= min(2, len(trained))


def _shapes(optimizers: Iterable[Any]) -> set[Any]:
    return {
        one.shape for each in optimizers for group in each.param_groups for one in group["params"]
    }


def is_sample(state: object, optimizers: Iterable[Any]) -> bool:
    """Whether pictures or the like are saved, and nothing of a shape that is trained."""
    trained = _shapes(optimizers)
    if not any(len(one) > 1 for one in trained):  # flat copies of what is trained, or nothing
        return False
    made = [one.shape for one in _tensors(state) if one.dim() > 1]
    return 0 < len(made) < _MOST_MADE and trained.isdisjoint(made)
