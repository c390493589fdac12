"""Pairs the samples of a shard as far as that can be told of one that ends too early."""

from __future__ import annotations

from dataclasses import replace

from preflight.formats.bytes.flaw import Flaw
from preflight.pairing.facts import Pairing, Unpaired
from preflight.pairing.pair import pair
from preflight.shards.lost import is_all_there
from preflight.shards.samples import Samples
from preflight.targets.targets import Shard
from preflight.values.names import shown


def pair_so_far(
    samples: Samples, shard: Shard, flaw: Flaw | None, missed: int | None, *, broken: bool
) -> tuple[Pairing, Flaw | None, bool]:
    """Pair the samples.

    Gives also the flaw, which says more where a sample turns out to be cut off by it, and whether
    the last sample is broken.
    """
    rule, links = shard.captions, samples.links
    pairing = pair(samples.groups[: len(samples.groups) - broken], rule, shard=True, links=links)
    if flaw is None or is_all_there(flaw, missed):
        return pairing, flaw, broken
    only_last = flaw.kind == "no-end-marker"
    pairing, held = _hold_back(pairing, samples, only_last=only_last)
    pairing = pairing._replace(held=len(held) + broken)
    if not only_last or not (held or broken):
        return pairing, flaw, broken

    what = f"in the middle of the sample {shown(samples.groups[-1].key)}"
    if held and samples.scattered:
        what = f"and {shown(held[0].name)} has no {held[0].lacks} up to there"
    elif held:
        broken = True
        pairing = pair(samples.groups[:-1], rule, shard=True, links=links)._replace(held=1)
    return pairing, replace(flaw, kind="cut", text=f"{flaw.text}, {what}"), broken


def _hold_back(
    pairing: Pairing, samples: Samples, *, only_last: bool
) -> tuple[Pairing, tuple[Unpaired, ...]]:
    """Leave out what lacks something that may stand behind the end of what could be read.

    `only_last`: only the last sample is in doubt, as far as samples stand in one piece.
    """
    last = f"{samples.groups[-1].key}." if samples.groups else ""
    only_last = only_last and not samples.scattered
    held = tuple(
        one
        for one in pairing.unpaired
        if one.because not in ("link", "apart")  # of these, both halves have been seen
        and (not only_last or one.name.startswith(last))
    )
    doubtful = {one.name for one in held}
    left = tuple(one for one in pairing.unpaired if one.name not in doubtful)
    return pairing._replace(unpaired=left), held
