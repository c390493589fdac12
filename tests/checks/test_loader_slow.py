"""A loader is slow where somebody waits for it, and not because workers take a while to start."""

from __future__ import annotations

import pytest

from preflight.facts import FirstBatches, Structure
from preflight.testing import ask

BATCH = Structure(kind="tensor", dtype="float32", shape=(4, 3), bytes=48)


def drawn(first: float, *each: float, workers: int = 0, method: str = "fork") -> FirstBatches:
    return FirstBatches(
        name="train:make",
        ended="enough",
        batches=(BATCH,) * (1 + len(each)),
        num_workers=workers,
        start_method=method,
        seconds_to_first=first,
        seconds_each=each,
    )


@pytest.mark.parametrize(
    "facts",
    [
        drawn(0.01, 0.01),
        drawn(5.0, 0.2),  # what is made once
        drawn(6.0, workers=8),
        drawn(8.0, workers=2, method="spawn"),  # most of it is the start
        FirstBatches(name="train:make", ended="over"),
    ],
)
def test_a_loader_that_keeps_up_is_left_alone(facts: FirstBatches) -> None:
    assert ask("loader-slow", facts) == []


def test_each_batch_is_measured_where_there_are_no_workers() -> None:
    (finding,) = ask("loader-slow", drawn(2.5, 2.25))

    assert finding.message == "takes 2.5 s to its first batch, with no worker"
    assert finding.why == ("A GPU step that takes less than 2.2 s waits for data, at every step.")


def test_workers_that_are_forked_load_at_the_same_time() -> None:
    (finding,) = ask("loader-slow", drawn(8.0, workers=4))

    assert "less than 2.0 s waits" in str(finding.why)


def test_a_long_wait_for_the_first_batch_is_told_by_itself() -> None:
    (finding,) = ask("loader-slow", drawn(14.0, workers=8, method="spawn"))

    assert finding.message == "takes 14.0 s to its first batch, with 8 workers"
    assert "Each start of the job waits as long" in str(finding.why)
