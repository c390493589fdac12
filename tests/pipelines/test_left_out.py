"""What is in no batch is counted where batches are made for the first time, and only whole ones."""

from __future__ import annotations

import pytest

from preflight.datasets.survivals import as_it_ran
from preflight.flow.facts import Flow, Passed
from preflight.pipelines.facts import Reads, Stage, Survival

READ = Passed(call=".tarfile_to_samples(…)", kind="group", gave=48, pipeline=1)
WHOLE = Stage(kind="batched", size=4, partial=False)


def batched(gave: int, pipeline: int = 1) -> Passed:
    return Passed(call=".batched(4)", kind="batched", unit="batch", gave=gave, pipeline=pipeline)


@pytest.mark.parametrize(
    ("stages", "batches", "reads", "expected"),
    [
        ((READ, batched(11)), 11, Reads(name="x", stages=(WHOLE,), batch_size=4), 4),
        ((READ, batched(12)), 12, Reads(name="x", stages=(WHOLE,), batch_size=4), 0),
        ((READ, batched(11)), 11, Reads(name="x", stages=(WHOLE._replace(partial=True),)), 0),
        ((READ,), 5, Reads(name="x", drop_last=True, batch_size=9), 3),
        ((READ,), 6, Reads(name="x", batch_size=9), 0),
        # unbatched, mixed and batched once more, in a pipeline around it
        (
            (READ, batched(11), Passed(call=".unbatched()", gave=44, pipeline=2), batched(3, 2)),
            3,
            Reads(name="x", stages=(WHOLE,), batch_size=4),
            4,
        ),
        # batches of batches
        ((READ, batched(12)), 6, Reads(name="x", stages=(WHOLE,), batch_size=2, drop_last=True), 0),
    ],
)
def test_only_samples_that_no_batch_has_are_left_out(
    stages: tuple[Passed, ...], batches: int, reads: Reads, expected: int
) -> None:
    flow = Flow(name="x", stages=stages, batches=batches, ended="over")
    found = Survival(reads=reads, name="x", file=None, samples=48, through=48, looked_at=1)

    assert as_it_ran(found, [flow]).left_out == expected
