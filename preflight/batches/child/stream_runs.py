"""Holds what a stream gave with some random numbers against what it gave with others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from preflight.batches.child.between_workers import agree
from preflight.batches.child.repeated_draws import FEWEST
from preflight.epochs.sample_numbers import digest

MOST_SAMPLES, WAYS = 1_000, 4
"""Samples of a stream that are held against each other, and ways in which generators begin: of a
flip of a coin, two are the same in one case of two."""


class StreamRun(NamedTuple):
    """What a stream gave, each sample as numbers by its parts."""

    samples: list[dict[Any, int]]
    is_whole: bool
    drew: bool = True
    """Whether random numbers were drawn behind the first sample, as far as is known."""


def parts_of_sample(sample: Any) -> dict[Any, int]:
    """Give a number for each part of a sample."""
    if isinstance(sample, dict):
        return {key: digest(value) for key, value in sample.items()}
    if isinstance(sample, (list, tuple)):
        return {number: digest(value) for number, value in enumerate(sample)}
    return {0: digest(sample)}


def made_otherwise(one: StreamRun, other: StreamRun) -> bool | None:
    """Whether samples have what the same ones have not in another run, and are more than chance."""
    pairs = _pairs(one.samples, other.samples)
    if pairs is None:
        if not (one.is_whole and other.is_whole):
            return None
        first, second = ([tuple(each.values()) for each in run.samples] for run in (one, other))
        return len({*first}) == len(first) and not {*second} <= {*first}
    changed = {key for mine, others in pairs for key in mine if mine[key] != others.get(key)}
    return any(
        2 * max(len({each.get(key) for each in run.samples}) for run in (one, other)) > len(pairs)
        for key in changed
    )


def _pairs(
    one: Sequence[dict[Any, int]], other: Sequence[dict[Any, int]]
) -> list[tuple[dict[Any, int], dict[Any, int]]] | None:
    """Give what each sample is in both runs: by the part that names most of them, or its place."""
    named = list[tuple[dict[Any, int], dict[Any, int]]]()
    for key in one[0]:
        mine, others = ({each.get(key): each for each in run} for run in (one, other))
        both = mine.keys() & others.keys()
        if len(mine) == len(one) and len(others) == len(other) and len(both) > len(named):
            named = [(mine[name], others[name]) for name in both]
    if len(named) >= FEWEST:
        return named
    for key in one[0]:
        if agree([each.get(key, 0) for each in one], [each.get(key, 0) for each in other]):
            return list(zip(one, other, strict=False))
    return None
