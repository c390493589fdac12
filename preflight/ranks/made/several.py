"""Says what several ranks have of a whole of which each takes a part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence

from preflight.ranks.made.facts import NEARLY_ALL, OtherItems
from preflight.ranks.made.rank_differences import SURE, Told, one_of
from preflight.ranks.made.rank_parts import are_parts, count, is_known, streams


def several_of(told: Sequence[Told], whole: Told, ranks: int) -> OtherItems | None:
    """Say what several ranks have of a whole of which each takes a part.

    It may be there on purpose to fill up their batches; and groups of ranks may have one part. Of
    samples without names there are only numbers.
    """
    whole = _once_each(whole)
    follow = max(map(count, told)) >= count(whole) and _follow_on(told)
    if not are_parts(told) or (max(map(count, told)) >= count(whole) and not follow):
        return None
    parts = {frozenset(one["keys"]) for one in told}
    owners = Counter(key for part in parts for key in part)
    here, there = owners.total(), len(owners)
    if told[0]["by"] == "place" and not told[0]["is_stream"]:
        owners, here, there = Counter(), sum(map(count, told)), count(whole)
        if here > 1.5 * there:
            return None
    elif not owners.keys() - {*whole["keys"]} and len({*whole["keys"]}) < len(whole["keys"]):
        return None  # some have one name
    elif not is_known(told):
        return None
    size = whole["about"]["batch_size"] or 1
    fills = all(count(one) % size == 0 for one in told)
    spare = ranks * streams(whole) * (size if fills else 1)
    if here - there < max(spare, (1 - NEARLY_ALL) * there):
        return None
    most = there if follow else max(len(parts), 3) - 1
    twice = {key for key, number in owners.items() if 1 < number <= most}
    if owners and not twice:
        return None  # what all have, they have on purpose
    return OtherItems("several", len(twice) or here - there, there, before=one_of(whole, twice))


def _once_each(whole: Told) -> Told:
    """Give what is there, where workers give some of it twice, and one process alone does not."""
    alone = whole.get("alone") or ()
    if len(alone) > len({*alone}) or {*alone} != {*whole["keys"]}:
        return whole
    return {**whole, "keys": alone, "samples": len(alone)}


def _follow_on(told: Sequence[Told]) -> bool:
    """Whether each rank has what one of them has, but for some at the begin: `names[rank:]`.

    So it is where steps are too small for so many ranks, and each of them begins elsewhere. What
    fills no batch at the end may be of one, and not of the other, so that several have the most.
    """
    if any(one["by"] not in SURE or not one["keys"] for one in told):
        return False
    most = max(map(count, told))
    return any(
        _are_behind(one, [*told[:at], *told[at + 1 :]])
        for at, one in enumerate(told)
        if count(one) == most
    )


def _are_behind(first: Told, others: Sequence[Told]) -> bool:
    batches = streams(first) * (first["about"]["batch_size"] or 1)
    mixed = batches if first["is_stream"] else 0
    dropped = batches if first["about"]["drop_last"] else 0
    order = [*first.get("listed", first["keys"])]
    there, body = {*order}, order[: len(order) - dropped]
    left = [_left(body, {*one["keys"]}) for one in others]
    if any(len({*one["keys"]} - there) > dropped for one in others):
        return False
    return any(left) and all(not one or one[-1] < len(one) + mixed for one in left)


def _left(order: Sequence[int], keys: Container[int]) -> list[int]:
    return [at for at, key in enumerate(order) if key not in keys]
