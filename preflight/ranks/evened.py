"""Finds in the job's own texts what lets ranks go on that have more batches than others.

Such as torch's `Join`, and `join_uneven_inputs` of accelerate, which is made of it.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Iterator

from preflight.values.names import name_of

_JOINS = re.compile(
    r"^[^#\n]*(\bJoin\(\s*\[|\bjoin_uneven_inputs\(|\bwith\s+[\w.]+\.join\(\))", re.MULTILINE
)

# Files of the job's folder that are read beside those imported, of so many that lie there.
_SUFFIXES = (".py", ".yaml", ".yml", ".toml", ".json", ".ipynb", ".sh")
_MOST, _MOST_THERE, _LARGEST = 500, 20_000, 1 << 20


def joined(files: Iterable[str], root: str) -> str:
    """Say where ranks are joined, as `train.py:12`; empty: nowhere that is known."""
    for path, text in texts(files, root):
        found = _JOINS.search(text) if path.endswith(".py") else None
        if found is not None:
            return f"{name_of(path, root)}:{text.count(chr(10), 0, found.start(1)) + 1}"
    return ""


def texts(files: Iterable[str], root: str) -> Iterator[tuple[str, str]]:
    """Give files and those beside them in the job's folder, each with its text."""
    for path in dict.fromkeys((*files, *itertools.islice(_beside(root), _MOST))):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                yield path, file.read(_LARGEST)
        except OSError:
            continue


def _beside(root: str) -> Iterator[str]:
    there = 0
    for folder, folders, names in os.walk(root):
        folders[:] = [one for one in folders if not one.startswith((".", "__"))]
        there += len(names)
        if there > _MOST_THERE:  # its data lie here, too
            return
        yield from (os.path.join(folder, one) for one in names if one.endswith(_SUFFIXES))
