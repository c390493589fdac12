"""What is told of a cache's ranks once the function that writes its entries was tried."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.facts import WorldFacts
from preflight.findings.finding import Location
from preflight.findings.looks import Looked
from preflight.kinds.question import Question
from preflight.ranks.gather import Worlds
from preflight.ranks.kind import WORLD
from preflight.storage.facts import ReadBack, WriterTrial
from preflight.targets.targets import CacheFolder
from tests.questions import run_of

WHOLE = WriterTrial(file="cache", entry=0, writer="job:save", reads=ReadBack(reads=9))
DIVIDED = WorldFacts(name="cache", part="cache", noun="sample", split=("strided",))


@pytest.mark.parametrize(
    ("trial", "told"),
    [
        (WHOLE, "job:save"),
        (None, ""),
        (WriterTrial(file="cache", writer="job:save"), ""),
        (WriterTrial(file="cache", writer="job:save", reads=ReadBack(reads=9, torn=1)), ""),
        (WriterTrial(file="cache", writer="job:save", reads=ReadBack(reads=9), raised=1), ""),
    ],
    ids=["whole", "not tried", "never read", "torn", "raised"],
)
def test_a_writer_that_was_tried_and_let_nobody_read_half_is_named(
    trial: WriterTrial | None, told: str, tmp_path: Path
) -> None:
    """Also where the trial ends after it was seen who has what."""
    cache = CacheFolder(path="cache", entry=0)
    worlds = Worlds(WORLD, run_of(tmp_path))
    question = Question(
        kind=WORLD, wire={}, target=cache, at=Location(file="cache"), gives=(), gather=worlds
    )

    assert [*worlds.judged(question, DIVIDED, None)] == []
    if trial is not None:
        worlds.hear(cache, trial)
    (seen,) = worlds.finish()

    assert isinstance(seen, Looked)
    assert isinstance(seen.facts, WorldFacts)
    assert seen.facts.tried_writer == told
