"""Says which items no rank has: all ranks together are to have what fewer ranks have together.

That holds whatever divides, and for samples without names, too: of these, numbers are enough.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from preflight.ranks.compare import SURE, Told, are_split, is_resampled
from preflight.ranks.epoch_items import MOST_ITEMS
from preflight.ranks.made_facts import OtherItems

_LEAST = 0.1
"""Part of the items that is missing at least; less may be left out to have even batches."""

_EVEN = 1.5
"""How many times as many items as another one a rank may have, where not all ranks were made."""

_UNENDED = (
    "made for {}, its stream does not end within 3 s: nobody knows what all ranks are to have"
)


def may_lack(first: Told, last: Told) -> bool:
    """Whether two ranks have parts, of which it is to be known whether they are all there is."""
    if first.get("reason") or last.get("reason"):
        return False
    if first.get("handed_out"):
        return True
    if not (first["ended"] and last["ended"]) or first.get("resampled"):
        return False
    return are_split(first, last) or first["by"] in ("", "mixed")


def nobodys(
    tellings: Mapping[int, Told], whole: Told, ranks: int, fewer: int
) -> OtherItems | str | None:
    """Say which items no rank has; None: each is of some rank; or why nobody knows.

    Args:
        tellings: what ranks tell of the loader.
        whole: what rank 0 of fewer ranks tells of it.
        ranks: how many there are in the job.
        fewer: how many there are for the whole.
    """
    made_for = "one rank alone" if fewer == 1 else f"{fewer:,} ranks"
    if whole.get("reason"):
        return f"made for {made_for}: {whole['reason']}"
    told = [one for one in tellings.values() if not one.get("reason")]
    if tellings[0].get("handed_out"):
        told, ranks, fewer = [tellings[0]], 1, 1
    there = _number(told, ranks)
    if there is None:
        return ""
    wanted = fewer * _count(whole)
    spare = max(_uneven(whole, ranks) + (fewer if fewer > 1 else 0), int(_LEAST * wanted))
    if wanted - there > spare:
        return OtherItems("twice", wanted - there, wanted, ranks=fewer)
    if not whole["ended"]:
        return _UNENDED.format(made_for)
    return _alike(told, whole, spare) if len(told) == ranks and fewer == 1 else None


def _count(told: Told) -> int:
    """Count samples that are read; where nobody knows them, batches."""
    number = told.get("read", told["samples"])
    return int(told["batches"] if number is None else number)


def _number(told: Sequence[Told], ranks: int) -> int | None:
    """Say how many items all ranks have at most, if not all were made; None: nobody knows."""
    counts = [_count(one) for one in told if one["ended"]]
    if len(counts) == ranks:
        return sum(counts)
    if len(counts) < 2 or len(counts) < len(told) or max(counts) > _EVEN * min(counts) + 1:
        return None
    return max(counts) * ranks


def _uneven(whole: Told, ranks: int) -> int:
    """Say how many items may be left out to have even parts and batches."""
    about = whole["about"]
    is_known = whole["samples"] is not None and not (whole["is_stream"] and not about["batch_size"])
    if is_known and not about["drop_last"]:
        return ranks
    size = math.ceil(_count(whole) / max(int(whole["batches"]), 1))
    return ranks * size * (max(int(whole["workers"]), 1) if whole["is_stream"] else 1)


def _alike(told: Sequence[Told], whole: Told, spare: int) -> OtherItems | None:
    """Say what is of no rank where ranks have one part or another, and some the same.

    Parts that have a few items in common were drawn, each by itself, and are no parts of a whole.
    """
    every = (*told, whole)
    by, lengths = {one["by"] for one in every}, {one.get("length") for one in every}
    is_known = by <= {*SURE} or (by == {"place"} and len(lengths) == 1)
    if not is_known or any(_is_not_told(one) for one in every):
        return None
    parts: Collection[frozenset[int]] = {frozenset(one["keys"]) for one in told}
    union: frozenset[int] = frozenset().union(*parts)
    if sum(map(len, parts)) - len(union) > spare:
        return None
    left = {*whole["keys"]} - union
    if len(left) <= spare:
        return None
    pairs = zip(whole["keys"], whole["names"], strict=False)
    name = next((name for key, name in pairs if key in left), "")
    return OtherItems("alike", len(left), len({*whole["keys"]}), before=name)


def _is_not_told(told: Told) -> bool:
    """Whether a rank has drawn some items several times, or has more than are told."""
    return is_resampled(told) or len(told["keys"]) >= MOST_ITEMS
