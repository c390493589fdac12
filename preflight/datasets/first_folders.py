"""Lists the first few folders of a data set, those that hold little and so may hold its parts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import islice

_DEEPEST = 4
_MOST_FOLDERS = 300

_MOST_ENTRIES = 2_000
"""More than that are the data itself."""


def first_folders(
    top: str, is_passed: Callable[[str], object] = lambda _: False
) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
    """Give a folder and those in it with what they hold, but for what is passed by its name."""
    waiting = [(top, 0)]
    for _ in range(_MOST_FOLDERS):
        if not waiting:
            return
        place, depth = waiting.pop(0)
        entries = entries_of(place)
        yield place, entries
        inner = (one for one in entries if one.is_dir(follow_symlinks=False))
        if depth < _DEEPEST:
            waiting += (
                (one.path, depth + 1)
                for one in inner
                if one.name[0] != "." and not is_passed(one.name)
            )


def entries_of(place: str, most: int = _MOST_ENTRIES) -> list[os.DirEntry[str]]:
    """List a folder; nothing of one that holds more, or cannot be listed."""
    try:
        with os.scandir(place) as entries:
            found = list(islice(entries, most + 1))
    except OSError:
        return []  # which is told of the folder itself
    return found if len(found) <= most else []
