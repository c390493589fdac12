"""Says whether the job's own sources train by ranks, and divide no batches among them later.

By words alone, also those of comments: whatever may divide is taken for what does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from preflight.values.names import name_of

_BY_RANKS = re.compile(r"\b(DistributedDataParallel|FullyShardedDataParallel|fully_shard|DDP)\b")

# What divides what a loader gives, hands it from rank to rank, or has ranks work on one batch.
_DIVIDES = re.compile(
    r"(?i)accelerat|\bprepare|trainer\b|lightning|fabric|deepspeed|composer|\bray\b|megatron|_by_node"
    r"|setup_dataloaders|broadcast|scatter|all_to_all|mesh|parallelize|(tensor|pipeline|sequence|"
    r"context|expert)_?parallel|distributedsampler|shard_?(iterable|dataset)"
    r"|(?<!ids=)\[[^\]\"'\n]*rank|chunk\(|split\([^\n]*(world|rank)"
    r"|%\s*\(?[\w.]*(world|replicas|ranks|processes|nprocs)|islice\([^\n]*(rank|process)"
)

_LARGEST = 1 << 20


def trains_undivided(files: Iterable[str], root: str) -> str:
    """Name the source that trains by ranks, where none may divide batches; empty: nobody knows."""
    found = ""
    for path in files:
        try:
            if os.path.getsize(path) > _LARGEST:
                return ""
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError:
            return ""
        if _DIVIDES.search(text):
            return ""
        if not found and _BY_RANKS.search(text):
            found = name_of(path, root)
    return found
