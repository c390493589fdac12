"""Folders side by side are paired by the names of their files, where most of them pair."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.findings.finding import Severity
from preflight.images.facts import FolderFacts
from preflight.images.folder import list_folder
from preflight.targets.targets import CaptionRule, Folder
from preflight.testing import ask
from tests.files import put

TEN = [f"{n:02}" for n in range(10)]
NINE = [one for one in TEN if one != "04"]
THREE = TEN[:3]


def facts(folder: Path, one: str, stems: list[str], other: str, its: list[str]) -> FolderFacts:
    put(folder, *(f"data/{one.format(stem)}" for stem in stems), content=b"image")
    put(folder, *(f"data/{other.format(stem)}" for stem in its), content=b"other")
    rule = CaptionRule(rule="auto")
    return list_folder(Folder(path="data", captions=rule), str(folder)).facts


PAIRS = [
    ("images/{}.jpg", "masks/{}.png"),
    ("imgs/{}.jpg", "masks/{}_mask.gif"),
    ("train/{}.jpg", "train_masks/{}_mask.png"),
    ("images/train/{}.jpg", "labels/train/{}.png"),
    ("train/image/{}.jpg", "train/label/{}.png"),
    ("JPEGImages/{}.jpg", "Annotations/{}.xml"),
    ("rgb/{}.png", "depth/{}.npy"),
    ("source/{}.png", "target/{}.png"),
    ("images/{}.jpg", "captions/{}.txt"),
]


@pytest.mark.parametrize(("images", "side"), PAIRS)
def test_an_image_without_its_part_is_a_warning(tmp_path: Path, images: str, side: str) -> None:
    found = facts(tmp_path, images, TEN, side, NINE)

    (finding,) = ask("sample-unpaired", found)
    assert finding.severity is Severity.WARNING
    assert finding.at.file == f"data/{side.rpartition('/')[0]}"
    assert finding.message.startswith("has nothing for 1 of 10 images of data/")
    assert finding.message.endswith(f": {images.rpartition('/')[2].format('04')}")


@pytest.mark.parametrize(("images", "side"), PAIRS)
def test_whole_pairs_are_left_alone(tmp_path: Path, images: str, side: str) -> None:
    assert ask("sample-unpaired", facts(tmp_path, images, TEN, side, TEN)) == []


def test_a_mask_without_its_image_is_a_warning(tmp_path: Path) -> None:
    found = facts(tmp_path, "images/{}.jpg", NINE, "masks/{}.png", TEN)

    (finding,) = ask("sample-unpaired", found)
    assert finding.message == "has 1 file for no image of data/images: 04.png"


def test_an_image_without_labels_of_a_detector_is_a_note(tmp_path: Path) -> None:
    put(tmp_path, "data/labels/classes.txt", content=b"dog")

    (finding,) = ask(
        "sample-unpaired", facts(tmp_path, "images/{}.jpg", TEN, "labels/{}.txt", NINE)
    )

    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize(
    ("images", "stems", "side", "its"),
    [
        ("images/{}.jpg", TEN, "masks/{}.png", TEN[:4]),
        ("cat/{}.jpg", TEN, "dog/{}.jpg", NINE),
        ("patient/{}.jpg", TEN, "control/{}.jpg", NINE),
        ("pneumonia/{}.jpg", TEN, "normal/{}.jpg", NINE),
        ("images/{}.jpg", TEN, "thumbs/{}.jpg", NINE),
        ("train/images/{}.jpg", TEN, "val/masks/{}.png", NINE),
        ("images/{}.jpg", THREE, "masks/{}.png", THREE[:2]),
        ("images/{}.jpg", TEN, "masks/{}_0.png", TEN),
    ],
)
def test_folders_of_which_few_or_nothing_pairs_are_left_alone(
    tmp_path: Path, images: str, stems: list[str], side: str, its: list[str]
) -> None:
    assert ask("sample-unpaired", facts(tmp_path, images, stems, side, its)) == []
