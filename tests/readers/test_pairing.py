"""Images and captions pair by the rule of the data set, and where there is none, seldom."""

from __future__ import annotations

import re

import pytest

from preflight.facts import Unpaired
from preflight.readers.pairing import Group, pair
from preflight.readers.samples import key_of
from preflight.targets import CaptionRule

AUTO = CaptionRule()
TEXT = CaptionRule(rule="textfile")


def groups(*written: str) -> list[Group]:
    """Make groups of `dog: jpg txt`."""
    split = [one.split(":") for one in written]
    return [Group(key, tuple(suffixes.split())) for key, suffixes in split]


def unpaired(made: list[Group], rule: CaptionRule, *, shard: bool = True) -> tuple[Unpaired, ...]:
    return pair(made, rule, shard=shard).unpaired


@pytest.mark.parametrize(
    "made",
    [
        groups(),
        groups("a: jpg txt", "b: png txt"),
        groups("a: jpg", "b: jpg", "c: jpg txt"),
        groups("a: jpg", "b: jpg txt"),
        groups("a: txt", "b: txt"),
        groups("a: input.jpg output.png txt", "b: input.jpg output.png txt"),
        groups("a: jpg mask.png json", "b: jpg mask.png json"),
        groups("a: v2.jpg v2.txt", "b: v2.jpg v2.txt"),
        groups("a: JPG TXT", "b: jpg Txt"),
        groups("a: jpg cls", "b: jpg cls", "c: jpg cls"),
        groups("a: jpg txt npz", "b: jpg caption", "c: jpg txt", "latents: npz"),
    ],
    ids=[
        *("nothing", "pairs", "captions for a few", "captions for half", "texts only"),
        *("several images", "image and mask", "dots in names", "large letters", "classes"),
        "two extensions of captions",
    ],
)
@pytest.mark.parametrize("shard", [True, False], ids=["shard", "folder"])
def test_sound_samples_are_left_alone(made: list[Group], *, shard: bool) -> None:
    assert unpaired(made, AUTO, shard=shard) == ()


@pytest.mark.parametrize("rule", ["none", "filename", "prompt", "table"])
def test_rules_without_caption_files_ask_for_none(rule: str) -> None:
    pairing = pair(groups("a: jpg", "b: jpg txt"), CaptionRule(rule=rule), shard=True)

    assert (pairing.rule, pairing.unpaired, pairing.samples) == ("none", (), 2)
    assert (pairing.images, pairing.captions) == (2, 0)


@pytest.mark.parametrize("rule", [AUTO, TEXT], ids=["auto", "textfile"])
@pytest.mark.parametrize("shard", [True, False], ids=["shard", "folder"])
def test_what_lacks_its_other_half_is_found(rule: CaptionRule, *, shard: bool) -> None:
    made = groups("a: jpg txt", "b: jpg txt", "c: jpg txt", "d: png", "e: txt")

    pairing = pair(made, rule, shard=shard)

    assert pairing.unpaired == (
        Unpaired(name="d.png", lacks="caption", expected="d.txt"),
        Unpaired(name="e.txt", lacks="image", expected="e.jpg"),
    )
    assert (pairing.samples, pairing.images, pairing.captions) == (5, 4, 4)


def test_a_named_extension_is_the_only_caption() -> None:
    made = groups("a: jpg tags", "b: jpg txt")

    assert unpaired(made, CaptionRule(rule="textfile", extension=".tags")) == (
        Unpaired(
            name="b.jpg", lacks="caption", expected="b.tags", instead="b.txt", because="extension"
        ),
    )


def test_json_captions_are_asked_for_by_their_rule() -> None:
    made = groups("a: jpg json", "b: jpg txt")

    assert [one.name for one in unpaired(made, CaptionRule(rule="json"))] == ["b.jpg"]


def test_a_few_missing_texts_are_found_where_every_sample_has_its_json() -> None:
    """As img2dataset packs them."""
    made = groups("a: jpg txt json", "b: jpg txt json", "c: jpg json")

    assert [one.expected for one in unpaired(made, AUTO)] == ["c.txt"]


@pytest.mark.parametrize(
    ("suffix", "shard", "because"),
    [("jpeg", True, "extension"), ("jpeg", False, "extension"), ("JPG", False, "case")],
)
def test_an_image_of_another_extension_is_not_taken(
    suffix: str, because: str, *, shard: bool
) -> None:
    rule = CaptionRule(images=("jpg", "png"))
    made = groups("a: jpg txt", "b: png txt", f"c: {suffix} txt")

    assert unpaired(made, rule, shard=shard) == (
        Unpaired(
            name="c.txt",
            lacks="image",
            expected="c.jpg",
            instead=f"c.{suffix}",
            because=because,
        ),
    )


def test_in_a_shard_large_letters_are_taken_as_small_ones() -> None:
    """The suffix is made small while the archive is read."""
    assert unpaired(groups("a: JPG txt", "b: jpg txt"), CaptionRule(images=("jpg",))) == ()


def test_a_caption_that_stands_apart_is_told_once() -> None:
    made = groups("a: jpg", "b: jpg txt", "a: txt", "c: jpg txt")

    assert unpaired(made, AUTO) == (
        Unpaired(name="a.jpg", lacks="caption", expected="a.txt", instead="a.txt", because="apart"),
    )


def test_a_caption_in_large_letters_is_not_read_from_a_folder() -> None:
    made = groups("a: jpg txt", "b: jpg TXT")

    assert unpaired(made, TEXT, shard=False)[0].because == "case"
    assert unpaired(made, AUTO, shard=False) == ()


@pytest.mark.parametrize("name", ["README", "metadata", "a/classes"])
def test_texts_that_lie_in_a_folder_for_people_caption_nothing(name: str) -> None:
    made = groups("a/1: jpg txt", "a/2: jpg txt", f"{name}: txt")

    assert unpaired(made, TEXT, shard=False) == ()


@pytest.mark.parametrize(
    "name",
    [
        *("dog.jpg", "a/b/dog.seg.png", "a.b/dog.jpg", "dog", "a.b/dog", ".dog.jpg", "a/.dog.jpg"),
        *("dog.", "", "/", "a/", "dog\n.jpg", "a\n/dog.jpg", "a\nb.c/d.jpg", "狗.jpg", "._dog.jpg"),
    ],
)
def test_keys_are_split_as_webdatasets_own_expression_splits_them(name: str) -> None:
    match = re.match(r"^((?:.*/|)[^.]+)[.]([^/]*)$", name)

    assert key_of(name) == (match.groups() if match else None)


@pytest.mark.parametrize(
    ("there", "takes", "expected"),
    [
        ("jpeg", ("png", "jpg"), "c.jpg"),
        ("JPG", ("png", "jpg"), "c.jpg"),
        ("webp", ("png", "jpg"), "c.png"),
        ("tif", ("png", "TIFF"), "c.TIFF"),
    ],
)
def test_what_would_be_read_is_the_nearest_to_what_is_there(
    there: str, takes: tuple[str, ...], expected: str
) -> None:
    made = groups("a: png txt", "b: png txt", f"c: {there} txt")

    found = unpaired(made, CaptionRule(images=takes), shard=False)

    assert [one.expected for one in found] == [expected]


def test_what_stands_beside_images_without_a_caption_is_told() -> None:
    made = groups("a: jpg txt npz", "b: jpg txt npz", "c: png txt xml", "d: jpg json")

    pairing = pair(made, CaptionRule(rule="json"), shard=True)

    assert (pairing.beside, pairing.whole, pairing.looks_for) == (("txt", "npz"), 1, ("json",))
