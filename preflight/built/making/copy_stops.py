"""Says where in what was copied `copy.deepcopy` has stopped, by the frames of what it raised."""

from __future__ import annotations

import copy
import traceback

from preflight.users_code.facts import CopyStop

# What nn.Module keeps its parts in, which no path of it names.
_PARTS = frozenset({"_modules", "_parameters", "_buffers"})

_OF_DICTS = frozenset({"_deepcopy_dict", "_reconstruct"})


def copy_stop(error: BaseException) -> CopyStop | None:
    """Give the way from what was copied to what cannot be; None where nothing was copied."""
    root, way = "", []
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename != copy.__file__:
            if root:  # a `__deepcopy__` of somebody's own goes another way
                way.append("…")
            continue
        name, held = frame.f_code.co_name, frame.f_locals
        if name == "deepcopy" and not root:
            root = type(held.get("x")).__name__
        elif name in _OF_DICTS and "key" in held:  # of a class derived from dict, too
            way.append(str(held["key"]))
        elif name == "_deepcopy_list" or (name == "_reconstruct" and "item" in held):
            way.append(f"[{len(held.get('y') or ())}]")
    named = [one for one in way if one not in _PARTS]
    if not root or not isinstance(error, TypeError) or not named:
        return None
    path = "".join(one if one.startswith("[") else f".{one}" for one in named)
    return CopyStop(root, path.removeprefix("."))
