"""Says whether Lightning's Trainer divides by itself what a module of data gives each rank.

It does, among all ranks, unless it is told not to (`use_distributed_sampler`), or a sampler of
torch's divides already. Whatever text of the job's says that word is taken for what tells it so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from preflight.ranks.evened import texts
from preflight.values.names import name_of

_OF_LIGHTNING = frozenset({"LightningDataModule", "LightningModule"})

_TELLS = re.compile(r"use_distributed_sampler|replace_sampler_ddp")
_TRAINER = re.compile(r"\b(?:Trainer|LightningCLI)\(")


def by_trainer(made: object, files: Iterable[str], root: str) -> str | None:
    """Name the source that has its Trainer, empty if none is known; None: nothing divides again."""
    if not any(one.__name__ in _OF_LIGHTNING for one in type(made).__mro__):
        return None
    found = ""
    for path, text in texts(files, root):
        if _TELLS.search(text):
            return None
        if not found and path.endswith(".py") and _TRAINER.search(text):
            found = name_of(path, root)
    return found
