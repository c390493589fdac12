"""The row of cached files whose numbers are looked at."""

from __future__ import annotations

from preflight.kinds.kind import Kind
from preflight.targets.targets import CacheFolder
from preflight.tensors.facts import CacheContents, Content

CONTENT = Kind(
    name="cache-content",
    noun="loaded cache file",
    word="cache",
    target=CacheFolder,
    facts={CacheContents: "cache by torch (--deep)"},
    answers=(Content,),
    reader="preflight.tensors.read:look",
    gather="preflight.tensors.gather:LoadedFiles",
    seconds=lambda _plain, _root, _depth: 2e-3,
    loads_torch=True,
    is_kept=True,
)

KINDS = (CONTENT,)
