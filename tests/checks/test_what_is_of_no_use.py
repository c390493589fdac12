"""Each check says by itself which files are of no use as they are, and may be moved aside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import preflight
from preflight.facts import CacheContents, CacheFacts, Damage, FolderFacts, ImageDamage, OddContent
from preflight.finding import Aside
from preflight.pairing.facts import CaptionFlaw, CaptionLengths, Pairing
from preflight.testing import ask
from tests.archives import shard_facts
from tests.files import put

pytestmark = pytest.mark.usefixtures("at_hand")


def folder(**more: Any) -> FolderFacts:
    nothing = Pairing(rule="none", samples=0, images=9, captions=0)
    return FolderFacts(file="a", files=9, images=9, pairing=nothing, **more)


def of_image(kind: str, text: str = "is empty", fetch: str | None = None) -> tuple[Aside, ...]:
    one = ImageDamage(name="a/1.jpg", kind=kind, text=text, bytes=7, fetch=fetch)
    (found,) = ask("image-damaged", folder(damaged_images=(one,)))
    return found.aside


def test_an_image_that_is_damaged_is_of_no_use() -> None:
    assert of_image("cut") == (Aside(file="a/1.jpg", bytes=7),)


@pytest.mark.parametrize("kind", ["huge", "leftover", "not-fetched"])
def test_an_image_that_may_be_sound_stays(kind: str) -> None:
    assert of_image(kind) == ()


def test_an_image_that_can_be_fetched_stays() -> None:
    assert of_image("foreign", "is a Git LFS pointer, and no image") == ()
    assert of_image("foreign", fetch="a/1.jpg") == ()


@pytest.mark.parametrize("kind", ["encoding", "utf-16", "zeros", "nul"])
def test_captions_that_are_no_text_are_named_one_by_one(kind: str) -> None:
    """And those that are only counted keep a place in the list."""
    flaw = CaptionFlaw(kind, 3, ("a/1.txt", "a/2.txt"))
    captions = CaptionLengths(captions=9, flaws=(flaw,))
    (found,) = ask("caption-damaged", folder(captions=captions))

    first, second, rest = found.aside
    assert (first, second) == (Aside(file="a/1.txt"), Aside(file="a/2.txt"))
    assert rest.file == "a"
    assert rest.stays is not None and rest.stays.startswith("1 such caption was counted")


@pytest.mark.parametrize("kind", ["padding", "mark", "not-fetched"])
def test_captions_that_can_be_read_or_fetched_stay(kind: str) -> None:
    captions = CaptionLengths(captions=9, flaws=(CaptionFlaw(kind, 1, ("a/1.txt",)),))
    (found,) = ask("caption-damaged", folder(captions=captions))

    assert found.aside == ()


def test_a_thousand_damaged_captions_of_a_folder_are_named(tmp_path: Path) -> None:
    """Each is a file to be moved; a report of three would need hundreds of runs."""
    put(tmp_path, *(f"a/{number:04}.jpg" for number in range(1_030)))
    put(tmp_path, *(f"a/{number:04}.txt" for number in range(1_030)), content=b"caf\xe9")

    report = preflight.run("a", folder=str(tmp_path), select=["caption-damaged"])

    (found,) = report.findings
    assert [one.file for one in found.aside[:2]] == ["a/0000.txt", "a/0001.txt"]
    assert len(found.aside) == 1_001
    assert "30 such captions were counted" in str(found.aside[-1].stays)


def of_cache(file: str, kind: str = "cut", **more: Any) -> tuple[Aside, ...]:
    damage = Damage(kind=kind, text="ends at 5 of 9 bytes")
    facts = CacheFacts(file=file, size=5, format="torch zip", damage=damage, **more)
    (found,) = ask("cache-damaged", facts)
    return found.aside


def test_a_cached_file_that_is_damaged_is_of_no_use() -> None:
    assert of_cache("cache/a.pt") == (Aside(file="cache/a.pt", bytes=5),)
    assert of_cache("cache/a.pt", "bomb") == of_cache("cache/a.pt", "not-fetched") == ()


def test_a_part_of_a_checkpoint_is_not_moved_by_itself() -> None:
    for aside in (of_cache("out/checkpoint-5/a.pt"), of_cache("out/a.pt", is_older=True)):
        assert aside[0].stays is not None and "checkpoint" in aside[0].stays


@pytest.mark.parametrize(("kind", "moved"), [("nan", True), ("rank", True), ("zero", False)])
def test_numbers_that_a_run_cannot_use_are_moved(kind: str, *, moved: bool) -> None:
    odd = OddContent(file="cache/a.pt", kind=kind, count=1, of=9)
    (found,) = ask("cache-content", CacheContents(folder="cache", odd=(odd,)))

    assert found.aside == ((Aside(file="cache/a.pt"),) if moved else ())


def test_a_shard_that_readers_take_to_its_end_stays(tmp_path: Path) -> None:
    """Without an end marker it is only worth knowing."""
    whole = shard_facts(tmp_path, ["a.jpg"])
    content = (tmp_path / "x.tar").read_bytes()[:1024]

    (found,) = ask("shard-damaged", shard_facts(tmp_path, content))

    assert ask("shard-damaged", whole) == []
    assert found.aside == ()
