"""A GO is earned: what is required was asked, and what was named was looked at in part at least."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

import preflight
from preflight.render import terminal
from tests.archives import tarred
from tests.files import WHOLE, put
from tests.session.test_key_lists import PNG

pytestmark = pytest.mark.usefixtures("at_hand")


@pytest.fixture
def job(tmp_path: Path) -> Path:
    put(tmp_path / "photos", *(f"{number}.png" for number in range(4)), content=PNG)
    put(tmp_path / "photos", *(f"{number}.txt" for number in range(4)), content=b"a cat")
    put(tmp_path / "data", "0.tar", "1.tar", content=tarred({"a.png": PNG, "a.txt": b"a cat"}))
    put(tmp_path / "cache", "0.safetensors", "1.safetensors", content=WHOLE)
    long_ago = time.time() - 3_600  # what is younger is not remembered
    for path in tmp_path.glob("*/*"):
        os.utime(path, (long_ago, long_ago))
    return tmp_path


@pytest.mark.parametrize(
    ("require", "out", "said"),
    [
        ("cache-damaged", {"ignore": ["cache-damaged"]}, "cache-damaged is required, and"),
        ("loader-fork", {"select": ["image", "sample"]}, "loader-fork is required, and"),
        ("cache", {"ignore": ["cache-crash"]}, "cache-crash is required, and"),
        ("image,loader", {"select": ["image"]}, "more are required, and"),
    ],
)
def test_a_required_check_that_nobody_asks_is_no_go(
    job: Path, require: str, out: dict[str, list[str]], said: str
) -> None:
    report = preflight.run("photos", folder=str(job), require=require.split(","), **out)

    assert report.verdict == "cannot-judge"
    assert any(said in one and "--select or --ignore" in one for one in report.reasons)


def test_a_video_is_none_of_the_images_that_a_required_check_has_to_look_at(job: Path) -> None:
    look = {"folder": str(job), "select": ["image"], "require": ["image-damaged"]}
    (job / "photos" / "clip.mp4").write_bytes(b"film")
    (job / "0.tar").write_bytes(tarred({"0.mp4": b"film", "0.txt": b"a dog"}))

    assert preflight.run("photos", **look).verdict == "go"
    assert preflight.run("photos", "0.tar", **look).verdict == "go"
    alone = preflight.run("0.tar", **look)
    assert alone.verdict == "cannot-judge"
    assert "image-damaged is required, and was skipped" in alone.reasons[0]


def test_a_required_check_that_is_selected_needs_no_other(job: Path) -> None:
    look = {"folder": str(job), "select": ["image"], "require": ["image-damaged"]}

    assert preflight.run("photos", **look).verdict == "go"


@pytest.mark.parametrize(
    ("known", "late"),
    [
        ("photos", "data"),
        ("photos", "data/{0..1}.tar"),
        ("photos", "cache"),
        ("data", "cache"),
        ("data", "photos"),
        ("cache", "photos"),
    ],
)
def test_what_the_budget_left_out_whole_is_no_go(job: Path, known: str, late: str) -> None:
    """What the ledger knows costs no time, so that it alone is looked at."""
    assert preflight.run(known, folder=str(job)).verdict == "go"

    report = preflight.run(known, late, folder=str(job), budget=1e-9, jobs=1)

    assert (report.verdict, report.complete) == ("cannot-judge", False)
    assert f"No part of {late} was looked at: the budget of 1e-09 s was used up." in report.reasons
    assert not any(f"No part of {known} " in one for one in report.reasons)


def test_a_selection_does_not_make_up_for_what_nobody_came_to(job: Path) -> None:
    preflight.run("photos", folder=str(job))

    report = preflight.run(
        "photos", "data", folder=str(job), select=["image", "shard"], budget=1e-9, jobs=1
    )

    assert report.verdict == "cannot-judge"


def test_a_sample_and_a_budget_that_suffices_are_a_go(job: Path) -> None:
    every = ("photos", "data", "cache")

    assert preflight.run(*every, folder=str(job), sample="1").verdict == "go"
    assert preflight.run(*every, folder=str(job), budget=600).verdict == "go"


def test_an_empty_cache_is_nothing_that_the_budget_left_out(job: Path) -> None:
    (job / "new").mkdir()
    preflight.run("photos", folder=str(job))

    report = preflight.run("photos", "cache=new", folder=str(job), budget=1e-9, jobs=1)

    assert report.verdict == "go"


LOADER = b"""
import torch
from torch.utils.data import DataLoader


def make_loader():
    return DataLoader([1.0, 2.0])


def make_nothing():
    raise ValueError("nothing here")
"""


@pytest.mark.parametrize(
    ("select", "words", "verdict", "covers"),
    [
        (["target-unbuildable"], ["job:make_loader"], "go", "GO  for job:make_loader."),
        (["target"], ["job:make_loader", "data"], "go", "GO  for job:make_loader."),
        (
            ["target-unbuildable", "shard-damaged"],
            ["job:make_loader", "data"],
            "go",
            "GO  for 2 shards",
        ),
        (["target-unbuildable"], ["job:make_nothing"], "no-go", "NO-GO"),
        (["target-unbuildable", "shard-damaged"], ["job:make_nothing", "data"], "no-go", "NO-GO"),
        (["target-unbuildable"], ["data"], "cannot-judge", "CANNOT JUDGE"),
        (["target-missing"], ["data"], "cannot-judge", "CANNOT JUDGE"),
        (["target"], [], "cannot-judge", "CANNOT JUDGE"),
    ],
)
def test_that_something_can_be_made_is_a_go_where_that_was_asked(
    job: Path, select: list[str], words: list[str], verdict: str, covers: str
) -> None:
    """It is asked beside others, too; where nothing was to be made, nothing was looked at."""
    put(job, "job.py", content=LOADER)

    report = preflight.run(*words, folder=str(job), elsewhere=True, select=select)

    assert report.verdict == verdict
    assert terminal.render(report, quiet=True).startswith(covers)
