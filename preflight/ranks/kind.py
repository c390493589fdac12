"""The row of the ranks of a job."""

from __future__ import annotations

from preflight.kinds.kind import Kind
from preflight.ranks.facts import WorldFacts
from preflight.ranks.made.facts import RankBatches, RankLost, RankOrder, RanksPassed
from preflight.targets.targets import Built, CacheFolder, Dataset, Loader, Remote


def _spread(found: list[WorldFacts]) -> str | None:
    """Say on a page how much each rank has."""
    said = []
    for one in found:
        least, most = min(one.each, default=0), max(one.each, default=0)
        noun = one.noun if one.noun != "entry" else "entr" + ("y" if most == 1 else "ies")
        plural = "s" if most != 1 and one.noun != "entry" else ""
        number = f"{most:,}" if least == most else f"{least:,} to {most:,}"
        if one.ranks > 1:
            said.append(f"{number} {noun}{plural} on each of {one.ranks:,} ranks")
    return "; ".join(said) or None


def _counted(found: list[RankBatches]) -> str | None:
    """Say on a page how many ranks have made it."""
    most = max((len(one.counts) for one in found), default=0)
    return f"made by {most:,} of {found[0].ranks:,} ranks" if most else None


WORLD = Kind(
    name="world",
    noun="split among ranks",
    facts={WorldFacts: "cache, data set or loader of which the settings say a split"},
    led_to_by=(CacheFolder, Dataset, Loader, Remote),
    reader="preflight.ranks.read:look",
    gather="preflight.ranks.gather:Worlds",
    sums_up={WorldFacts: _spread},
)

BY_RANK = Kind(
    name="by-rank",
    noun="loader",
    word="loader",
    facts={
        RankBatches: "loader to make by several ranks",
        RankOrder: "loader to make in processes that differ",
    },
    answers=(RankLost, RanksPassed),
    made_of=(Loader, Built),
    sums_up={RankBatches: _counted},
)

KINDS = (WORLD, BY_RANK)
"""Beside those of what is divided, and for their sake; loaders are made where they are looked at.
"""
