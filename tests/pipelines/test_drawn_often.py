"""A stream of shards drawn with replacement may have been run until it had had them all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from preflight.flow.defer import has_had_all
from preflight.flow.facts import Flow, Passed
from preflight.pipelines.facts import Reads, Survival

SHARDS = Survival(reads=Reads(name="train:make"), name="x", file=None, samples=80, through=80)


@pytest.mark.parametrize(
    ("shards", "drawn", "resampled", "ended", "has"),
    [
        (4, 50, True, "enough", True),
        (4, 15, True, "enough", False),
        (4, 50, False, "enough", False),
        (4, 0, False, "over", True),
        (1, 3, True, "enough", True),
        (1, 1, True, "enough", False),
        (80, 300, True, "enough", False),
        (80, 0, True, "stuck", False),
    ],
)
def test_all_were_drawn_where_hardly_one_is_likely_to_be_left(
    shards: int, drawn: int, ended: str, *, resampled: bool, has: bool
) -> None:
    urls = Passed(call="ResampledShards", unit="shard", gave=drawn)
    reader = Passed(call=".tarfile_to_samples()", kind="group", gave=7 * drawn)
    flow = Flow(name="train:make", stages=(urls, reader), resampled=resampled, ended=ended)

    assert has_had_all(flow, replace(SHARDS, looked_at=shards - 1, unread=1)) is has
