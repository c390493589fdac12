"""Runs in a process of its own: whether what was gone through to its end gives anything again."""

from __future__ import annotations

import contextlib
import inspect
import threading
from typing import Any

from preflight.loaders.wrappers import real_loader
from preflight.objects.attributes import classes, own_attributes
from preflight.values.own_files import theirs

# Seconds in which an iterator has to say that it is at its end: one that waits for more never does.
_PATIENCE = 3.0

_END = object()


def used_up(loader: Any) -> dict[str, bool]:
    """Say of a loader, behind its first epoch, what a second loop over its iterator would get."""
    if own_attributes(loader).get("once") is True:
        own = own_attributes(loader)
        return {"is_one": _has_ended(own["dataset"]), "goes_on": own["begun"]}
    begin = getattr(type(loader), "__iter__", None)
    of_torch = [getattr(one, "__iter__", None) for one in classes("torch.utils.data", "DataLoader")]
    is_torch = begin in of_torch and real_loader(loader) is loader
    return {"gives_iterators": is_torch or inspect.isgeneratorfunction(begin)}


def _has_ended(batches: Any) -> bool:
    """Begin it again, as a loop would, in a thread: the user's code may wait there for ever."""
    seen: list[bool] = []

    def look() -> None:
        with contextlib.suppress(BaseException):  # the user's code; nothing is known then
            seen.append(next(theirs(iter)(batches), _END) is _END)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(_PATIENCE)
    return seen == [True]
