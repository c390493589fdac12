"""The rows of folders of cached files."""

from __future__ import annotations

from preflight.cached_files.facts import CacheFacts, CachePiece
from preflight.caches.facts import CacheFolderFacts
from preflight.checkpoints.facts import CheckpointFacts
from preflight.checkpoints.newest import newest
from preflight.kinds.kind import Kind
from preflight.targets.folders import CACHE_SUFFIXES
from preflight.targets.targets import CacheFolder

# For one cached file.
SECONDS = 100e-6

CACHE = Kind(
    name="cache-files",
    noun="cache file",
    word="cache",
    part="cache",
    target=CacheFolder,
    suffixes=CACHE_SUFFIXES,
    facts={
        CacheFacts: "cache",
        CacheFolderFacts: "folder of cached files",
        CheckpointFacts: "folder of checkpoints",
    },
    answers=(CachePiece,),
    reader="preflight.cached_files.read:look",
    gather="preflight.caches.gather:Caches",
    seconds=lambda _plain, _root, _depth: SECONDS,
    is_kept=True,
    may_be_left=True,
    counts=lambda facts: {"file": 1} if isinstance(facts, CacheFacts) else {},
    sums_up={CheckpointFacts: newest},
    depths={"index": "by their structure"},
)

KINDS = (CACHE,)
