"""The row of sources."""

from __future__ import annotations

from preflight.kinds.kind import Kind
from preflight.sources.facts import SourceFacts
from preflight.targets.targets import Source

SOURCE = Kind(
    name="source",
    noun="source",
    word="source",
    part="script",
    target=Source,
    suffixes=(".py",),
    facts={SourceFacts: "source"},
    reader="preflight.sources.read:look",
    gather="preflight.sources.gather:Sources",
    seconds=lambda _plain, _root, _depth: 0.1,
    offers="preflight.sources.offers:offers",
    counts=lambda facts: {"file": facts.files},
)

KINDS = (SOURCE,)
