"""Says whether Lightning's Trainer divides by itself what a module of data gives each rank.

It does, among all ranks, unless it is told not to (`use_distributed_sampler`), or a sampler of
torch's divides already. Whatever text of the job's says that word is taken for what tells it so.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Iterator

from preflight.values.names import name_of

_OF_LIGHTNING = frozenset({"LightningDataModule", "LightningModule"})

_TELLS = re.compile(r"use_distributed_sampler|replace_sampler_ddp")
_TRAINER = re.compile(r"\b(?:Trainer|LightningCLI)\(")

# Files of the job's folder that are read beside those imported, of so many that lie there.
_SUFFIXES = (".py", ".yaml", ".yml", ".toml", ".json", ".ipynb", ".sh")
_MOST, _MOST_THERE, _LARGEST = 500, 20_000, 1 << 20


def by_trainer(made: object, files: Iterable[str], root: str) -> str | None:
    """Name the source that has its Trainer, empty if none is known; None: nothing divides again."""
    if not any(one.__name__ in _OF_LIGHTNING for one in type(made).__mro__):
        return None
    found = ""
    for path in dict.fromkeys((*files, *itertools.islice(_texts(root), _MOST))):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read(_LARGEST)
        except OSError:
            continue
        if _TELLS.search(text):
            return None
        if not found and path.endswith(".py") and _TRAINER.search(text):
            found = name_of(path, root)
    return found


def _texts(root: str) -> Iterator[str]:
    there = 0
    for folder, folders, names in os.walk(root):
        folders[:] = [one for one in folders if not one.startswith((".", "__"))]
        there += len(names)
        if there > _MOST_THERE:  # its data lie here, too
            return
        yield from (os.path.join(folder, one) for one in names if one.endswith(_SUFFIXES))
