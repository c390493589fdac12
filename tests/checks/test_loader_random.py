"""What is said of workers that draw the same random numbers, and of whom nothing is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from preflight.facts import RandomDraws
from preflight.testing import ask

SEEN = RandomDraws(
    name="train:loader",
    num_workers=2,
    dataset="train.Crops",
    draws=12,
    varies=True,
    workers_alike=True,
    generators=("dataset.rng",),
)


@pytest.mark.parametrize(
    "sound",
    [
        replace(SEEN, workers_alike=False),
        replace(SEEN, varies=False),
        replace(SEEN, varies=False, epochs_alike=True),
    ],
)
def test_what_is_not_random_or_differs_is_left_alone(sound: RandomDraws) -> None:
    assert ask("loader-random", sound) == []


def test_the_generator_is_named() -> None:
    (finding,) = ask("loader-random", SEEN)

    assert finding.message == (
        "all workers draw the same random numbers: train.Crops (dataset.rng) gave one sample in 12 "
        "random versions, and the same 12 again"
    )


def test_epochs_that_repeat_are_told_though_workers_differ() -> None:
    (finding,) = ask("loader-random", replace(SEEN, workers_alike=False, epochs_alike=True))

    assert finding.message.startswith("all epochs draw the same random numbers")


def test_shards_that_all_workers_draw_alike_are_told() -> None:
    seen = replace(SEEN, draws=256, is_stream=True, of_shards=True, dataset="webdataset.Drawn")
    (finding,) = ask("loader-random", replace(seen, generators=()))

    assert finding.message == (
        "all workers draw the same random numbers: webdataset.Drawn gave 256 shards, drawn one by "
        "one, and just the same again"
    )
