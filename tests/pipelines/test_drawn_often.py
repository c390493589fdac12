"""A stream of shards drawn with replacement may have been run until it had had them all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from preflight.datasets.survivals import _has_had_all
from preflight.flow.facts import Flow, Passed
from preflight.pipelines.facts import Reads, Survival

SHARDS = Survival(reads=Reads(name="train:make"), name="x", file=None, samples=80, through=80)


@pytest.mark.parametrize(
    ("shards", "samples", "resampled", "ended", "has"),
    [
        (4, 1_000, True, "enough", True),
        (4, 300, True, "enough", False),
        (4, 1_000, False, "enough", False),
        (4, 0, False, "over", True),
        (1, 200, True, "enough", True),
        (1, 79, True, "enough", False),
        (80, 300, True, "enough", False),
        (80, 0, True, "stuck", False),
    ],
)
def test_all_were_drawn_where_hardly_one_is_likely_to_be_left(
    shards: int, samples: int, ended: str, *, resampled: bool, has: bool
) -> None:
    stage = Passed(call="decode", kind="decode", unit="sample", gave=samples)
    flow = Flow(name="train:make", stages=(stage,), resampled=resampled, ended=ended)

    assert _has_had_all(flow, replace(SHARDS, looked_at=shards)) is has
