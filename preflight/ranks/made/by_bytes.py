"""Tells the samples of ranks apart by their bytes, where they have no names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from preflight.ranks.made.facts import NEARLY_ALL
from preflight.ranks.made.rank_differences import Told, is_resampled


class ByBytes(NamedTuple):
    """What was told of a loader, with samples that are known by their bytes."""

    tellings: Mapping[int, Told]
    whole: Told
    others: Mapping[str, Told]


def by_bytes(
    tellings: Mapping[int, Told],
    whole: Told,
    again: Told | None,
    others: Mapping[str, Told] | None = None,
) -> ByBytes | None:
    """Take bytes for names; None where a sample may have other ones each time.

    They are the same where random numbers begin otherwise, and those of each rank are of the whole:
    what a rank makes of a sample by its own seed is another one there.

    Args:
        tellings: what ranks tell of it.
        whole: what rank 0 of fewer ranks tells of it.
        again: what rank 0 tells where random numbers are others.
        others: what ranks tell that the job does not have.
    """
    of_whole, of_again = _bytes_of(whole), _bytes_of(again)
    of_each = {rank: _bytes_of(one) for rank, one in tellings.items()}
    if not (of_whole and of_again and of_each[0]) or {*of_again} != {*of_each[0]}:
        return None
    there, named = {*of_whole}, {}
    for rank, keys in of_each.items():
        own = {*(keys or ())}
        if not own or len(own & there) < NEARLY_ALL * len(own):
            return None
        named[rank] = _named(tellings[rank], keys or [])
    if any(map(is_resampled, named.values())):
        return None
    beside = {name: _named(one, _bytes_of(one) or []) for name, one in (others or {}).items()}
    return ByBytes(named, _named(whole, of_whole), beside)


def _bytes_of(told: Told | None) -> list[int] | None:
    if told is None or told.get("reason"):
        return None
    found: list[int] | None = told["keys"] if told.get("by") == "whole" else told.get("bytes")
    return found


def _named(told: Told, keys: list[int]) -> dict[str, Any]:
    return {**told, "by": "key", "keys": keys, "names": []}
