"""What was only guessed of how workers load a data set gives way to the batches that came."""

from __future__ import annotations

from dataclasses import replace

import pytest

from preflight.batches.facts import Drawn, FirstBatches, Structure
from preflight.built.drawn import without_disproved
from preflight.loaders.facts import Loaded, Trip, Unloadable
from preflight.objects.facts import Definition

GUESS = Unloadable(
    type="data.Labels",
    text="object of type data.Labels",
    error="AssertionError: a label is zero",
    paths=("dataset",),
    guess=True,
)
SURE = GUESS._replace(guess=False, paths=("dataset.names",), methods=("spawn",))
LOADED = Loaded(
    name="train:make",
    defined=Definition(file="train.py", line=9),
    num_workers=2,
    start_method="spawn",
    start_method_from="launch.start_method",
    trips=tuple(Trip(method=one, outcome="refused") for one in ("spawn", "forkserver")),
    objects=(GUESS,),
)
CAME = Drawn(FirstBatches(name="train:make", ended="enough", batches=(Structure(kind="list"),)))
NONE_CAME = Drawn(FirstBatches(name="train:make", ended="stuck"))


@pytest.mark.parametrize("one", [GUESS, GUESS._replace(guess=False, how="late")])
def test_a_guess_is_no_more_where_batches_came(one: Unloadable) -> None:
    (loaded, _) = without_disproved([replace(LOADED, objects=(one,)), CAME])

    assert isinstance(loaded, Loaded)
    assert loaded.objects == ()
    assert [trip.outcome for trip in loaded.trips] == ["loaded", "loaded"]


def test_what_is_sure_stays_beside_it() -> None:
    (loaded, _) = without_disproved([replace(LOADED, objects=(GUESS, SURE)), CAME])

    assert isinstance(loaded, Loaded)
    assert loaded.objects == (SURE,)
    assert [trip.outcome for trip in loaded.trips] == ["refused", "loaded"]


@pytest.mark.parametrize(
    ("loaded", "drawn"),
    [
        (LOADED, NONE_CAME),
        (LOADED, CAME._replace(first=replace(CAME.first, name="train:other"))),
        # who forks loads nothing, and says nothing of those who do
        (replace(LOADED, start_method="fork"), CAME),
        (replace(LOADED, objects=(GUESS._replace(methods=("forkserver",)),)), CAME),
    ],
)
def test_what_no_batch_speaks_against_is_told_as_before(loaded: Loaded, drawn: Drawn) -> None:
    assert without_disproved([loaded, drawn]) == [loaded, drawn]
