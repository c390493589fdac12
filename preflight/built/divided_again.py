"""Says whether Lightning's Trainer divides by itself what a module of data gives each rank.

It does, among all ranks, unless it is told not to (`use_distributed_sampler`), or a sampler of
torch's divides already. Whatever text of the job's says that word is taken for what tells it so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from preflight.sources.work.evened import texts
from preflight.values.names import name_of

_OF_LIGHTNING = frozenset({"LightningDataModule", "LightningModule"})

# A class of that name that the job has written itself has no Trainer where no text imports these.
_PACKAGES = frozenset({"lightning", "pytorch_lightning"})
_IMPORTS = re.compile(r"^\s*(?:from|import)\s+(?:pytorch_)?lightning\b", re.MULTILINE)

_TELLS = re.compile(r"use_distributed_sampler|replace_sampler_ddp")
_TRAINER = re.compile(r"\b(?:Trainer|LightningCLI)\(")

# Without a Trainer, it is Fabric that divides what it is handed, and nothing else.
_FABRIC, _HANDED = re.compile(r"\bFabric\("), re.compile(r"\bsetup_dataloaders\(")


def by_trainer(made: object, files: Iterable[str], root: str) -> str | None:
    """Name the source that has its Trainer, empty if none is known; None: nothing divides again."""
    bases = [one for one in type(made).__mro__ if one.__name__ in _OF_LIGHTNING]
    if not bases:
        return None
    is_known = any(one.__module__.partition(".")[0] in _PACKAGES for one in bases)
    found, sources = "", list[str]()
    for path, text in texts(files, root):
        if _TELLS.search(text):
            return None
        if not found and path.endswith(".py") and _TRAINER.search(text):
            found = name_of(path, root)
        sources += [text] if path.endswith(".py") else []
    if sources and not (is_known or any(map(_IMPORTS.search, sources))):
        return None
    is_fabric = any(map(_FABRIC.search, sources)) and not any(map(_HANDED.search, sources))
    return None if is_fabric and not found else found
