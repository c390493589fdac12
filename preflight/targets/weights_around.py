"""Tells weights of models that lie around from a cache, where nobody has named either."""

from __future__ import annotations

import re
from collections.abc import Iterable

from preflight.cached_files.cache_listing import list_cache
from preflight.kinds.target import Target
from preflight.targets.targets import CacheFolder, Source

_FEW = 20
"""Files of weights that somebody keeps in a folder; of more, none is opened."""

_HEAD = 1 << 20
"""Bytes in which all formats name what they hold, or begin to."""

# As torch and flax name what their layers hold, a pickled model its class, and optimizers theirs.
_OF_A_MODEL = re.compile(rb"[./](?:weight|kernel)|torch\.nn\.modules|param_groups")


def weights_around(targets: Iterable[Target]) -> tuple[CacheFolder, ...]:
    """Give the caches around code that hold few files, each of them the weights of a model.

    A job begins with them or has left them: they are none of its samples.
    """
    targets = tuple(targets)
    if not any(isinstance(one, Source) for one in targets):
        return ()
    caches = (one for one in targets if isinstance(one, CacheFolder) and not one.checkpoint)
    return tuple(one for one in caches if _holds_weights_alone(one.path))


def _holds_weights_alone(path: str) -> bool:
    try:
        files = list_cache(path).files
        return 0 < len(files) <= _FEW and all(map(_names_weights, files))
    except OSError:
        return False


def _names_weights(path: str) -> bool:
    with open(path, "rb") as file:
        return _OF_A_MODEL.search(file.read(_HEAD)) is not None
