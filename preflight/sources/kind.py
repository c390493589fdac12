"""The rows of sources, and of what is asked about in a folder of them."""

from __future__ import annotations

from preflight.kinds.kind import Kind
from preflight.sources.facts import (
    ComesTo,
    Mentions,
    Opens,
    ScriptImports,
    SourceFacts,
    SourceFile,
    Unparsed,
)
from preflight.targets.targets import Source

SECONDS = 1.5e-3
"""For one file of a folder: a few are parsed, most only searched for words."""

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
    offers="preflight.sources.makers.offers:offers",
    counts=lambda facts: {"file": facts.files - len(facts.passed_over)},
)

EACH = Kind(
    name="source-file",
    noun="source",
    answers=(SourceFile,),
    reader="preflight.sources.read:look_into_files",
    is_kept=True,
)

NAMES = Kind(
    name="source-names",
    noun="source",
    answers=(ComesTo, Mentions, Opens, ScriptImports, Unparsed),
    reader="preflight.sources.read:look_for_names",
)

KINDS = (SOURCE, EACH, NAMES)
