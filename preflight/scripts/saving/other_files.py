"""Says what a script has written beside its checkpoints: apart from the job, and for real."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Mapping

from preflight.overlay.layer import Layer
from preflight.scripts.facts import Met
from preflight.values.names import name_of

# A folder that holds more, or takes longer to list, is not compared.
_MOST, _SECONDS = 50_000, 2.0

# Files that are told one by one.
_NAMED = 100

# What others write there meanwhile.
_NOT_THE_SCRIPT = (".git", ".preflight", "__pycache__")


def standing(folder: str) -> Mapping[str, tuple[int, int]] | None:
    """Give the size and time of each file below a folder; None where it holds too many."""
    found: dict[str, tuple[int, int]] = {}
    ours = os.path.join(os.path.abspath(tempfile.gettempdir()), "preflight-")
    until = time.monotonic() + _SECONDS
    todo = [folder]
    while todo:
        if len(found) > _MOST or time.monotonic() > until:
            return None
        try:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    if entry.name in _NOT_THE_SCRIPT or entry.path.startswith(ours):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
                    else:
                        status = entry.stat(follow_symlinks=False)
                        found[entry.path] = status.st_size, status.st_mtime_ns
        except OSError:  # it went away, or cannot be listed
            continue
    return found


def written(
    before: Mapping[str, tuple[int, int]] | None,
    after: Mapping[str, tuple[int, int]] | None,
    layer: Layer | None,
    *,
    root: str,
    saved: Iterable[str],
) -> list[Met]:
    """Name what was written into the layer and is no checkpoint, and what is written for real."""
    known = sorted(saved)
    apart = [name_of(one, root) for one in layer.written()] if layer is not None else []
    found = [Met(what="apart", name=one) for one in apart if one not in known]
    if layer is not None and before is not None and after is not None:
        changed = sorted(one for one in {*before, *after} if before.get(one) != after.get(one))
        found += [Met(what="for real", name=name_of(one, root)) for one in changed]
    if layer is not None:  # such as below the folder for temporary files
        outside = (one for one in known if layer.own(os.path.join(root, one)) is None)
        real = (one for one in outside if os.path.exists(os.path.join(root, one)))
        found += [Met(what="for real", name=one) for one in real]
    return found[:_NAMED]
