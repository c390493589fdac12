"""Says where in what was copied `copy.deepcopy` has stopped, by the frames of what it raised."""

from __future__ import annotations

import copy
import itertools
import traceback
from collections.abc import Iterable
from types import FrameType

from preflight.models.read import kind_of
from preflight.objects.copying.refusing import is_module
from preflight.users_code.facts import CopyStop

# What nn.Module keeps its parts in, which no path of it names.
_PARTS = frozenset({"_modules", "_parameters", "_buffers"})

# A step that a `__deepcopy__` of somebody's own goes.
_OWN = "…"

# What refuses with an error of its own kind.
_TELLING = frozenset({"non-leaf", "weight-norm", "pruned", "fsdp", "replicated", "wrapper"})

_OF_DICTS = frozenset({"_deepcopy_dict", "_reconstruct"})


def copy_stop(error: BaseException) -> CopyStop | None:
    """Give the way from what was copied to what cannot be; None where nothing was copied."""
    frames = [one for one, _ in traceback.walk_tb(error.__traceback__)]
    copied = [one.f_locals.get("x") for one in frames if one.f_code is copy.deepcopy.__code__]
    if not copied:
        return None
    *holders, last = copied
    kind = kind_of(last, next(filter(is_module, reversed(holders)), None))
    named = [one for one in _way(frames) if one not in _PARTS]
    if kind not in _TELLING and not (isinstance(error, TypeError) and named):
        return None
    path = "".join(one if one.startswith("[") else f".{one}" for one in named)
    return CopyStop(type(copied[0]).__name__, path.removeprefix("."), kind)


def _way(frames: Iterable[FrameType]) -> list[str]:
    """Give the steps of a copy; what refuses by itself, at the end of them, takes none."""
    way: list[str] = []
    for frame in itertools.dropwhile(lambda one: one.f_code.co_filename != copy.__file__, frames):
        name, held = frame.f_code.co_name, frame.f_locals
        if frame.f_code.co_filename != copy.__file__:
            way.append(_OWN)
        elif name in _OF_DICTS and "key" in held:  # of a class derived from dict, too
            way.append(str(held["key"]))
        elif name == "_deepcopy_list" or (name == "_reconstruct" and "item" in held):
            way.append(f"[{len(held.get('y') or ())}]")
    while way and way[-1] == _OWN:
        way.pop()
    return way
