"""What lies beside images for another purpose is neither an image without a caption nor one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from preflight.images.facts import FolderFacts
from preflight.images.folder import folder_facts, list_folder
from preflight.images.pictures import Damages
from preflight.pairing.facts import Unpaired
from preflight.pairing.side_files import captions_nothing, is_spare_folder, mask_of, variant_of
from preflight.pairing.tables import read_table
from preflight.targets.targets import CaptionRule, Folder
from tests.files import put

AUTO = CaptionRule()
TEXT = CaptionRule(rule="textfile")
JSON = CaptionRule(rule="json")
TABLE = CaptionRule(rule="table")
FIVE = [f"{number}.{suffix}" for number in range(5) for suffix in ("jpg", "txt")]


def each(*written: str) -> list[str]:
    """Write these names five times, with numbers for `#`."""
    return [one.replace("#", str(number)) for number in range(5) for one in written]


def looked_at(folder: Path, names: list[str], rule: CaptionRule = AUTO) -> FolderFacts:
    """List files of these names, and read the tables among them."""
    put(folder / "data", *(name for name in names if not (folder / "data" / name).exists()))
    listing = list_folder(Folder(path="data", captions=rule), str(folder))
    tables = [read_table(path, str(folder), str) for path in listing.tables]
    return folder_facts(listing, Damages(), tables)


def unpaired(folder: Path, names: list[str], rule: CaptionRule = AUTO) -> tuple[Unpaired, ...]:
    return looked_at(folder, names, rule).pairing.unpaired


NEIGHBOURS = {
    "latents of sd-scripts": [
        *each("10_dog/#.png", "10_dog/#.txt", "10_dog/#_0512x0768_sd.npz"),
        *each("10_dog/#_te_outputs.npz", "10_dog/#_sd3_te.npz", "10_dog/#.npz"),
        *("meta_cap.json", "meta_lat.json", "meta_cap_dd.json"),
    ],
    "regularisation images": [*each("img/#.png", "img/#.txt", "reg/1_dog/#.png")],
    "more regularisation images": [*each("img/#.png", "img/#.txt", "regularization/#.png")],
    "bucket files of SimpleTuner": [
        *FIVE,
        *("aspect_ratio_bucket_indices_a.json", "aspect_ratio_bucket_metadata_a.json"),
        *("all_image_files_a.json", "all_text_cache_files_a.json", "cache/vae/1.pt"),
        *("multidatabackend.json", "sample_prompts.txt"),
    ],
    "masks of OneTrainer": [*FIVE, *each("#-masklabel.png", "#-condlabel.png")],
    "masks": [*FIVE, *each("#_mask.png"), "0_depth.png", "1.mask.png"],
    "a folder of masks": [*FIVE, *each("masks/#.png", "conditioning_images/#.png")],
    "what file managers leave": [
        *FIVE,
        *(".DS_Store", "Thumbs.db", "desktop.ini", "._0.jpg", "@eaDir/0.jpg/THUMB_M.jpg"),
    ],
    "a readme": ["0.jpg", "1.jpg", "2.jpg", "readme.txt"],
    "a readme beside captions": [*FIVE, "readme.txt", "LICENSE.txt", "notes.txt"],
    "class folders": ["cats/0.jpg", "cats/1.jpg", "dogs/0.jpg"],
    "captions in another language": [*each("img/#.jpg", "img/#.txt", "captions_de/#.txt")],
    "texts in another language beside": [*FIVE, *each("#.de.txt")],
    "several captions": [*FIVE, *each("#.caption")],
    "numbered captions": [*each("#.jpg", "#_0.txt", "#_1.txt")],
    "numbered captions beside the first": [*FIVE, *each("#_0.txt", "#-1.txt")],
    "dots in names": [*each("#.v2.jpg"), "2024.01.02.jpg"],
    "dots in names and captions": [*each("#.v2.jpg", "#.v2.txt"), "2024.01.jpg", "2024.01.txt"],
    "capitals": each("IMG#.JPG", "IMG#.TXT"),
    "json of a downloader": each("#.jpg", "#.jpg.json"),
    "json of a downloader beside captions": [*FIVE, *each("#.jpg.json")],
    "boxes of YOLO": [*FIVE, "background.jpg", "classes.txt"],
    "lists of LLaVA beside json": [*each("#.jpg", "#.json"), "llava_v1_5_mix.json", "train.json"],
    "files of img2dataset": [
        *each("00000/#.jpg", "00000/#.txt", "00000/#.json"),
        *("00000.parquet", "00000_stats.json"),
    ],
    "annotations of COCO": ["train2017/0.jpg", "annotations/instances_train2017.json"],
    "a table in csv": ["0.jpg", "1.jpg", "2.jpg", "0.txt", "metadata.csv"],
    "a table in parquet": ["0.jpg", "1.jpg", "metadata.parquet"],
}


@pytest.mark.parametrize("names", NEIGHBOURS.values(), ids=NEIGHBOURS)
def test_odd_but_legal_folders_are_left_alone(tmp_path: Path, names: list[str]) -> None:
    assert unpaired(tmp_path, names) == ()


@pytest.mark.parametrize(
    "what",
    [
        *("latents of sd-scripts", "regularisation images", "bucket files of SimpleTuner"),
        *("masks of OneTrainer", "masks", "a folder of masks", "what file managers leave"),
        *("a readme beside captions", "captions in another language", "several captions"),
        *("texts in another language beside", "numbered captions beside the first"),
    ],
)
def test_so_they_are_where_captions_are_asked_for(tmp_path: Path, what: str) -> None:
    assert unpaired(tmp_path, NEIGHBOURS[what], TEXT) == ()


def test_json_captions_have_such_neighbours_too(tmp_path: Path) -> None:
    names = [*each("#.jpg", "#.json"), "aspect_ratio_bucket_indices_a.json", "meta_cap.json"]

    assert unpaired(tmp_path, [*names, "00000_stats.json"], JSON) == ()


def test_masks_are_counted_as_images_and_need_no_captions(tmp_path: Path) -> None:
    """Half of all images have a caption, and each that can have one."""
    facts = looked_at(tmp_path, [*NEIGHBOURS["masks of OneTrainer"], "6.jpg", "7-masklabel.png"])

    assert (facts.pairing.rule, facts.pairing.images, facts.pairing.whole) == ("auto", 17, 5)
    assert [one.name for one in facts.pairing.unpaired] == ["data/6.jpg", "data/7-masklabel.png"]


def test_whoever_names_a_folder_of_regularisation_images_means_it(tmp_path: Path) -> None:
    """Its own name says nothing; the names below it do."""
    put(tmp_path / "reg", "0.jpg", "0.txt", "1.jpg", "1.txt", "2.jpg")

    pairing = list_folder(Folder(path="reg", captions=TEXT), str(tmp_path)).facts.pairing

    assert [one.name for one in pairing.unpaired] == ["reg/2.jpg"]


def test_a_folder_without_any_caption_is_told_as_one(tmp_path: Path) -> None:
    found = unpaired(tmp_path, [*each("a/#.jpg", "a/#.txt"), "b/0.jpg", "b/1.jpg"])

    assert [(one.name, one.because) for one in found] == [
        ("data/b/0.jpg", "folder"),
        ("data/b/1.jpg", "folder"),
    ]


@pytest.mark.parametrize(
    ("names", "name", "instead", "because"),
    [
        (["img.jpg", "img.jpg.txt"], "img.jpg", "img.jpg.txt", "double"),
        (["img.jpg", "img.txt.txt"], "img.jpg", "img.txt.txt", "double"),
        (["IMG1.JPG", "img1.txt"], "IMG1.JPG", "img1.txt", "letters"),
        (["caf\u00e9.jpg", "cafe\u0301.txt"], "caf\u00e9.jpg", "cafe\u0301.txt", "unicode"),
        (["Caf\u00e9.jpg", "cafe\u0301.txt"], "Caf\u00e9.jpg", "cafe\u0301.txt", "letters"),
    ],
    ids=["jpg.txt", "txt.txt", "large letters", "letters composed otherwise", "both"],
)
@pytest.mark.parametrize("rule", [AUTO, TEXT], ids=["auto", "textfile"])
def test_names_that_are_read_otherwise_are_told_once(
    tmp_path: Path, names: list[str], name: str, instead: str, because: str, rule: CaptionRule
) -> None:
    found = unpaired(tmp_path, [*FIVE, *names], rule)

    (one,) = found
    assert (one.name, one.lacks, one.because) == (f"data/{name}", "caption", because)
    assert one.expected == f"data/{name.rpartition('.')[0]}.txt"
    assert (one.instead, one.table) == (f"data/{instead}", None)


def test_where_all_captions_are_named_so_that_is_guessed_too(tmp_path: Path) -> None:
    found = unpaired(tmp_path, each("#.jpg", "#.jpg.txt"))

    assert {one.because for one in found} == {"double"}
    assert len(found) == 5


@pytest.mark.parametrize(("suffix", "because"), [("jpeg", "extension"), ("JPG", "case")])
def test_an_image_that_the_pipeline_does_not_take_is_told(
    tmp_path: Path, suffix: str, because: str
) -> None:
    rule = CaptionRule(rule="textfile", images=("jpg", "png"))

    (one,) = unpaired(tmp_path, [*FIVE, f"x.{suffix}", "x.txt"], rule)

    assert (one.expected, one.instead, one.because) == ("data/x.jpg", f"data/x.{suffix}", because)


@pytest.mark.parametrize(("images", "expected"), [((), "png"), (("jpg",), "jpg")])
def test_the_image_that_is_not_there_is_called_as_most_are(
    tmp_path: Path, images: tuple[str, ...], expected: str
) -> None:
    rule = CaptionRule(rule="textfile", images=images)
    names = [*each("#.png", "#.txt"), "a.jpg", "a.txt", "x.txt"]

    (one,) = (one for one in unpaired(tmp_path, names, rule) if one.name == "data/x.txt")

    assert (one.lacks, one.expected) == ("image", f"data/x.{expected}")


# --- tables


def tabled(folder: Path, *rows: str, place: str = "data", **more: object) -> None:
    """Write a metadata.jsonl that captions these files."""
    lines = [json.dumps({"file_name": row, "text": "a dog", **more}) + "\n" for row in rows]
    put(folder / place, "metadata.jsonl", content="".join(lines).encode())


@pytest.mark.parametrize("rule", [AUTO, TABLE, JSON], ids=["auto", "table", "json"])
def test_images_that_a_table_names_are_captioned(tmp_path: Path, rule: CaptionRule) -> None:
    tabled(tmp_path, "0.jpg", "cats/1.png", "2.jpg")

    facts = looked_at(tmp_path, ["0.jpg", "cats/1.png", "2.jpg"], rule)

    assert (facts.pairing.unpaired, facts.pairing.whole) == ((), 3)
    assert (facts.pairing.captions, facts.pairing.samples) == (3, 3)


@pytest.mark.parametrize("rule", [TEXT, CaptionRule(rule="none")], ids=["textfile", "none"])
def test_where_captions_stand_elsewhere_no_table_is_read(tmp_path: Path, rule: CaptionRule) -> None:
    tabled(tmp_path, "0.jpg", "gone.jpg")
    (tmp_path / "data" / "0.jpg").touch()

    listing = list_folder(Folder(path="data", captions=rule), str(tmp_path))

    assert (listing.tables, listing.facts.unread_tables) == ((), ())


def test_tables_are_met_in_any_folder_of_the_tree(tmp_path: Path) -> None:
    tabled(tmp_path, "0.jpg")
    tabled(tmp_path, "1.jpg", place="data/cats")

    facts = looked_at(tmp_path, ["0.jpg", "cats/1.jpg", "dogs/2.jpg"])

    assert [one.file for one in facts.tables] == ["data/metadata.jsonl", "data/cats/metadata.jsonl"]
    assert [one.name for one in facts.pairing.unpaired] == ["data/dogs/2.jpg"]


def test_an_image_has_its_caption_in_a_table_or_in_a_text(tmp_path: Path) -> None:
    tabled(tmp_path, "0.jpg", "1.jpg", "2.jpg")

    found = unpaired(tmp_path, ["0.jpg", "1.jpg", "2.jpg", "3.jpg", "3.txt", "4.jpg"])

    assert [(one.name, one.expected) for one in found] == [("data/4.jpg", "metadata.jsonl")]


def test_a_row_whose_file_is_not_there_is_a_caption_without_its_image(tmp_path: Path) -> None:
    tabled(tmp_path, "0.jpg", "gone.jpg", "cats/gone.jpg", "gone.jpg")

    found = unpaired(tmp_path, ["0.jpg"])

    assert found == tuple(
        Unpaired(
            name=name, lacks="image", expected=name, because="row", table="data/metadata.jsonl"
        )
        for name in ("data/gone.jpg", "data/cats/gone.jpg")
    )


def test_files_that_are_hidden_or_no_images_are_there_all_the_same(tmp_path: Path) -> None:
    tabled(tmp_path, "0.jpg", ".hidden.jpg", "clip.mp4", ".more/1.jpg", "noextension")

    names = ["0.jpg", ".hidden.jpg", "clip.mp4", ".more/1.jpg", "noextension"]

    assert unpaired(tmp_path, names) == ()


def test_where_a_table_captions_fewer_than_half_of_all_images_nothing_is_guessed(
    tmp_path: Path,
) -> None:
    tabled(tmp_path, "0.jpg")

    assert unpaired(tmp_path, ["0.jpg", "1.jpg", "2.jpg"]) == ()


def test_a_table_of_labels_captions_nothing(tmp_path: Path) -> None:
    put(tmp_path / "data", "metadata.jsonl", content=b'{"file_name": "0.jpg", "label": 1}\n')

    assert unpaired(tmp_path, ["0.jpg", "1.jpg"]) == ()


@pytest.mark.parametrize(
    ("names", "unread"),
    [
        (["metadata.csv"], ()),
        (["captions.csv"], ("data/captions.csv",)),
        (["captions.tsv", "a/x.parquet"], ("data/captions.tsv", "data/a/x.parquet")),
        (["train.csv", "metadata.json"], ()),
    ],
    ids=["metadata.csv is read", "captions.csv", "others", "no captions"],
)
def test_tables_that_are_not_read_are_named(
    tmp_path: Path, names: list[str], unread: tuple[str, ...]
) -> None:
    assert looked_at(tmp_path, ["0.jpg", *names]).unread_tables == unread


# --- single names


@pytest.mark.parametrize(
    ("stem", "image"),
    [
        *(("dog-masklabel", "dog"), ("dog_MASK", "dog"), ("a.mask", "a"), ("a_openpose", "a")),
        *(("mask", None), ("_mask", None), ("dog", None), ("unmasked", None)),
    ],
)
def test_masks_are_known_by_the_ends_of_their_stems(stem: str, image: str | None) -> None:
    assert mask_of(stem) == image


@pytest.mark.parametrize(
    ("stem", "image"),
    [
        *(("dog_0", "dog"), ("dog-12", "dog"), ("dog.en", "dog"), ("dog_zh", "dog")),
        *(("dog_zh-CN", "dog"), ("a.jpg", "a"), ("dog", None), ("_0", None), ("dog_big", None)),
    ],
)
def test_more_captions_of_an_image_are_known_by_theirs(stem: str, image: str | None) -> None:
    assert variant_of(stem) == image


@pytest.mark.parametrize(
    ("place", "spare"),
    [
        *(("reg", True), ("a/reg/1_dog", True), ("class_images", True), ("dog_reg", True)),
        *((".", False), ("regular", False), ("dogs", False), ("thumbs", True), ("Masks", True)),
    ],
)
def test_folders_of_images_that_need_no_captions(place: str, *, spare: bool) -> None:
    assert is_spare_folder(place) is spare


@pytest.mark.parametrize(
    ("stem", "nothing"),
    [("README", True), ("meta_lat", True), ("00000_stats", True), ("dog", False), ("", False)],
)
def test_texts_that_caption_nothing(stem: str, *, nothing: bool) -> None:
    assert captions_nothing(stem) is nothing
