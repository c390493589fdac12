"""What was seen of images, samples and captions is the same in a run that reads nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import preflight
from preflight.findings import registry
from preflight.findings.finding import Finding
from preflight.images.facts import FolderFacts
from preflight.shards.facts import ShardFacts
from tests.archives import photo, saved, tarred
from tests.files import write

pytestmark = pytest.mark.usefixtures("at_hand")

CHECKS = ("image-damaged", "shard-uneven", "dataset-small")


def facts_of(folder: Path, *words: str, again: bool = False, **options: Any) -> list[Any]:
    """Run over what is there, and give the facts that checks were asked about, in their order.

    Again: nothing is read.
    """
    checks, _ = registry.load()
    seen: dict[str, Any] = {}

    def listening(check: Any) -> Any:
        def ask(facts: Any, job: Any) -> Iterator[Finding]:
            seen[f"{type(facts).__name__} {facts.file}"] = facts
            yield from check.ask(facts, job)

        return dataclasses.replace(check, ask=ask)

    with pytest.MonkeyPatch.context() as patch:
        every = {name: listening(one) for name, one in checks.items()}
        patch.setattr(registry, "load", lambda: (every, ()))
        report = preflight.run(*words, folder=str(folder), elsewhere=True, select=CHECKS, **options)
    if again:
        assert report.remembered and all(one.count == one.of for one in report.remembered)
    return [seen[name] for name in sorted(seen)]


def png(width: int, height: int) -> bytes:
    return saved(Image.new("L", (width, height)), "PNG")


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """Folders of images in three folders, one damaged, and two shards."""
    for number in range(12):
        write(tmp_path / "photos" / f"{number % 3}" / f"{number:02}.png", png(9 + number % 5, 7))
    write(tmp_path / "photos" / "0" / "cut.jpg", photo()[:-99])
    write(tmp_path / "photos" / "page.jpg", b"<!DOCTYPE html>")
    for shard in range(2):
        files = {f"{shard}-{n}.{ext}": b for n in range(3) for ext, b in SAMPLE.items()}
        write(tmp_path / "shards" / f"{shard}.tar", tarred(files))
    return tmp_path


SAMPLE = {"jpg": photo(width=64, height=48), "txt": b"a dog"}


@pytest.mark.parametrize("depth", ["index", "bytes", "decode"])
def test_a_second_run_tells_the_same(job: Path, depth: str) -> None:
    """Of whole folders, and where one has changed, of each image of it."""
    words = ("photos", "shards")
    first = facts_of(job, *words, depth=depth)
    assert facts_of(job, *words, depth=depth, again=True) == first
    assert facts_of(job, *words, depth=depth, no_ledger=True) == first

    (folder,) = (one for one in first if isinstance(one, FolderFacts))
    assert (folder.pictures.images, folder.pictures.formats) == (14, {"JPEG": 1, "PNG": 12})
    assert folder.pictures.unsized_names == ("photos/page.jpg",)
    assert {one[:3] for one in folder.pictures.sizes} >= {(9, 7, 3), (13, 7, 2)}

    write(job / "photos" / "1" / "new.png", png(1, 1), age=1_800)
    changed, *_ = (one for one in facts_of(job, *words, depth=depth) if one.file == "photos")
    assert changed == next(
        one for one in facts_of(job, *words, depth=depth, no_ledger=True) if one.file == "photos"
    )
    smallest = facts_of(job, "photos", depth=depth)[-1].pictures.smallest
    assert smallest == (1, 1, 1, ("photos/1/new.png",))


def test_a_data_set_counts_the_fields_of_all_its_shards(job: Path) -> None:
    facts = facts_of(job, "shards")
    data = facts[0]

    assert [(one.name, one.files, one.bytes) for one in data.fields.fields] == [
        ("jpg", 6, 6 * len(SAMPLE["jpg"])),
        ("txt", 6, 30),
    ]
    assert [tuple(one) for one in data.fields.sets] == [(("jpg", "txt"), 6)]
    shards = [one for one in facts if isinstance(one, ShardFacts)]
    assert [one.captions.captions for one in shards] == [3, 3]
    assert facts_of(job, "shards", again=True) == facts
