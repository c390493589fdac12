"""The row of caches that are held against their samples."""

from __future__ import annotations

from preflight.keys.facts import CacheKeys
from preflight.kinds.kind import Kind
from preflight.targets.targets import CacheFolder

KEYS = Kind(
    name="cache-keys",
    noun="cache key list",
    word="cache",
    target=CacheFolder,
    facts={CacheKeys: "cache whose data sets are named (of)"},
    reader="preflight.keys.read:look",
    gather="preflight.keys.gather:KeyLists",
    may_be_left=True,
    asked_for=lambda job: any(one.of or one.key for one in job.cache),
)

KINDS = (KEYS,)
