"""Holds what several ranks have told of a loader against each other; runs where they are started.

Where two processes are to have the same items, and have not, nobody has some, and others twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from preflight.objects.facts import Definition
from preflight.ranks.made.facts import OtherItems, RankBatches, RankCount, RankOrder
from preflight.users_code.facts import Frame, Unbuilt
from preflight.values.wire import from_wire

Told: TypeAlias = Mapping[str, Any]
"""What `epoch_items` tells of one loader on one rank; `reason` says why it could not."""

# Part of a rank's items that are there twice, from which on it draws with replacement.
_AGAIN = 0.05

SURE = ("name", "key")
"""What tells a sample whatever random numbers do to it."""

_HANDED_OUT = "rank 0 alone reads it, and hands each batch to its rank"
_NEITHER = "its samples have no names, so that nobody can tell which ones a rank has"
_DRAWN = "it draws its shards with replacement"
_UNCOUNTED = "its batches do not end, or not within 3 s, so that nobody has counted them"
_ENDLESS = "its stream does not end, or not within 3 s, so that nobody knows all items of a rank"


def talks(tellings: Sequence[Told]) -> str:
    """Say that ranks ask each other for something, so that one alone is not as in the job."""
    first = next((one for told in tellings for one in told.get("talks", ())), None)
    if first is None:
        return ""
    asked = f"torch.distributed.{first}"
    return f"it is made by what ranks tell each other ({asked}), which one alone does not hear"


def batches_of(
    name: str, defined: Definition, ranks: int, tellings: Mapping[int, Told]
) -> RankBatches:
    """Say how many batches each of these ranks has."""
    told = list(tellings.values())
    reason = talks(told) or next((one["reason"] for one in told if one.get("reason")), "")
    reason = reason or (_HANDED_OUT if told[0].get("handed_out") else "")
    if not reason and not any(one["ended"] or one.get("endless") for one in told):
        reason = _UNCOUNTED
    if reason:
        return RankBatches(name=name, defined=defined, reason=reason, ranks=ranks)
    first, last = tellings[0], tellings[ranks - 1]
    return RankBatches(
        name=name,
        defined=defined,
        ranks=ranks,
        counts=tuple(
            RankCount(rank, one["batches"], one["samples"], one["ended"], one.get("endless", False))
            for rank, one in sorted(tellings.items())
        ),
        splits=are_split(first, last) or first["batches"] != last["batches"],
        is_stream=first["is_stream"],
        is_around=first.get("inner") is not None and first["inner"] == last.get("inner"),
        **first["about"],
    )


def raised_by(tellings: Sequence[Mapping[int, Told]]) -> Iterator[Unbuilt]:
    """Say what the user's code raises on other ranks than the first, which has each loader.

    `tellings` are, of each loader, what ranks tell of it.
    """
    found: dict[tuple[str, tuple[Frame, ...]], dict[int, Unbuilt]] = {}
    for told in tellings:
        for rank, one in sorted(told.items()) if not told[0].get("reason") else ():
            if one.get("raised"):
                raised: Unbuilt = from_wire(Unbuilt, one["raised"])
                found.setdefault((raised.step, raised.frames), {}).setdefault(rank, raised)
    for those in found.values():
        yield replace(next(iter(those.values())), ranks=tuple(those))


def order_of(
    name: str,
    defined: Definition,
    world: tuple[int, int],
    tellings: tuple[Told, Told],
    again: Mapping[str, Told],
    nobodys: OtherItems | str | None = "",
) -> RankOrder:
    """Say where a rank has other items, or another order, in another process.

    Args:
        name: what the user called the loader.
        defined: where its factory is.
        world: ranks and nodes of the job.
        tellings: those of the first rank and of the last, of equal processes.
        again: those of the first rank in other processes, each by what was otherwise.
        nobodys: the items that no rank has; None: there are none; or why nobody knows, if need be.
    """
    first, last = tellings
    bare = RankOrder(name=name, defined=defined, ranks=world[0], nodes=world[1])
    all_told = [first, last, *again.values()]
    missing = next((one["reason"] for one in all_told if one.get("reason")), "")
    again = {cause: one for cause, one in again.items() if not one.get("reason")}
    reason = talks(all_told) or first.get("reason") or last.get("reason")
    if reason:
        return replace(bare, reason=reason)
    left = (nobodys,) if isinstance(nobodys, OtherItems) else ()
    # Where each rank draws, it has not what it has here.
    by_itself = {"same", "apart", "overlapping", "several"}
    if left and left[0].cause in by_itself and is_other(first, again.get("random", {"keys": ()})):
        left = ()
    unknown = nobodys if isinstance(nobodys, str) else ""
    if first.get("handed_out"):  # whatever the others list, they take nothing of it
        reason = (unknown or _HANDED_OUT) if isinstance(nobodys, str) else ""
        return replace(bare, reason=reason, splits=bool(left), tried=("world",), found=left)
    drawn = _drawn_alike(first, last, again.get("random"))
    if drawn is not None:
        return replace(bare, tried=("random",), found=(drawn,))
    reason = _why_not([first, last, *again.values()])
    if not reason and first["by"] not in (*SURE, "place"):
        # Random numbers change samples, or choose them.
        reason = _NEITHER if is_other(first, again.get("random", first)) else ""
    if reason:
        return replace(bare, reason="" if left else reason, splits=bool(left), found=left)
    splits = are_split(first, last)
    found = [_held_against(cause, first, last, one) for cause, one in again.items()]
    is_shuffled = any(one and not one.others and one.cause != "hash" for one in found)
    kept = tuple(
        one
        for one in found
        if one is not None and (splits if one.others else one.cause == "hash" and not is_shuffled)
    )
    others = _of_other_lists(first, last, world[0])
    if "random" in again and len(kept) == len(again) and all(one.others for one in kept):
        kept = tuple(one for one in kept if one.cause == "random")  # each process has its own
    kept += (others,) if others is not None and splits else left
    kept += tuple(_of_all(first, last, again.get("random", last)))
    missing = missing or unknown or _not_compared(first, last)
    if missing and not kept:
        return replace(bare, reason=missing)
    return replace(bare, splits=splits, tried=tuple(again), found=kept)


def _why_not(tellings: Sequence[Told]) -> str:
    if not all(one["ended"] for one in tellings):
        return _ENDLESS
    if tellings[0].get("resampled"):
        return _DRAWN
    return _NEITHER if any(one.get("by") in ("", "mixed", None) for one in tellings) else ""


def _not_compared(first: Told, last: Told) -> str:
    """Say of samples without names what was not held against each other."""
    mine, yours = _both_drawn(first, last)
    if first["by"] != "place" or not (mine and yours):
        return ""
    if first["drew_all"] and last["drew_all"]:
        return ""
    of = f"{len(mine):,} of {first['length']:,}"
    return f"its samples have no names, and {of} were drawn and compared"


def is_other(one: Told, other: Told) -> bool:
    """Whether one has items that the other has not."""
    return {*one["keys"]} != {*other["keys"]}


def are_split(first: Told, last: Told) -> bool:
    """Whether two ranks have different samples."""
    return is_other(first, last) or (first["by"] == "place" and not _is_one_set(first, last))


def _is_one_set(first: Told, last: Told) -> bool:
    """Whether ranks have one data set as a whole, of which a sampler may give each a part."""
    (mine, yours), lengths = _both_drawn(first, last), {one.get("length") for one in (first, last)}
    return mine == yours and len(lengths) == 1


def _both_drawn(one: Told, other: Told) -> tuple[list[int], list[int]]:
    """Give the samples that both had the time to draw; each begins with the same places."""
    mine, yours = (list(each.get("draws") or ()) for each in (one, other))
    number = min(len(mine), len(yours)) or None
    return mine[:number], yours[:number]


def _held_against(cause: str, first: Told, last: Told, again: Told) -> OtherItems | None:
    """Say what the first rank has in another process; None: the same, or nobody knows."""
    if cause == "random" and is_resampled(first):
        return None
    if first["by"] != again["by"]:
        return None
    if first["by"] == "place":
        return _by_places(cause, first, last, again)
    before, now = {*first["keys"]}, {*again["keys"]}
    if before == now:
        is_other = first["keys"] != again["keys"]
        return OtherItems(cause, 0, len(first["keys"])) if is_other else None
    if _is_no_matter(first, again):
        return None
    return OtherItems(
        cause=cause,
        others=max(len(before - now), len(now - before)),
        of=max(len(before), len(now)),
        before=one_of(first, before - now),
        now=one_of(again, now - before),
    )


def _of_other_lists(first: Told, last: Told, ranks: int) -> OtherItems | None:
    """Say whether ranks of one sampler, which divides one list among all, have each another list.

    Where names alone differ, each rank may have its own copy of the data. Without names, samples of
    which the other rank has most, at other places, are no others by what a rank does to each.
    """
    if not first.get("replicas") == last.get("replicas") == ranks or _is_no_matter(first, last):
        return None
    mine, yours = (one.get("there") or () for one in (first, last))
    my_draws, your_draws = _both_drawn(first, last)
    if not (my_draws and your_draws) or my_draws == your_draws:
        return None
    if not (mine or yours):
        is_one = 2 * len({*my_draws} & {*your_draws}) > len(my_draws)
        mine, yours = (my_draws, your_draws) if is_one else ((), ())
    others = sum(one != other for one, other in zip(mine, yours, strict=False))
    return OtherItems("rank", others, min(len(mine), len(yours))) if others else None


def _of_all(first: Told, last: Told, again: Told) -> Iterator[OtherItems]:
    """Say that every rank reads all there is: of webdataset's, where it is told so."""
    keys, yours = first["keys"], last["keys"]
    is_webdataset = first["about"]["is_webdataset"]
    if is_webdataset and first["by"] in ("key", "whole") and keys and {*keys} == {*yours}:
        orders = (zip(keys, one["keys"], strict=False) for one in (last, again))
        moved = max(sum(one != other for one, other in order) for order in orders)
        yield OtherItems("shared", moved, len(keys))
    elif keys == yours == again["keys"] and 2 * len({*keys}) > len(keys):
        if first["is_stream"]:
            cause = "shared" if is_webdataset else "undivided"
        elif first.get("draws") == last.get("draws"):
            cause = "unsampled"
        else:
            return  # each rank has its own list, of which places are alike
        yield OtherItems(cause, 0, len(keys), before=next(iter(first["names"]), ""))


def draw_alike(tellings: Mapping[int, Told]) -> bool:
    """Whether the first rank and the last draw the same shards in the same order."""
    shards = tellings[0].get("shards")
    return bool(shards) and all(one.get("shards", shards) == shards for one in tellings.values())


def _drawn_alike(first: Told, last: Told, again: Told | None) -> OtherItems | None:
    """Say that ranks draw the same shards, whatever random numbers begin with."""
    if again is None or not draw_alike({0: first, 1: last, 2: again}):
        return None
    keys = first["keys"]
    orders = (zip(keys, one["keys"], strict=False) for one in (last, again))
    moved = max(sum(one != other for one, other in order) for order in orders) if keys else 1
    shards = first["shards"]
    return OtherItems("drawn", moved, len(shards)) if len({*shards}) > 1 or not moved else None


def is_resampled(told: Told) -> bool:
    """Whether a rank draws with replacement, on purpose by itself."""
    keys = told["keys"]
    return len({*keys}) < (1 - _AGAIN) * len(keys)


def _is_no_matter(first: Told, again: Told) -> bool:
    """Whether names differ, and the samples do not."""
    if not (first.get("draws") and again.get("draws")):
        return False
    both = zip(first["there"], again["there"], first["draws"], again["draws"], strict=False)
    alike = [mine == yours for name, other, mine, yours in both if name != other]
    return bool(alike) and all(alike)


def one_of(told: Told, numbers: set[int]) -> str:
    """Name the first of a rank's items that is one of these."""
    pairs = zip(told["keys"], told["names"], strict=False)
    return next((name for number, name in pairs if number in numbers), "")


def _by_places(cause: str, first: Told, last: Told, again: Told) -> OtherItems | None:
    """Compare what only places in a data set are known of, and a few samples of it."""
    mine, yours = first.get("draws") or (), again.get("draws") or ()
    is_made_up = cause == "random" and {*mine}.isdisjoint(yours)
    if _is_one_set(first, last) and is_other(first, last):  # the same places are the same samples
        before, now = {*first["keys"]}, {*again["keys"]}
        if before != now:
            return OtherItems(cause, max(len(before - now), len(now - before)), len(before))
        moved = sum(one != other for one, other in zip(mine, yours, strict=False))
        return OtherItems(cause, moved, len(mine), is_made_up=is_made_up) if moved else None
    if first["drew_all"] and again["drew_all"] and {*mine} != {*yours}:
        others = max(len({*mine} - {*yours}), 1)
        return OtherItems(cause, others, len({*mine}), is_made_up=is_made_up)
    return None
