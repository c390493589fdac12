"""The rows of folders of cached files."""

from __future__ import annotations

from collections.abc import Sequence

from preflight.cached_files.facts import CacheFacts, CachePiece
from preflight.caches.facts import CacheFolderFacts
from preflight.checkpoints.facts import CheckpointFacts
from preflight.kinds.kind import Kind
from preflight.targets.file_types.suffixes import CACHE_SUFFIXES
from preflight.targets.targets import Built, CacheFolder, Loader, Script
from preflight.values.names import first_of, shown

# For one cached file.
SECONDS = 100e-6


def _newest(found: Sequence[CheckpointFacts]) -> str | None:
    """Name the newest whole checkpoint of each run in a folder, where it has several."""
    runs = [
        (one, next((state.name for state in one.checkpoints if state.is_whole), ""))
        for one in found
        if len(one.checkpoints) > 1
    ]
    if len(runs) > 1:
        names = [f"{one.file.rpartition('/')[2]}/{whole}" for one, whole in runs if whole]
        return f"newest whole checkpoints: {first_of(names, len(names))}" if names else None
    for one, whole in runs:
        what = "checkpoint" if whole == one.checkpoints[0].name else "whole checkpoint"
        return f"newest {what}: {shown(whole)}" if whole else "no whole checkpoint"
    return None


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
    led_to_by=(Loader, Built, Script),
    answers=(CachePiece,),
    reader="preflight.cached_files.read:look",
    gather="preflight.caches.gather:Caches",
    seconds=lambda _plain, _root, _depth: SECONDS,
    is_kept=True,
    may_be_left=True,
    counts=lambda facts: {"file": 1} if isinstance(facts, CacheFacts) else {},
    sums_up={CheckpointFacts: _newest},
    depths={"index": "by their structure"},
)

KINDS = (CACHE,)
