"""What lies between the slices of ranks is told, and what a resumed job passes over is not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from preflight.ranks.made.facts import OtherItems
from preflight.ranks.made.together import nobodys

NUMBER, RANKS = 96, 4


def told(keys: Sequence[int], size: int | None = 4, **more: Any) -> dict[str, Any]:
    """What a rank tells of a loader over these items, in the order of its list."""
    about = {"even_batches": None, "is_webdataset": False, "batch_size": size, "drop_last": False}
    return {
        "about": about | more.pop("about", {}),
        "workers": 0,
        "is_stream": False,
        "keys": [*keys],
        "by": "name",
        "names": [f"{one}.png" for one in keys],
        "batches": -(-len(keys) // (size or 1)),
        "samples": len(keys),
        "ended": True,
        "length": len(keys),
        **more,
    }


def split(
    part: Callable[[list[int], int, int], Sequence[int]], number: int = NUMBER, **more: Any
) -> Any:
    """Divide a list among four ranks, and among one, as a job's own line does."""
    every = [*range(number)]
    parts = {rank: told(part(every, rank, RANKS), **more) for rank in range(RANKS)}
    return nobodys(parts, told(part(every, 0, 1), **more), RANKS, 1)


def n(every: list[int], ranks: int) -> int:
    return len(every) // ranks


WRONG: dict[str, tuple[Callable[..., Sequence[int]], OtherItems]] = {
    "begins late": (
        lambda a, r, w: a[r * n(a, w) + 1 : (r + 1) * n(a, w)],
        OtherItems("between", 3, 95, before="24.png"),
    ),
    "ends early": (
        lambda a, r, w: a[r * n(a, w) : (r + 1) * n(a, w) - 1],
        OtherItems("between", 3, 95, before="23.png"),
    ),
    "ends late": (
        lambda a, r, w: a[r * n(a, w) : (r + 1) * n(a, w) + 1],
        OtherItems("several", 3, 96, before="24.png"),
    ),
    "once more": (
        lambda a, r, w: a[r * n(a, w) : (r + 1) * n(a, w)][r * n(a, w) // w :][: n(a, w) // w],
        OtherItems("twice", 72, 96),
    ),
}

RIGHT: dict[str, Callable[..., Sequence[int]]] = {
    "slices": lambda a, r, w: a[r * n(a, w) : (r + 1) * n(a, w)],
    "in turn": lambda a, r, w: a[r::w],
    "in turn, resumed": lambda a, r, w: a[r::w][8:],
    "slices, resumed": lambda a, r, w: a[r * n(a, w) : (r + 1) * n(a, w)][8:],
    "slices, resumed late": lambda a, r, w: a[r * n(a, w) : (r + 1) * n(a, w)][16:],
    "of what is left": lambda a, r, w: a[32:][r::w],
    "a part of each to validate": lambda a, r, w: a[r * n(a, w) :][: int(0.95 * n(a, w))],
    "whole batches": lambda a, r, w: a[r * n(a, w) :][: n(a, w) // 8 * 8],
}


@pytest.mark.parametrize("name", WRONG)
def test_what_slices_lose_or_have_twice_is_counted(name: str) -> None:
    part, found = WRONG[name]

    assert split(part) == found


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_passed_over_on_purpose_is_left_alone(name: str) -> None:
    assert split(RIGHT[name]) is None


def test_slices_that_overlap_to_be_of_one_length_are_left_alone() -> None:
    assert split(lambda a, r, w: a[24 * r :][: 25 if w > 1 else 97], 97) is None


def test_a_list_that_its_sampler_shuffles_is_known_by_its_order() -> None:
    part, found = WRONG["begins late"]
    mixed = [*reversed(range(NUMBER))]
    parts = {
        rank: told(part(mixed, rank, RANKS)[::-1], listed=part(mixed, rank, RANKS))
        for rank in range(RANKS)
    }
    whole = told(part(mixed, 0, 1)[::-1], listed=part(mixed, 0, 1))

    one = nobodys(parts, whole, RANKS, 1)

    assert isinstance(one, OtherItems)
    assert (one.cause, one.others, one.of) == (found.cause, found.others, found.of)


def test_batches_that_are_left_out_are_no_gap() -> None:
    assert split(WRONG["begins late"][0], about={"drop_last": True}) is None


def test_samples_without_names_have_no_order() -> None:
    assert split(WRONG["begins late"][0], by="place") is None


def test_a_resumed_stream_of_workers_is_known_though_these_take_turns() -> None:
    def part(every: list[int], rank: int, ranks: int) -> list[int]:
        workers = [every[2 * rank + one :: 2 * ranks][4:] for one in range(2)]
        return [
            one
            for at in range(0, len(workers[0]), 4)
            for each in workers
            for one in each[at : at + 4]
        ]

    assert split(part, workers=2, is_stream=True, by="key") is None


def test_workers_that_are_counted_wrongly_on_one_rank_alone_too() -> None:
    """`rank + ranks * worker` is right; `rank + 2 * worker` is so for two ranks only."""

    def part(every: list[int], rank: int, ranks: int) -> list[int]:
        return [one for worker in range(2) for one in every[rank + 2 * worker :: 2 * ranks]]

    found = split(part, 192, workers=2, is_stream=True, by="key")

    assert isinstance(found, OtherItems)
    assert (found.cause, found.others, found.of) == ("several", 48, 144)
