"""Where a number that is NaN or infinite was made: each call of torch is looked at."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from preflight.training.finite import not_finite
from preflight.users_code.facts import Frame
from preflight.values.own_files import passes_on

# Things of one call that are looked at.
_MOST = 50


class Origin(NamedTuple):
    """The call that made it."""

    at: Frame | None
    """The script's own innermost line."""

    by: str
    """The function of torch: `log`."""


class Origins:
    """Follows values that are not finite from where they are made to the loss."""

    def __init__(self, place: Callable[[], Frame | None]) -> None:
        self._place = place
        self._known: dict[int, tuple[weakref.ref[Any], Origin]] = {}

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Look at what each function of torch gives in this thread."""
        from torch.overrides import TorchFunctionMode

        note = self._note

        class Listening(TorchFunctionMode):  # type: ignore[misc, no-any-unimported, unused-ignore]
            @passes_on
            def __torch_function__(
                self,
                func: Callable[..., Any],
                types: Sequence[type],
                args: Sequence[Any] = (),
                kwargs: Mapping[str, Any] | None = None,
            ) -> Any:
                given = func(*args, **(kwargs or {}))
                note(func, (*args, kwargs), given)
                return given

        with Listening():
            yield

    def of(self, tensor: Any) -> Origin | None:
        """Say where a value was made."""
        ref, origin = self._known.get(id(tensor), (None, None))
        return origin if ref is not None and ref() is tensor else None

    def _note(self, func: Callable[..., Any], taken: object, given: object) -> None:
        made = _tensors(given)
        bad = {id(made[place]) for place in not_finite(made)}
        for one in made:
            if id(one) not in bad:
                self._known.pop(id(one), None)
            elif self.of(one) is None:
                before = next(filter(None, map(self.of, _tensors(taken))), None)
                by = getattr(func, "__name__", "")
                self._known[id(one)] = weakref.ref(one), before or Origin(self._place(), by)


def _tensors(thing: object) -> list[Any]:
    import torch

    found: list[Any] = []
    todo = [thing]
    for _ in range(_MOST):
        if not todo:
            break
        one = todo.pop()
        if isinstance(one, torch.Tensor):
            found.append(one)
        elif isinstance(one, Mapping):
            todo += one.values()
        elif isinstance(one, (tuple, list)):
            todo += one
    return found
