"""Says which items no rank has: all ranks together are to have what fewer ranks have together.

That holds whatever divides, and for samples without names, too: of these, numbers are enough.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from preflight.ranks.made.borders import borders_of
from preflight.ranks.made.facts import OtherItems
from preflight.ranks.made.rank_differences import Told, are_split, is_other, one_of
from preflight.ranks.made.rank_parts import are_parts, count, is_known, streams, union
from preflight.ranks.made.several import several_of

_LEAST = 0.1
"""Part of the items that is missing at least; less may be left out to have even batches, and is a
note where it is more than a batch of each rank."""

_EVEN = 1.5
"""How many times as many items as another one a rank may have, where not all ranks were made."""

_UNENDED = (
    "made for {}, its stream does not end within 3 s: nobody knows what all ranks are to have"
)


def may_lack(tellings: Mapping[int, Told], ranks: int) -> bool:
    """Whether it is to be known if what these ranks have is all there is."""
    told = [one for one in tellings.values() if not one.get("reason")]
    ends = [tellings[0], tellings[ranks - 1]]
    if any(one.get("reason") for one in ends):
        return False
    if ends[0].get("handed_out"):
        return True
    if any(not one["ended"] or one.get("resampled") for one in told):
        return False
    has_all = ends[0]["by"] == "place" and len({*ends[0]["keys"]}) == ends[0].get("length")
    return not has_all or are_split_among(told)


def are_split_among(told: Sequence[Told]) -> bool:
    """Whether some of these ranks have other samples than others."""
    first, *others = told
    return any(
        are_split(first, one) if one.get("draws") else is_other(first, one) for one in others
    )


def _are_one(told: Sequence[Told]) -> bool:
    """Whether all ranks have the same samples; places alone may be alike in any data sets."""
    first = told[0]
    is_told = bool(first["keys"]) and (first["by"] != "place" or bool(first.get("draws")))
    return is_told and not are_split_among(told)


def may_leave(tellings: Mapping[int, Told], ranks: int) -> bool:
    """Whether a rank more may have what none of these has: of names, and where all were made."""
    told = [one for one in tellings.values() if not one.get("reason")]
    if len(told) < ranks or told[0].get("handed_out"):
        return False
    is_by_bytes = {one["by"] for one in told} == {"whole"}
    if not (is_known(told) or is_by_bytes) or not are_split_among(told):
        return False
    return {one.get("length") for one in told} != {len(union(told))}


def nobodys(
    tellings: Mapping[int, Told],
    whole: Told,
    ranks: int,
    fewer: int,
    others: Mapping[str, Told] | None = None,
) -> OtherItems | str | None:
    """Say which items no rank has; None: each is of some rank; or why nobody knows.

    Args:
        tellings: what ranks tell of the loader.
        whole: what rank 0 of fewer ranks tells of it.
        ranks: how many there are in the job.
        fewer: how many there are for the whole.
        others: what the last rank of one more than there are in the job tells of it (`beyond`), and
            two before the first (`before`, `further`).
    """
    by_sampler = _of_trainer(tellings, ranks) or _of_sampler(tellings, ranks)
    if by_sampler is not None:
        return by_sampler
    made_for = "one rank alone" if fewer == 1 else f"{fewer:,} ranks"
    told = [one for one in tellings.values() if not one.get("reason")]
    is_one = not tellings[0].get("handed_out") and _are_one(told)
    if whole.get("reason"):
        return None if is_one else f"made for {made_for}: {whole['reason']}"
    if tellings[0].get("handed_out"):
        tellings, ranks, fewer = {0: tellings[0]}, 1, 1
        told = [tellings[0]]
    there = _number(told, ranks)
    if there is None:
        return ""
    wanted = fewer * count(whole)
    even = _uneven(whole, ranks) + (fewer if fewer > 1 else 0)
    spare = max(even, int(_LEAST * wanted))
    if is_one:
        return _alike("same", told, whole, spare) if whole["ended"] else None
    borders = borders_of(tellings, whole, ranks, fewer)
    if borders is not None:
        return borders.left
    if wanted - there > min(spare, max(even, _of_batches(whole, ranks))):
        return OtherItems("twice" if there else "few", wanted - there, wanted, ranks=fewer)
    if not whole["ended"]:
        return _UNENDED.format(made_for)
    if len(told) < ranks or fewer > 1:
        return None
    return (
        _alike("alike", told, whole, spare)
        or _beyond(told, (others or {}).get("beyond"), spare)
        or _before(told, others or {}, whole)
        or several_of(told, whole, ranks)
    )


def _number(told: Sequence[Told], ranks: int) -> int | None:
    """Say how many items all ranks have at most, if not all were made; None: nobody knows."""
    counts = [count(one) for one in told if one["ended"]]
    if len(counts) == ranks:
        return sum(counts)
    if len(counts) < 2 or len(counts) < len(told) or max(counts) > _EVEN * min(counts) + 1:
        return None
    return max(counts) * ranks


def _uneven(whole: Told, ranks: int) -> int:
    """Say how many items may be left out to have even parts and batches, or are skipped."""
    about = whole["about"]
    is_known = whole["samples"] is not None and about["batch_size"] and not about["drop_last"]
    left = ranks if is_known else _of_batches(whole, ranks)
    return left + int(whole.get("skips", 0)) * _of_batches(whole, ranks)


def _of_batches(whole: Told, ranks: int) -> int:
    """Count the items in a batch of each rank, or of each worker of a stream."""
    size = math.ceil(count(whole) / max(int(whole["batches"]), 1))
    return ranks * size * streams(whole)


def _alike(cause: str, told: Sequence[Told], whole: Told, spare: int) -> OtherItems | None:
    """Say what is of no rank where ranks have one part or another, and some or all the same."""
    if not is_known((*told, whole), cause):
        return None
    if not (are_parts(told) or cause == "same") and _have_some_in_common(told, spare):
        return None
    left = {*whole["keys"]} - union(told)
    if len(left) <= spare:
        return None
    if cause == "alike" and len({frozenset(one["keys"]) for one in told}) == len(told):
        cause = "overlapping" if _have_some_in_common(told, spare) else "apart"
    return OtherItems(cause, len(left), len({*whole["keys"]}), before=one_of(whole, left))


def _beyond(told: Sequence[Told], more: Told | None, spare: int) -> OtherItems | None:
    """Say what a rank more than there are in the job would have, and none of these has."""
    if more is None or more.get("reason") or not more.get("ended"):
        return None
    if not is_known((*told, more)) or _have_some_in_common((*told, more), spare):
        return None
    here = union(told)
    left = {*more["keys"]} - here
    if len(left) <= spare:
        return None
    return OtherItems("beyond", len(left), len(here) + len(left), before=one_of(more, left))


def _before(told: Sequence[Told], others: Mapping[str, Told], whole: Told) -> OtherItems | None:
    """Say what the rank before the first would have, and none of these has: they count from 1.

    What else that one has, another one has as a part. Where one further before would have more, the
    job goes on behind what it has had, or makes samples of numbers, which go on below 0. A slice
    that begins there is empty, and no sample.
    """
    one, further = others.get("before"), others.get("further")
    if one is None or one.get("reason") or not one.get("ended"):
        return None
    if further is not None and not {*further.get("keys", ())} <= union([*told, one]):
        return None
    if not is_known((*told, one, whole)) or _have_some_in_common(told, 0):
        return None
    here, its = union(told), {*one["keys"]} - {*one.get("empty", ())}
    left, rest = its - here, its & here
    is_next = any(rest <= {*each["keys"]} for each in told)
    if not left or not is_next or not here <= {*whole["keys"]}:
        return None
    return OtherItems("before", len(left), len(here) + len(left), before=one_of(one, left))


def _of_trainer(tellings: Mapping[int, Told], ranks: int) -> OtherItems | None:
    """Say what is left of parts of ranks that Lightning's Trainer divides among all once more."""
    told = [one for one in tellings.values() if not one.get("reason")]
    source = tellings[0].get("by_trainer")
    if source is None or any(tellings[0].get(one) for one in ("replicas", "handed_out")):
        return None
    here = _number(told, ranks)
    if here is None or any(one["is_stream"] for one in told) or not are_split_among(told):
        return None
    kept = [math.ceil(count(one) / ranks) for one in told]
    left = here - sum(kept) - max(kept) * (ranks - len(kept))
    return OtherItems("trainer", left, here, before=source, ranks=ranks)


def _of_sampler(tellings: Mapping[int, Told], ranks: int) -> OtherItems | None:
    """Say what a DistributedSampler leaves that divides among more ranks, or by other seeds."""
    told = [one for _, one in sorted(tellings.items()) if not one.get("reason")]
    replicas, number = told[0].get("replicas") or 0, told[0].get("divided") or 0
    if not number or any(one.get("replicas") != replicas for one in told):
        return None
    if replicas == ranks:
        before, now = str(told[0].get("seed")), str(told[-1].get("seed"))
        return OtherItems("seed", 0, number, before, now) if before != now else None
    there = _number(told, ranks)
    if replicas < ranks or there is None or there >= number:
        return None
    return OtherItems("replicas", number - there, number, ranks=replicas)


def _have_some_in_common(told: Sequence[Told], spare: int) -> bool:
    """Whether parts have a few items in common: those were drawn, and are no parts of a whole."""
    parts: Collection[frozenset[int]] = {frozenset(one["keys"]) for one in told}
    return sum(map(len, parts)) - len(union(told)) > spare
