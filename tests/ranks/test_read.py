"""Whole runs: what the settings say of a split, and who has what by it."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import preflight
from preflight.facts import WorldFacts
from preflight.findings import registry
from preflight.findings.report import Report
from preflight.session.run import UsageError
from tests.archives import tarred

pytestmark = pytest.mark.usefixtures("at_hand")

CACHE = '[[cache]]\npath = "cache"\nof = ["photos"]\n'
PHOTOS = '[[data]]\nname = "photos"\npath = "photos"\n'


@pytest.fixture(autouse=True)
def _job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import Image

    for folder in ("photos", "cache"):
        (tmp_path / folder).mkdir()
    for number in range(12):
        path = tmp_path / "photos" / f"dog_{number:02}.png"
        Image.new("RGB", (8, 8)).save(path)
        path.with_suffix(".txt").write_text(f"dog {number % 3}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)


Seen = tuple[Report, list[WorldFacts]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Seen]:
    """Run the job of these settings, and give the report and the facts of worlds."""
    checks, bad = registry.load()
    own = checks["world-ownership"]

    def once(settings: str, **options: Any) -> Seen:
        met: list[WorldFacts] = []

        def ask(facts: WorldFacts, job: Any) -> Iterator[Any]:
            met.append(facts)
            yield from own.ask(facts, job)

        listening = {**checks, "world-ownership": dataclasses.replace(own, ask=ask, skip=None)}
        monkeypatch.setattr(registry, "load", lambda: (listening, bad))
        (tmp_path / "preflight.toml").write_text(settings, encoding="utf-8")
        options = {"select": ["world"], **options}
        return preflight.run(folder=str(tmp_path), **options), met

    return once


def found(report: Report, check: str = "world-ownership") -> list[str]:
    return [one.message for one in report.findings if one.check == check]


# --- healthy --------------------------------------------------------------------------------------


def test_without_a_split_nothing_is_said_and_nothing_is_broken(run: Callable[..., Seen]) -> None:
    report, met = run(PHOTOS + CACHE, select=[], world_size=8)

    assert met == []
    of_splits = [one for one in report.checks if one.id.startswith("world-")]
    assert {one.outcome for one in of_splits if one.id != "world-size"} == {"skipped"}
    assert report.verdict == "go"


def test_a_cache_divided_once_is_a_go_that_says_how_much_each_rank_has(
    run: Callable[..., Seen],
) -> None:
    report, (facts,) = run(PHOTOS + CACHE + 'split = "contiguous"\n', world_size=8)

    assert found(report) == []
    assert facts.each == (2, 2, 2, 2, 1, 1, 1, 1)
    assert facts.names[:2] == ("photos/dog_00.png", "photos/dog_01.png")
    assert facts.owners[1] == (2, 3)
    assert report.verdict == "go"
    assert any("1 to 2 samples on each of 8 ranks" in one.text for one in report.targets)


def test_one_rank_of_a_split_is_a_go(run: Callable[..., Seen]) -> None:
    report, (facts,) = run(PHOTOS + CACHE + 'split = "strided"\n')

    assert (facts.ranks, facts.each) == (1, (12,))
    assert report.verdict == "go"


# --- items ----------------------------------------------------------------------------------------


def test_a_folder_of_images_and_a_list_of_shards_are_divided(
    run: Callable[..., Seen], tmp_path: Path
) -> None:
    for number in range(5):
        shard = tarred({f"{number}.txt": b"text"})
        (tmp_path / f"train-{number}.tar").write_bytes(shard)
    settings = PHOTOS + 'split = "strided"\n[[data]]\nshards = "train-{0..4}.tar"\n'
    report, met = run(settings + 'split = ["split_by_node", "split-by-worker"]\n', world_size=2)

    by_noun = {one.noun: one for one in met}
    assert by_noun["sample"].each == (6, 6)
    assert by_noun["shard"].each == (3, 2)
    assert by_noun["shard"].names[0] == "train-0.tar"
    assert found(report) == ["gives rank 1 2 shards and rank 0 3, of 5 on 2 ranks"]


def test_without_data_the_entries_of_a_cache_are_divided(
    run: Callable[..., Seen], tmp_path: Path
) -> None:
    import torch

    for number in range(4):
        torch.save(torch.zeros(2), tmp_path / "cache" / f"{number}.pt")
    settings = '[[cache]]\npath = "cache"\nsplit = ["strided", "contiguous"]\natomic = true\n'
    report, (facts,) = run(settings, world_size=2)

    assert (facts.noun, facts.atomic, facts.names[0]) == ("entry", True, "cache/0.pt")
    assert found(report)[0].startswith("2 entries of 4 have no rank of 2")


def test_an_empty_cache_of_nobody_knows_what_cannot_be_judged(run: Callable[..., Seen]) -> None:
    report, met = run('[[cache]]\npath = "cache"\nsplit = "strided"\n', world_size=2)

    assert met == []
    assert report.verdict == "cannot-judge"
    (outcome,) = (one for one in report.checks if one.id == "world-ownership")
    assert "of which data set" in outcome.broken[0].error


def test_entries_that_are_missing_are_counted_and_captions_that_are_equal_told(
    run: Callable[..., Seen], tmp_path: Path
) -> None:
    settings = PHOTOS + CACHE + 'key = "md5(caption)"\nsplit = "contiguous"\n'
    report, (facts,) = run(settings, world_size=2)

    assert (facts.by_caption, facts.entries_shared, facts.missing) == (True, 3, 12)
    assert "3 entries may be written by several ranks of 2" in found(report)[0]
    assert report.verdict == "go"


@pytest.mark.parametrize(
    ("shards", "each"),
    [
        ("s3://bucket/train-{0..4}.tar", (2, 1, 1, 1)),
        ("pipe:curl -s https://there/{00..11}.tar", (3, 3, 3, 3)),
        ("https://there/0.tar", (1, 0, 0, 0)),
        ("s3://bucket/{0..2}.tar::train-{0..1}.tar", (2, 1, 1, 1)),
    ],
)
def test_shards_behind_an_address_are_divided_by_their_names(
    shards: str, each: tuple[int, ...], run: Callable[..., Seen], tmp_path: Path
) -> None:
    """Who has how many is known without reading one; some may lie here."""
    for number in range(2):
        (tmp_path / f"train-{number}.tar").write_bytes(tarred({"0.txt": b"text"}))
    settings = f'[[data]]\nname = "far"\nshards = "{shards}"\nsplit = "split_by_node"\n'
    report, (facts,) = run(settings, world_size=4)

    assert (facts.name, facts.noun, facts.each) == ("far", "shard", each)
    assert bool(found(report)) == (each[0] != each[-1])
    assert facts.names[:1] == () or "://" in facts.names[0]


@pytest.mark.parametrize("address", ["s3://bucket/*.tar", "hf://datasets/x/y"])
def test_how_many_shards_there_are_behind_an_address_has_to_be_said(
    address: str, run: Callable[..., Seen]
) -> None:
    settings = f'[[data]]\npath = "{address}"\nsplit = "split_by_node"\n'
    report, met = run(settings, world_size=4)

    assert met == []
    (outcome,) = (one for one in report.checks if one.id == "world-ownership")
    assert "nobody knows how many" in outcome.broken[0].error
    assert report.verdict == "cannot-judge"


# --- the user's code ------------------------------------------------------------------------------

SPLITS = """
import os

def half(items, rank, world_size):
    assert items[0] == "photos/dog_00.png"
    return items[: len(items) // 2][rank::world_size]

def captions(items, rank, world_size):
    return list(set(items))[rank::world_size]

def places(items, rank, world_size):
    return range(rank, len(items), world_size)

def raising(items, rank, world_size):
    return items[rank] / 0

def others(items, rank, world_size):
    return ["cat.png"]

def arrays(items, rank, world_size):
    import numpy
    return numpy.array_split(numpy.arange(len(items)), world_size)[rank]

def paths(items, rank, world_size):
    import pathlib
    return [pathlib.Path("./" + one) for one in items[rank::world_size]]

def too_many(items, rank, world_size):
    return range(rank, len(items) + 1, world_size)

def resolved(items, rank, world_size):
    import pathlib
    return [pathlib.Path(one).resolve() for one in items[rank::world_size]]

def seeded(items, rank, world_size, seed):
    return items[rank::world_size]

def all_but_0(items, rank, world_size):
    return items[rank - 1 :: world_size - 1] if rank else []

def some(items, rank, world_size):
    return [max(items)]
"""


def test_a_function_of_the_user_divides_as_it_says(
    run: Callable[..., Seen], tmp_path: Path
) -> None:
    (tmp_path / "job.py").write_text(SPLITS, encoding="utf-8")
    settings = "".join(
        f'[[cache]]\npath = "cache"\nname = "{name}"\nof = ["photos"]\nsplit = "job:{name}"\n'
        for name in (
            *("half", "captions", "places", "raising", "others"),
            *("arrays", "paths", "too_many", "resolved", "seeded"),
        )
    )
    settings += '[[cache]]\npath = "cache"\nname = "some"\nof = ["photos"]\n'
    settings += 'split = ["job:all_but_0", "job:some"]\n'
    settings += '[[cache]]\npath = "to_be"\nof = ["photos"]\nsplit = "strided"\nwritten = true\n'
    report, met = run(PHOTOS + settings, world_size=4)

    facts = {one.name: one for one in met}
    assert facts.keys() == {
        *("half", "captions", "places"),
        *("arrays", "paths", "resolved", "to_be"),
    }
    assert (facts["half"].nobody, facts["half"].unstable) == (6, False)
    assert facts["captions"].unstable
    assert facts["places"].owners[1] == (1, 5, 9)
    assert facts["arrays"].owners[1] == (3, 4, 5)
    for name in ("paths", "resolved", "to_be"):
        assert facts[name].owners == facts["places"].owners
    (outcome,) = (one for one in report.checks if one.id == "world-ownership")
    errors = sorted(one.error for one in outcome.broken)
    assert errors[0].startswith("job:others gives cat.png, which is none of its items")
    assert errors[1].startswith("job:raising raises TypeError")
    assert "in job.py:15, for rank 0 of 4" in errors[1]
    assert "missing 1 required positional argument: 'seed', for rank 0 of 4" in errors[2]
    assert errors[3].startswith("job:some raises ValueError")
    assert errors[3].endswith("for rank 0 of 4, which has no items to divide")
    assert errors[4] == "job:too_many gives 12 for a place in 12 items"


def test_where_accelerate_is_not_installed_nobody_can_judge(
    run: Callable[..., Seen], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "accelerate.py").write_text("raise ImportError('it is not there')\n")
    before = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'lib'}{os.pathsep}{before}")
    report, met = run(PHOTOS + CACHE + 'split = "accelerate"\n', world_size=4)

    assert met == []
    assert report.verdict == "cannot-judge"
    (outcome,) = (one for one in report.checks if one.id == "world-ownership")
    assert "accelerate" in outcome.broken[0].error


@pytest.mark.slow
@pytest.mark.parametrize(("version", "more"), [("1.13.0", (2,)), ("1.14.0", ())])
def test_three_items_on_eight_ranks_are_divided_as_accelerate_of_each_version_does(
    version: str,
    more: tuple[int, ...],
    run: Callable[..., Seen],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each installed from the registry: up to 1.13, all ranks that are too many have the last."""
    lib = tmp_path / "lib"
    wanted = f"accelerate=={version}"
    how = ("--quiet", "--disable-pip-version-check", "--retries", "0", "--timeout", "20")
    how = (*how, "--no-deps", "--no-compile")
    words = (sys.executable, "-m", "pip", "install", *how, "--target", str(lib))
    done = subprocess.run([*words, wanted], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{wanted} cannot be installed here: {done.stderr[-200:]}")
    monkeypatch.setenv("PYTHONPATH", f"{lib}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    for path in sorted((tmp_path / "photos").glob("dog_*"))[6:]:
        path.unlink()
    report, (facts,) = run(PHOTOS + CACHE + 'split = "accelerate"\n', world_size=8)

    assert facts.versions == (f"accelerate {version}",)
    assert facts.owners == ((0,), (1,), (2,), *[more] * 5)
    assert facts.several == bool(more)
    assert bool(found(report)) == bool(more)


LOADERS = """
import torch
import webdataset as wds

def shards():
    data = wds.WebDataset("train-{0..4}.tar", shardshuffle=False, nodesplitter=wds.split_by_node)
    return torch.utils.data.DataLoader(data, batch_size=None, num_workers=1)

def drawn():
    data = wds.WebDataset("drawn-{0..2}.tar", resampled=True, nodesplitter=wds.split_by_node)
    return torch.utils.data.DataLoader(data.with_epoch(4), batch_size=None)

def samples():
    return torch.utils.data.DataLoader(list(range(10)), batch_size=2)

def broken():
    raise ValueError("no data here")
"""


def test_live_loaders_are_divided_by_what_they_list(
    run: Callable[..., Seen], tmp_path: Path
) -> None:
    for number in range(5):
        shard = tarred({f"{number}.txt": b"text"})
        (tmp_path / f"train-{number}.tar").write_bytes(shard)
    (tmp_path / "train.py").write_text(LOADERS, encoding="utf-8")
    split = '["split_by_node", "split_by_worker"]'
    settings = f'[[loader]]\ncall = "train:shards"\nsplit = {split}\n'
    settings += '[[loader]]\ncall = "train:samples"\nsplit = "distributed-sampler"\n'
    settings += '[[loader]]\ncall = "train:broken"\nsplit = "strided"\n'
    report, met = run(settings, select=["world-ownership"], world_size=8)

    facts = {one.name: one for one in met}
    assert facts["train:shards"].each == (1, 1, 1, 1, 1, 0, 0, 0)
    assert facts["train:samples"].each == (2,) * 8
    assert found(report) == ["3 of 8 ranks have nothing of its 5 shards (ranks 5, 6 and 7)"]
    (outcome,) = (one for one in report.checks if one.id == "world-ownership")
    assert [one.error for one in outcome.broken] == [
        "it was not made, so that nobody knows its items"
    ]


def shards_of(folder: Path, name: str, *sizes: int) -> None:
    """Write shards of so many samples."""
    for number, size in enumerate(sizes):
        members = {f"{number}-{sample}.txt": b"text" for sample in range(size)}
        (folder / f"{name}-{number}.tar").write_bytes(tarred(members))


UNEVEN = {"select": ["world-ownership", "shard-uneven"], "world_size": 2}


def test_shards_of_other_sizes_are_told_once_by_the_split_that_is_said(
    run: Callable[..., Seen], tmp_path: Path
) -> None:
    """As many shards for each rank, and not as many samples."""
    shards_of(tmp_path, "train", 4, 1, 4, 1)
    settings = '[[data]]\nshards = "train-{0..3}.tar"\nsplit = '
    strided, met = run(settings + '"split_by_node"\n', **UNEVEN)
    contiguous, also_met = run(settings + '"contiguous"\n', **UNEVEN)

    assert [one.samples for one in (*met, *also_met)] == [(8, 2), (5, 5)]
    (one,) = strided.findings
    assert one.check == "world-ownership"
    assert one.message == (
        "gives rank 1 2 samples (2 shards) and rank 0 8 samples (2 shards), of 4 shards on 2 ranks"
    )
    assert contiguous.findings == ()


def test_what_a_loader_divides_is_told_of_it_alone(
    run: Callable[..., Seen], tmp_path: Path
) -> None:
    """And not of its shards again; a stream that draws with replacement is never uneven."""
    shards_of(tmp_path, "train", 1, 1, 1, 1, 1)
    shards_of(tmp_path, "drawn", 1, 1, 1)
    (tmp_path / "train.py").write_text(LOADERS, encoding="utf-8")
    split = 'split = "split_by_node"\n'
    settings = f'[[data]]\nshards = "train-{{0..4}}.tar"\n{split}'
    settings += f'[[loader]]\ncall = "train:shards"\n{split}'
    settings += f'[[loader]]\ncall = "train:drawn"\n{split}'
    report, (facts,) = run(settings, **UNEVEN)

    assert (facts.name, facts.samples) == ("train:shards", (3, 2))
    (one,) = report.findings
    assert (one.check, one.at.name) == ("world-ownership", "train:shards")
    assert "gives rank 1 2 samples (2 shards) and rank 0 3 samples (3 shards)" in one.message


# --- settings -------------------------------------------------------------------------------------


def test_a_split_that_means_nothing_is_told_with_its_line(run: Callable[..., Seen]) -> None:
    with pytest.raises(UsageError, match=r"preflight.toml:7: cache.0.split: 'stride' is no way"):
        run(PHOTOS + CACHE + 'split = "stride"\n')
