"""What is told of ranks beside their items: whether a cache's writer was tried, what was read."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

import preflight
from preflight.facts import WorldFacts
from preflight.findings.finding import Location
from preflight.findings.looks import Looked
from preflight.kinds.question import Question
from preflight.ranks.gather import Worlds
from preflight.ranks.kind import WORLD
from preflight.storage.facts import ReadBack, WriterTrial
from preflight.targets.targets import CacheFolder
from tests.archives import saved, tarred
from tests.files import put
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


@pytest.mark.parametrize(
    ("select", "seen", "told"),
    [
        (["world"], "the split of 2 data sets", "not read: no selected check is about it"),
        (["world", "shard", "image"], "3 images and 4 shards", ""),
        ([], "3 images and 4 shards", ""),
    ],
    ids=["split alone", "what is in it, too", "all"],
)
def test_a_page_says_of_data_how_it_is_divided_also_where_it_is_not_read(
    select: list[str], seen: str, told: str, tmp_path: Path
) -> None:
    for number in range(4):
        put(tmp_path, f"{number}.tar", content=tarred({f"{number}.txt": b"text"}))
    for number in range(3):
        put(tmp_path, f"photos/{number}.png", content=saved(Image.new("RGB", (64, 64)), "PNG"))
    entry = 'path = "photos"\nsplit = "strided"', 'shards = "{0..3}.tar"\nsplit = "strided"'
    put(tmp_path, "preflight.toml", content="".join(f"[[data]]\n{one}\n" for one in entry).encode())

    report = preflight.run(folder=str(tmp_path), select=select, world_size=2)
    photos, shards = (one.text for one in report.targets if one.kind == "data")
    (data,) = (one for one in report.coverage if one.part == "data")

    assert report.verdict == "go"
    assert "data" not in report.not_judged
    assert data.seen.startswith(seen)
    assert "1 to 2 samples on each of 2 ranks" in photos
    assert "2 shards on each of 2 ranks" in shards
    assert photos.endswith(told)
    assert shards.endswith(told)
    assert "not looked at" not in photos + shards


def test_data_without_a_split_is_not_looked_at_where_only_splits_are(tmp_path: Path) -> None:
    put(tmp_path, "photos/1.png", content=saved(Image.new("RGB", (64, 64)), "PNG"))

    report = preflight.run("photos", folder=str(tmp_path), select=["world"], world_size=2)

    assert [one.text for one in report.targets] == ["not looked at: no selected check is about it"]
    assert report.verdict == "cannot-judge"


@pytest.mark.parametrize(("split", "unowned"), [('"strided"', 0), ('["strided", "contiguous"]', 8)])
def test_the_work_of_a_cache_is_divided_before_its_folder_is_there(
    tmp_path: Path, split: str, unowned: int
) -> None:
    """As on the first launch, for which nobody has made it."""
    put(tmp_path, *(f"photos/{number:02}.png" for number in range(11)))
    settings = (
        f'[[data]]\npath = "photos"\n[[cache]]\npath = "c"\nof = ["photos"]\nsplit = {split}\n'
    )
    put(tmp_path, "preflight.toml", content=settings.encode())

    report = preflight.run(folder=str(tmp_path), select=["world-ownership"], world_size=4)

    told = [one.message for one in report.findings]
    assert [one.startswith(f"{unowned} samples of 11 have no rank of 4") for one in told] == (
        [True] if unowned else []
    )
    assert next(one for one in report.checks if one.id == "world-ownership").looked_at == 1


def test_a_cache_that_may_be_misspelled_is_still_told_so(tmp_path: Path) -> None:
    put(tmp_path, "photos/1.png", "latents/1.pt")
    settings = '[[data]]\npath = "photos"\n[[cache]]\npath = "latent"\nof = ["photos"]\n'
    put(tmp_path, "preflight.toml", content=f'{settings}split = "strided"\n'.encode())

    report = preflight.run(folder=str(tmp_path), select=["target-missing"], world_size=4)

    assert [one.message.partition("; ")[2] for one in report.findings] == ["beside it lies latents"]
