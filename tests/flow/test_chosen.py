"""What a stage takes out that chooses among samples is said on the page, and judged by nobody."""

from __future__ import annotations

import pytest

from preflight.batches.kind import FIRST
from preflight.flow.facts import Flow, Passed, Swallowed


def flow(*stages: tuple[str, int], swallowed: int = 0, ended: str = "over") -> Flow:
    lost = (Swallowed(by="handler", error="KeyError", times=swallowed),) if swallowed else ()
    every = (
        Passed(call=call, gave=gave, pipeline=1, swallowed=lost if "select" in call else ())
        for call, gave in stages
    )
    return Flow(name="train:loader", stages=tuple(every), ended=ended)


READ = (".tarfile_to_samples(…)", 1_200)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([flow(READ, (".select(…)", 100))], ".select(…) takes out 1,100 of 1,200 samples"),
        ([flow(READ, (".select(…)", 100), swallowed=100)], ".select(…) takes out 1,000 of"),
        (
            [flow(READ, (".select(…)", 1_190)), flow(READ, (".rsample(…)", 600))],
            ".rsample(…) takes out 600 of 1,200 samples",
        ),
        ([flow(READ, (".select(…)", 1_200))], None),
        ([flow(READ, (".select(…)", 1_100), swallowed=100)], None),
        ([flow(READ, (".map(…)", 100))], ".map(…) takes out 1,100 of 1,200 samples"),
        ([flow(READ, (".compose(…)", 100))], None),
        ([flow(READ, ("only_captioned", 100))], "only_captioned gives 100 for 1,200 samples"),
        ([flow(READ, ("shuffled", 1_200))], None),
        ([flow(READ, ("repeated", 2_400))], None),
        ([flow(READ, (".select(…)", 100), ended="cut")], None),
        ([], None),
    ],
)
def test_the_stage_that_takes_out_most_is_named(found: list[Flow], expected: str | None) -> None:
    said = FIRST.sums_up[Flow](found)

    assert said is None if expected is None else (said or "").startswith(expected)
