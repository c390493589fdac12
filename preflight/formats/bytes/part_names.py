"""The names of arrays or tensors of a file, as they are held against those of files beside it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable

MOST_NAMES = 64
"""Names that are told; a file of more holds a model, or a list of things."""

SIZE = re.compile(r"\d+x\d+")
"""A size in the name of an array."""


def told_names(names: Iterable[str]) -> tuple[str, ...]:
    """Give them in the order of their letters; none where there are many.

    Sizes in a name (`latents_96x64`) are any: they differ from file to file.
    """
    first = {*itertools.islice(names, MOST_NAMES)}
    return tuple(sorted({SIZE.sub("#x#", one) for one in first})) if len(first) < MOST_NAMES else ()
