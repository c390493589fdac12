"""The data sets of kohya's scripts are looked at as these read them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tomllib

from tests.files import put
from tests.trainers.jobs import found, images, look, toml

pytestmark = pytest.mark.usefixtures("at_hand")

SUBSET = """
[[datasets]]
resolution = 512
  [[datasets.subsets]]
  image_dir = "img/style"
"""


@pytest.mark.parametrize(
    ("subset", "captions"),
    [
        ("", ".caption"),
        ('caption_extension = ".txt"', ".txt"),
        ('caption_extension = "txt"', ".txt"),
        ('class_tokens = "sks dog"', None),
        ("is_reg = true", None),
        ('metadata_file = "meta.json"', None),
        ('class_tokens = "sks dog"\ncaption_extension = ".txt"', ".txt"),
    ],
)
def test_what_it_trains_on_is_left_alone(tmp_path: Path, subset: str, captions: str | None) -> None:
    images(tmp_path / "img/style", 8, captions)
    put(tmp_path, "meta.json", content=b"{}")
    toml(tmp_path, SUBSET + subset)

    report = look(tmp_path)

    assert (report.verdict, found(report)) == ("go", {})
    assert [one.word for one in report.targets if one.kind == "data"] == ["img/style"]


@pytest.mark.parametrize("where", ["general", "datasets"])
def test_what_a_subset_does_not_say_is_said_above_it(tmp_path: Path, where: str) -> None:
    images(tmp_path / "img/style", 8, ".txt")
    said = 'caption_extension = ".txt"\n'
    text = f"[general]\n{said}{SUBSET}" if where == "general" else SUBSET
    text = text.replace("resolution = 512\n", said) if where == "datasets" else text
    toml(tmp_path, text)

    assert found(look(tmp_path)) == {}


def test_captions_of_another_extension_are_told_with_the_line_to_write(tmp_path: Path) -> None:
    images(tmp_path / "img/style", 8, ".txt")
    toml(tmp_path, SUBSET)

    report = look(tmp_path)

    (one,) = report.findings
    assert (report.verdict, one.check, one.at.file) == ("no-go", "sample-unpaired", "img/style")
    assert one.fix == 'Correct dataset.toml: caption_extension = ".txt".'
    toml(tmp_path, SUBSET + 'caption_extension = ".txt"\n')
    assert look(tmp_path).verdict == "go"


@pytest.mark.parametrize("suffix", ["toml", "json"])
def test_a_folder_that_is_not_there_is_told_at_its_line(tmp_path: Path, suffix: str) -> None:
    images(tmp_path / "img/style", 8, ".caption")
    text = SUBSET.replace("img/style", "img/styel")
    if suffix == "json":
        text = json.dumps(tomllib.loads(text), indent=1)
    toml(tmp_path, text, f"dataset.{suffix}")

    line = 1 + text.splitlines().index(next(x for x in text.splitlines() if "styel" in x))
    assert found(look(tmp_path)) == {"target-missing": f"dataset.{suffix}:{line}"}


def test_images_that_lie_below_only_are_none_to_it(tmp_path: Path) -> None:
    images(tmp_path / "img/style/10_dog", 8, ".caption")
    toml(tmp_path, SUBSET)

    (one,) = look(tmp_path).findings

    assert one.check == "target-missing"
    assert "holds no image itself, but in 10_dog" in one.message


def test_the_images_of_conditions_need_no_caption(tmp_path: Path) -> None:
    images(tmp_path / "img/style", 8, ".caption")
    images(tmp_path / "img/edges", 8)
    toml(tmp_path, SUBSET + 'conditioning_data_dir = "img/edges"\n')

    report = look(tmp_path)

    assert found(report) == {}
    assert [one.word for one in report.targets if one.kind == "data"] == ["img/style", "img/edges"]


def test_an_argument_of_a_script_names_it_too(tmp_path: Path) -> None:
    images(tmp_path / "img/style", 8, ".txt")
    toml(tmp_path, SUBSET, "sets/mine.toml")
    put(tmp_path, "train.py", content=b"print('no loader')\n")

    report = look(tmp_path, "train.py", "--dataset_config=sets/mine.toml")

    assert found(report)["sample-unpaired"] == "img/style"
