"""The row of shards."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from typing import Any

from preflight.kinds.kind import Kind
from preflight.kinds.same import Same
from preflight.shards.facts import ShardFacts
from preflight.targets.file_types.suffixes import SHARD_SUFFIXES
from preflight.targets.targets import Built, Loader, Script, Shard

# Bytes a second, by depth; of JPEGs and captions, with one processor, from the page cache.
_RATES = {"index": 4e9, "bytes": 1.2e9, "decode": 40e6}
_UNPACKED = 100e6
_PACKED = (".gz", ".tgz", ".bz2", ".tbz2", ".xz", ".txz", ".zst", ".zstd", ".tzst")


def _seconds(plain: Mapping[str, Any], root: str, depth: str) -> float:
    size = 0
    with contextlib.suppress(OSError):
        size = os.stat(os.path.join(root, plain["path"])).st_size
    rate = _RATES[depth]
    return size / (min(rate, _UNPACKED) if plain["path"].endswith(_PACKED) else rate)


SHARD = Kind(
    name="shard",
    noun="shard",
    word="data",
    part="data",
    target=Shard,
    suffixes=SHARD_SUFFIXES,
    each_file=True,
    facts={ShardFacts: "shard"},
    reader="preflight.shards.read:look",
    led_to_by=(Loader, Built, Script),
    gather="preflight.shards.gather:Shards",
    seconds=_seconds,
    is_kept=True,
    may_be_left=True,
    counts=lambda facts: {"shard": 1, "sample": facts.samples},
    alike={ShardFacts: lambda facts, _root: (Same(what=facts.file, value=str(facts.size)),)},
    depths={"index": "images by their ends", "bytes": "images not decoded"},
)

KINDS = (SHARD,)
