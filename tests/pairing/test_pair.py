"""Images and captions pair by the rule of the data set, and where there is none, seldom."""

from __future__ import annotations

import random
import re
import warnings

import pytest

from preflight.pairing.facts import Unpaired
from preflight.pairing.pair import pair
from preflight.pairing.rules import FileGroup
from preflight.shards.samples import key_of
from preflight.targets.targets import CaptionRule

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from webdataset.filters import getfirst
    from webdataset.tariterators import group_by_keys

AUTO = CaptionRule()
TEXT = CaptionRule(rule="textfile")
PAIR = ("jpg", "txt")


def groups(*written: str) -> list[FileGroup]:
    """Make groups of `dog: jpg txt`."""
    split = [one.split(":") for one in written]
    return [FileGroup(key, tuple(suffixes.split())) for key, suffixes in split]


def one(
    name: str, lacks: str, expected: str, instead: str | None = None, because: str = ""
) -> Unpaired:
    return Unpaired(name=name, lacks=lacks, expected=expected, instead=instead, because=because)


def unpaired(
    made: list[FileGroup], rule: CaptionRule, *, shard: bool = True
) -> tuple[Unpaired, ...]:
    return pair(made, rule, shard=shard).unpaired


@pytest.mark.parametrize(
    "made",
    [
        groups(),
        groups("a: jpg txt", "b: png txt"),
        groups("a: jpg", "b: jpg", "c: jpg txt"),
        groups("a: txt", "b: txt"),
        groups("a: input.jpg output.png txt", "b: input.jpg output.png txt"),
        groups("a: jpg mask.png json", "b: jpg mask.png json"),
        groups("a: v2.jpg v2.txt", "b: v2.jpg v2.txt"),
        groups("a: JPG TXT", "b: jpg Txt"),
        groups("a: jpg cls", "b: jpg cls", "c: jpg cls"),
        groups("a: jpg txt npz", "b: jpg caption", "c: jpg txt", "latents: npz"),
    ],
    ids=[
        *("nothing", "pairs", "captions for a few", "texts only"),
        *("several images", "image and mask", "dots in names", "large letters", "classes"),
        "two extensions of captions",
    ],
)
@pytest.mark.parametrize("shard", [True, False], ids=["shard", "folder"])
def test_sound_samples_are_left_alone(made: list[FileGroup], *, shard: bool) -> None:
    assert unpaired(made, AUTO, shard=shard) == ()


@pytest.mark.parametrize(
    ("rule", "applied"),
    [("none", "none"), ("filename", "none"), ("prompt", "none"), ("table", "table")],
)
def test_rules_without_caption_files_ask_for_none(rule: str, applied: str) -> None:
    pairing = pair(groups("a: jpg", "b: jpg txt"), CaptionRule(rule=rule), shard=True)

    assert (pairing.rule, pairing.unpaired, pairing.samples) == (applied, (), 2)
    assert (pairing.images, pairing.captions, pairing.looks_for) == (2, 0, ())


@pytest.mark.parametrize("rule", [AUTO, TEXT], ids=["auto", "textfile"])
@pytest.mark.parametrize("shard", [True, False], ids=["shard", "folder"])
def test_what_lacks_its_other_half_is_found(rule: CaptionRule, *, shard: bool) -> None:
    made = groups("a: jpg txt", "b: jpg txt", "c: jpg txt", "d: png", "e: txt")

    pairing = pair(made, rule, shard=shard)

    assert pairing.unpaired == (
        one("d.png", "caption", "d.txt"),
        one("e.txt", "image", "e.jpg"),
    )
    assert (pairing.samples, pairing.images, pairing.captions) == (5, 4, 4)


def test_a_named_extension_is_the_only_caption() -> None:
    made = groups("a: jpg tags", "b: jpg txt")

    assert unpaired(made, CaptionRule(rule="textfile", extension=".tags")) == (
        one("b.jpg", "caption", "b.tags", "b.txt", "extension"),
    )


@pytest.mark.parametrize(
    ("rule", "made", "expected"),
    [
        ("json", groups("a: jpg json", "b: jpg txt"), "b.json"),
        ("auto", groups("a: jpg txt json", "b: jpg txt json", "c: jpg json"), "c.txt"),
    ],
    ids=["JSON by its rule", "texts where each sample has its JSON, as img2dataset packs them"],
)
def test_a_few_missing_captions_are_found(rule: str, made: list[FileGroup], expected: str) -> None:
    assert [lacking.expected for lacking in unpaired(made, CaptionRule(rule=rule))] == [expected]


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
        one("c.txt", "image", "c.jpg", f"c.{suffix}", because),
    )


def test_in_a_shard_large_letters_are_taken_as_small_ones() -> None:
    """The suffix is made small while the archive is read."""
    assert unpaired(groups("a: JPG txt", "b: jpg txt"), CaptionRule(images=("jpg",))) == ()


def test_a_caption_that_stands_apart_is_told_once() -> None:
    made = groups("a: jpg", "b: jpg txt", "a: txt", "c: jpg txt")

    assert unpaired(made, AUTO) == (one("a.jpg", "caption", "a.txt", "a.txt", "apart"),)


def test_what_macos_left_behind_is_no_image_that_lacks_a_caption() -> None:
    """Each of `a/._1.jpg` is a sample for webdataset: shard-foreign tells that, and only that."""
    made = groups("a/1: jpg", "a/: _1.jpg", "a/1: txt", "a/2: jpg txt", "a/: _2.txt")

    pairing = pair(made, TEXT, shard=True)

    assert [(one.name, one.because) for one in pairing.unpaired] == [("a/1.jpg", "apart")]
    assert (pairing.samples, pairing.images) == (5, 2)


def test_a_caption_in_large_letters_is_not_read_from_a_folder() -> None:
    made = groups("a: jpg txt", "b: jpg TXT")

    assert unpaired(made, TEXT, shard=False)[0].because == "case"
    assert unpaired(made, AUTO, shard=False) == ()


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


# --- names that webdataset reads otherwise than they are meant

SOUND = groups(*(f"{number}: jpg txt" for number in range(5)))


@pytest.mark.parametrize(
    "made",
    [
        groups(*(f"{number}: input.jpg output.jpg edit.txt" for number in range(5))),
        groups("0: input.jpg output.jpg txt"),
        groups(*(f"{number}: jpg txt mask.png" for number in range(5))),
        [*SOUND, *groups("a: jpg txt seg.png", "b: jpg txt en.txt zh.txt", "c: jpg txt v2.json")],
        groups(*(f"{number}: JPG TXT" for number in range(5))),
        groups(*(f"{number}-mask: png" for number in range(5))),
        [*SOUND, *groups("0_sd: npz", "latents: npz", "1_te_outputs: npz")],
        groups(*(f"{number}: jpg jpg.json" for number in range(5))),
        groups("IMG: jpg txt", "img: jpg txt"),
        [
            FileGroup(f"{n}", ("json", *(f"{page}.jpg" for page in range(3 * n + 1))))
            for n in range(9)
        ],
        [
            FileGroup(f"{n}", tuple(f"{frame}.{kind}" for frame in range(9 + n) for kind in PAIR))
            for n in range(5)
        ],
        groups(*(f"{n}: rgb.png depth.png json" for n in range(5)), "5: left.png right.png json"),
    ],
    ids=[
        *("fields of edits", "fields of one sample", "masks as fields", "a few more fields"),
        *("capitals", "masks alone", "latents", "json of a downloader", "two that differ in case"),
        *("pages of documents", "frames with their texts", "views"),
    ],
)
def test_odd_but_legal_names_in_a_shard_are_left_alone(made: list[FileGroup]) -> None:
    assert unpaired(made, AUTO) == ()


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("img: v2.jpg v2.txt", one("img.v2.jpg", "key", "img_v2.jpg", None, "dots")),
        ("img: jpg txt v2.jpg v2.txt", one("img.v2.jpg", "key", "img_v2.jpg", None, "dots")),
        ("img: v2.jpg txt", one("img.txt", "image", "img.jpg", "img.v2.jpg", "dots")),
        ("img: jpg v2.txt", one("img.jpg", "caption", "img.txt", "img.v2.txt", "dots")),
        ("img: jpg txt.txt", one("img.jpg", "caption", "img.txt", "img.txt.txt", "double")),
        ("img: jpg jpg.txt", one("img.jpg", "caption", "img.txt", "img.jpg.txt", "double")),
        ("img: png.jpg txt", one("img.txt", "image", "img.jpg", "img.png.jpg", "double")),
        ("img: v2.jpg", one("img.v2.jpg", "caption", "img.txt")),
        ("IMG1: JPG|img1: txt", one("IMG1.JPG", "caption", "IMG1.txt", "img1.txt", "letters")),
        (
            "caf\u00e9: jpg|cafe\u0301: txt",
            one("caf\u00e9.jpg", "caption", "caf\u00e9.txt", "cafe\u0301.txt", "unicode"),
        ),
    ],
    ids=[
        *("a dot more", "a pair in another sample", "a dot more in the image"),
        *("a dot more in the text", "txt.txt", "jpg.txt", "png.jpg", "nothing beside"),
        *("large letters", "letters composed otherwise"),
    ],
)
@pytest.mark.parametrize("rule", [AUTO, TEXT], ids=["auto", "textfile"])
def test_names_that_are_read_otherwise_are_told_once(
    made: str, expected: Unpaired, rule: CaptionRule
) -> None:
    assert unpaired([*SOUND, *groups(*made.split("|"))], rule) == (expected,)


def test_each_picture_of_a_day_is_told_where_the_key_ends_before_the_month() -> None:
    """All of a year are one sample to webdataset, of which it keeps no jpg and no txt."""
    suffixes = [f"01.{day:02}.{kind}" for day in range(1, 20) for kind in ("jpg", "txt")]

    found = unpaired([FileGroup("2024", tuple(suffixes))], AUTO)

    assert [(one.name, one.because) for one in found] == [
        (f"2024.01.{day:02}.jpg", "dots") for day in range(1, 20)
    ]


def test_of_two_that_differ_in_case_alone_none_is_said_to_be_meant() -> None:
    made = [*SOUND, *groups("IMG: jpg", "Img: jpg", "img: txt")]

    assert [(one.name, one.because) for one in unpaired(made, AUTO)] == [
        ("IMG.jpg", ""),
        ("Img.jpg", ""),
        ("img.txt", ""),
    ]


def test_a_mask_that_is_a_sample_of_its_own_is_told_and_not_counted_as_an_image_without_text() -> (
    None
):
    made = [*SOUND, *groups(*(f"{number}-masklabel: png" for number in range(5)))]

    pairing = pair(made, AUTO, shard=True)

    assert {one.because for one in pairing.unpaired} == {"mask"}
    assert pairing.unpaired[0].expected == "0.masklabel.png"
    assert (pairing.samples, pairing.images, pairing.whole) == (10, 10, 5)


# --- against webdataset itself

PATTERNS = (
    *("#.jpg #.txt", "#.jpeg #.txt", "#.png", "#.txt", "#.v2.jpg #.v2.txt", "#.v2.jpg #.txt"),
    *("#.jpg #.v2.txt", "#.jpg #.txt.txt", "#.jpg #.jpg.txt", "#.png.jpg #.txt", "#.npz"),
    *("A#.JPG a#.txt", "A#.JPG A#.TXT", "#.jpg #.txt #.seg.png", "#.jpg #.txt #.en.txt"),
    *("#.v2.jpg", "#.jpg #.txt #.v3.jpg #.v3.txt", "#.a.jpg #.b.txt", "#_mask.png"),
    *("#.jpg #.json", "#.webp #.txt"),
)


@pytest.mark.parametrize("seed", range(40))
def test_what_to_tuple_drops_is_told_and_nothing_else(seed: int) -> None:
    """Of the samples that hold an image or a text at all."""
    chance = random.Random(seed)
    chosen = ["#.jpg #.txt"] * 30 + chance.choices(PATTERNS, k=10)
    names = sorted(
        name.replace("#", f"{number:03}")
        for number, pattern in enumerate(chosen)
        for name in pattern.split()
    )
    read = list(group_by_keys({"fname": name, "data": b"x", "__url__": "x"} for name in names))
    made = [
        FileGroup(one["__key__"], tuple(suffix for suffix in one if not suffix.startswith("_")))
        for one in read
    ]
    dropped = {one["__key__"] for one in read if not fits(one)} - {
        one["__key__"] for one in read if {*one} <= {"npz", "__key__", "__url__"}
    }

    found = unpaired(made, CaptionRule(rule="textfile", images=("jpg", "png")))

    told = {name.split(".")[0] for one in found for name in (one.name, one.instead) if name}
    hidden = {one.name.split(".")[0] for one in found if one.lacks == "key"}
    assert dropped <= told
    assert told - hidden <= dropped


def fits(sample: dict[str, object]) -> bool:
    """Whether to_tuple finds what it asks for."""
    try:
        getfirst(sample, "jpg;png")
        getfirst(sample, "txt;caption")
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("shard", [True, False], ids=["shard", "folder"])
def test_where_just_half_have_a_caption_the_others_lack_it(*, shard: bool) -> None:
    found = unpaired(groups("a: jpg", "b: jpg txt"), AUTO, shard=shard)

    assert [(one.name, one.lacks) for one in found] == [("a.jpg", "caption")]


@pytest.mark.parametrize("shard", [True, False], ids=["shard", "folder"])
def test_half_of_json_is_no_rule(*, shard: bool) -> None:
    """Downloaders leave it beside some of their images."""
    assert unpaired(groups("a: jpg", "b: jpg json"), AUTO, shard=shard) == ()


def test_texts_of_a_few_are_counted() -> None:
    made = groups("a: jpg", "b: jpg txt caption", "c: jpg", "d: jpg", "e: jpg json")

    assert pair(made, AUTO, shard=True).few == 1
    assert pair(made, CaptionRule(rule="none"), shard=True).few == 0


def test_suffixes_are_counted_as_they_are_read() -> None:
    made = groups("a: jpg TXT", "b: jpg txt", "c: jpg txt caption", "d: jpg Caption")

    in_shard, in_folder = (pair(made, AUTO, shard=shard).suffixes for shard in (True, False))

    assert in_shard == (("txt", 3), ("caption", 2))
    assert in_folder == (("txt", 2), ("Caption", 1), ("TXT", 1), ("caption", 1))
