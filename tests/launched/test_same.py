"""What rows say of their facts is the same exactly where ranks see the same."""

from __future__ import annotations

from pathlib import Path

from preflight.images.facts import FolderFacts
from preflight.images.kind import FOLDER
from preflight.kinds.same import listed
from preflight.pairing.facts import Pairing


def said_of(folder: Path) -> str:
    pairing = Pairing(rule="none", samples=0, images=0, captions=0)
    facts = FolderFacts(file=folder.name, files=0, pairing=pairing, images=0)
    (same,) = FOLDER.alike[FolderFacts](facts, str(folder.parent))
    return same.value


def filled(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / "photos" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return folder / "photos"


def test_folders_of_two_machines_are_told_apart_by_their_names(tmp_path: Path) -> None:
    names = ("a.jpg", "a.txt", "b.png", "deep/c.jpg")
    one = filled(tmp_path / "node0", *names)
    two = filled(tmp_path / "node1", *reversed(names))
    other = filled(tmp_path / "node2", "a.jpg", "a.txt", "b.png", "deep/d.jpg")

    assert said_of(one).startswith("4 files (sha256 ")
    assert said_of(one) == said_of(two) != said_of(other)


def test_a_list_is_the_same_in_any_order() -> None:
    assert listed(["a", "b"], "shard") == listed(["b", "a"], "shard") != listed(["a"], "shard")
    assert listed(["a"], "shard").startswith("1 shard (sha256 ")
