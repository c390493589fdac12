"""What is told of many names at once is what would be told of them one by one."""

from __future__ import annotations

import os
import random
import tracemalloc
from pathlib import Path

import pytest

from preflight.pairing.facts import Pairing, Unpaired
from preflight.pairing.folder_contents import list_all
from preflight.pairing.folder_pairing import pair_contents
from preflight.pairing.pair import pair
from preflight.pairing.rules import FileGroup
from preflight.pairing.side_files import captions_nothing
from preflight.targets.targets import CaptionRule
from tests.files import put

SUFFIXES = ["jpg", "JPG", "png", "txt", "TXT", "json", "caption", "md", ""]
STEMS = ["1", "2", "3", "4", "README", "notes", "a.b", "狗", "caf\udce9"]


def one_by_one(folder: Path, rule: CaptionRule) -> Pairing:
    """Pair with a group for each stem that is an image, or may caption one of its folder."""
    texts = {rule.extension} if rule.extension else {"txt", "caption", "json"}
    groups, bare = [], set()
    usual: dict[str, str | None] = {}
    for path, _, names in sorted(os.walk(folder)):
        here: dict[str, list[str]] = {}
        for name in sorted(names):
            stem, extension = os.path.splitext(name)
            here.setdefault(stem, []).append(extension[1:])
        images = {stem for stem, each in here.items() if {*map(str.lower, each)} & {"jpg", "png"}}
        told = {stem for stem, each in here.items() if {*map(str.lower, each)} & texts}
        kept = images | {stem for stem in told if images and not captions_nothing(stem)}
        place = os.path.relpath(path, folder.parent)
        pictured = [one for each in here.values() for one in each if one.lower() in {"jpg", "png"}]
        usual[place] = min(pictured, key=lambda one: (-pictured.count(one), one), default=None)
        groups += [FileGroup(f"{place}/{stem}", tuple(here[stem])) for stem in here if stem in kept]
        if not (told & kept):
            bare.add(place)
    apart = {one.key for one in groups if os.path.dirname(one.key) in bare}
    rest = [one for one in groups if apart and one.key not in apart and rule.rule == "auto"]
    pairing = pair(groups, rule, shard=False, guessed_by=rest)
    of_images = [any(one in {"jpg", "JPG", "png"} for one in two.suffixes) for two in groups]
    mostly = 2 * len(apart) > sum(of_images)

    def explained(one: Unpaired) -> Unpaired:
        place = one.name.rpartition("/")[0]
        if one.lacks == "image" and one.instead is None and not one.because:
            image = usual[place]
            if image is not None and image in (rule.images or (image,)):
                return one._replace(expected=f"{one.expected.rpartition('.')[0]}.{image}")
        if one.lacks == "caption" and rule.rule == "auto" and place in bare:
            return one._replace(because="folder")
        return one

    told_of = [explained(one) for one in pairing.unpaired]
    left = [one for one in told_of if not (mostly and one.because == "folder")]
    return pairing._replace(unpaired=tuple(left))


def fill(folder: Path, chance: random.Random) -> None:
    """Make folders of names that mostly go together."""
    for place in ("", "cats", "dogs"):
        (folder / place).mkdir(exist_ok=True)
        usual = chance.sample(SUFFIXES, chance.choice([1, 2, 3]))
        for stem in chance.sample(STEMS, chance.randrange(len(STEMS))):
            others = chance.sample(SUFFIXES, 2) if chance.random() < 0.3 else usual
            for suffix in others:
                (folder / place / (f"{stem}.{suffix}" if suffix else stem)).touch()


@pytest.mark.parametrize("seed", range(60))
def test_names_are_paired_as_if_each_stood_for_itself(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    fill(tmp_path / "data", chance)
    rule = CaptionRule(
        rule=chance.choice(["auto", "auto", "textfile", "json", "none"]),
        extension=chance.choice([None, None, "caption"]),
        images=chance.choice([(), ("jpg",), ("png", "jpg")]),
    )

    contents = tuple(list_all(str(tmp_path / "data"), str(tmp_path)))

    found, expected = pair_contents(contents, rule), one_by_one(tmp_path / "data", rule)
    assert set(found.unpaired) == set(expected.unpaired)
    assert {name: getattr(found, name) for name in found.__slots__ if name != "unpaired"} == {
        name: getattr(expected, name) for name in found.__slots__ if name != "unpaired"
    }


def test_what_lacks_something_is_told_in_the_order_of_names(tmp_path: Path) -> None:
    put(tmp_path, *(f"{number:02}.jpg" for number in range(30)))
    put(tmp_path, *(f"{number:02}.txt" for number in range(30) if number % 3))

    pairing = pair_contents(tuple(list_all(str(tmp_path), str(tmp_path))), CaptionRule())

    assert [one.name for one in pairing.unpaired] == [f"{n:02}.jpg" for n in range(0, 30, 3)]
    assert (pairing.samples, pairing.whole, pairing.images) == (30, 20, 30)


def test_images_are_given_in_the_order_of_their_names(tmp_path: Path) -> None:
    put(tmp_path, "b.png", "a.jpg", "a.txt", "c.JPG", "B.webp", "._a.jpg")

    (contents,) = list_all(str(tmp_path), str(tmp_path))

    assert contents.image_names() == ["B.webp", "a.jpg", "b.png", "c.JPG"]
    assert (contents.files, contents.images) == (5, 4)


def test_a_folder_of_numbered_suffixes_is_listed(tmp_path: Path) -> None:
    """As logs and checkpoints have them."""
    put(tmp_path, "step.jpg", "other.jpg", *(f"step.{number}" for number in range(300)))

    (contents,) = list_all(str(tmp_path), str(tmp_path))

    assert contents.image_names() == ["other.jpg", "step.jpg"]
    assert pair_contents([contents], CaptionRule()).samples == 2


def test_a_large_folder_takes_little_memory(tmp_path: Path) -> None:
    """At most 150 bytes a file; one path of it is more."""
    put(tmp_path, *(f"{n:08}.{suffix}" for n in range(4000) for suffix in ("jpg", "txt")))
    list(list_all(str(tmp_path), str(tmp_path)))
    tracemalloc.start()
    try:
        contents = tuple(list_all(str(tmp_path), str(tmp_path)))
        pair_contents(contents, CaptionRule())
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 150 * 8000
    assert kept < 20 * 8000
