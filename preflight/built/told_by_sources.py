"""Says what the job's sources know of what was found where ranks made a loader."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from preflight.built.seeding import seeded_before
from preflight.built.undivided import trains_undivided
from preflight.ranks.made.facts import RankBatches, RankOrder
from preflight.sources.work.evened import joined
from preflight.users_code.frames import own_sources


def by_sources(facts: Any, factory: str, root: str, scripts: Sequence[str]) -> Any:
    """Add to facts what sources say: those that are imported, and those that lie beside them."""
    if isinstance(facts, RankBatches):
        if len({(one.batches, one.ended) for one in facts.counts}) < 2:
            return facts
        return replace(facts, joined=joined(own_sources(root), root, scripts))
    if not isinstance(facts, RankOrder):
        return facts
    causes = {one.cause for one in facts.found}
    if causes & {"undivided", "unsampled"}:
        facts = replace(facts, undivided=trains_undivided(own_sources(root), root))
        if not facts.undivided:  # what has a length is divided by many others
            found = tuple(one for one in facts.found if one.cause != "unsampled")
            facts = replace(facts, found=found)
    if "random" in causes:
        home = facts.defined.file or ""
        home = home if os.path.isabs(home) else os.path.join(root, home)
        seeding = seeded_before(factory, home, root, root)
        if seeding is not None:
            facts = replace(facts, seeded=seeding.place, seeds_surely=seeding.is_sure)
    return facts
