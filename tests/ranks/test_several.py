"""Samples of several ranks are told where each takes a part, also where one of them has all."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.ranks.made.facts import OtherItems
from tests.ranks.test_together import left, told

STREAM = {"by": "key", "is_stream": True, "length": None}


def named(*keys: int, **more: Any) -> dict[str, Any]:
    return told(*keys, by="name", **more)


def doubled(*keys: int, alone: tuple[int, ...] | None) -> dict[str, Any]:
    """A stream of which two workers give each sample, and one process alone others."""
    return told(*keys, *keys, workers=2, alone=alone, **STREAM)


@pytest.mark.parametrize(
    "parts",
    [
        [range(64), range(60)],  # it ends sooner
        [range(64), [*range(30), *range(34, 64)]],  # some between are lacking
        [range(64), [*range(1, 64), 64]],  # one more
        [range(64), []],
        [range(64), range(64), range(64)],
        [range(64), range(63, 64)],  # an item of both, as to fill up
    ],
    ids=["shorter", "between", "others", "nothing", "all", "one"],
)
def test_ranks_of_which_one_has_all_may_have_it_on_purpose(parts: list[Any]) -> None:
    assert left([named(*one) for one in parts], named(*range(64))) is None


def test_names_that_one_process_alone_gives_twice_are_no_samples_of_several_ranks() -> None:
    """As names that begin anew in each shard, or a list that holds each several times."""
    for alone in (None, (*range(32), *range(32)), (*range(31),)):
        parts = [told(*range(32), **STREAM), told(*range(2, 32), **STREAM)]

        assert left(parts, doubled(*range(32), alone=alone)) is None


@pytest.mark.parametrize("step", [1, 20], ids=["a step of one", "without an end"])
@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_that_begin_later_and_go_on_to_the_end_have_the_same(step: int, ranks: int) -> None:
    """`names[rank:]`, and `names[rank * n:]` that lacks its end."""
    parts = [named(*range(rank * step, 80)) for rank in range(ranks)]

    found = left(parts, named(*range(80)))

    assert found == OtherItems("several", 80 - step, 80, before=f"{step}.png")


def test_workers_that_one_rank_alone_would_have_give_each_sample_are_known() -> None:
    """`islice(names, rank * workers + worker, None, ranks)`: one process alone has each once."""
    parts = [told(*range(0, 64, 2), **STREAM), told(*range(1, 64, 2), **STREAM)]
    parts += [told(*range(4, 64, 2), **STREAM), told(*range(5, 64, 2), **STREAM)]

    found = left(parts, doubled(*range(64), alone=(*range(64),)))

    assert found == OtherItems("several", 60, 64)


def test_it_matters_not_which_of_them_has_told_first() -> None:
    """What fills no batch is dropped, so that each of them has as many."""
    parts = [named(*range(40), about={"drop_last": True, "batch_size": 2})]
    parts += [named(*range(2, 42), about={"drop_last": True, "batch_size": 2})]
    found = [left(each, named(*range(40))) for each in (parts, parts[::-1])]

    assert found[0] == found[1]
    assert found[0].cause == "several"
