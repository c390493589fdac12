"""Damaged images are told one by one, as long as there are not too many of a kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.images import pictures
from preflight.images.facts import ImageDamage
from preflight.images.pictures import Damages
from preflight.testing import ask
from tests.archives import photo, shard_facts, tarred


def damage(kind: str, name: str = "dog.jpg") -> ImageDamage:
    """An image with a damage of some kind."""
    return ImageDamage(name=name, kind=kind, text="is bad", bytes=1)


def test_the_first_of_each_kind_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rare kind behind many of another is not lost among them: it may be the graver one."""
    monkeypatch.setattr(pictures, "MOST", 2)
    found = Damages(damage("huge", f"{number}.jpg") for number in range(5))
    found.add(damage("cut", "last.jpg"))

    assert [one.name for one in found.told] == ["0.jpg", "1.jpg", "last.jpg"]
    assert found.more == 3


def test_a_shard_counts_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check tells what is named, and how many more there are."""
    monkeypatch.setattr(pictures, "MOST", 3)
    files = {f"{number}.jpg": photo()[:700] for number in range(9)}

    facts = shard_facts(tmp_path, tarred(files))

    assert ([one.name for one in facts.damaged_images], facts.more_damaged) == (
        ["0.jpg", "1.jpg", "2.jpg"],
        6,
    )
    assert facts.images == 9
    assert len(ask("image-damaged", facts)) == 3
