"""The file of a trainer is found, and what is none of one is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.scaffold.settings import write
from preflight.trainers.data_file import read
from tests.files import put
from tests.trainers.jobs import SUBSETS, backends, found, images, look, toml

pytestmark = pytest.mark.usefixtures("at_hand")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", '[project]\nname = "x"\n'),
        ("a.toml", "datasets = 3\n"),
        ("a.toml", '[[datasets]]\nname = "x"\n'),
        ("a.toml", "[[datasets]]\nsubsets = []\n"),
        ("a.toml", "no toml"),
        ("a.json", "[]"),
        ("a.json", "{}"),
        ("a.json", "[1, 2]"),
        ("a.json", '[{"id": "x", "image": "a.jpg"}]'),
        ("a.json", '[{"id": 3, "dataset_type": "image"}]'),
        ("a.json", '[{"id": "x", "dataset_type": "table"}]'),
        ("a.json", "[" * 100_000),
        ("a.json", '{"datasets": [{"subsets": [{"path": "x"}]}]}'),
    ],
)
def test_what_is_of_no_trainer_is_left_alone(tmp_path: Path, name: str, text: str) -> None:
    toml(tmp_path, text, name)

    assert read(str(tmp_path / name), str(tmp_path)) is None


@pytest.mark.parametrize("place", ["", "config/", "configs/"])
def test_it_is_found_where_trainers_have_it(tmp_path: Path, place: str) -> None:
    images(tmp_path / "img", 8, ".txt")
    toml(tmp_path, SUBSETS, f"{place}sets.toml")

    assert "sample-unpaired" in found(look(tmp_path))


@pytest.mark.parametrize("name", ["dataset.example.toml", "deep/er/dataset.toml"])
def test_an_example_of_one_is_not_taken(tmp_path: Path, name: str) -> None:
    images(tmp_path / "img", 8, ".txt")
    toml(tmp_path, SUBSETS, name)

    assert look(tmp_path).verdict == "go"


def test_of_several_the_one_that_is_named_is_taken(tmp_path: Path) -> None:
    images(tmp_path / "img", 8, ".txt")
    toml(tmp_path, SUBSETS, "a.toml")
    toml(tmp_path, SUBSETS + 'caption_extension = ".txt"\n', "b.toml")

    bare = look(tmp_path)
    assert (bare.verdict, found(bare)) == ("go", {})
    assert any("2 files name data of a trainer (a.toml, b.toml)" in one for one in bare.reasons)
    assert look(tmp_path, "a.toml").verdict == "no-go"
    assert look(tmp_path, "b.toml").verdict == "go"
    assert look(tmp_path, "data=b.toml").verdict == "go"


def test_settings_that_name_data_are_read_in_place_of_it(tmp_path: Path) -> None:
    images(tmp_path / "img", 8, ".txt")
    toml(tmp_path, SUBSETS)
    toml(tmp_path, '[[data]]\npath = "img"\n', "preflight.toml")

    assert found(look(tmp_path)) == {}


@pytest.mark.parametrize("settings", ["[launch]\nnodes = 1\n", '[[source]]\npath = "train.py"\n'])
def test_settings_that_name_none_leave_it_to_that_file(tmp_path: Path, settings: str) -> None:
    images(tmp_path / "img", 8, ".txt")
    toml(tmp_path, SUBSETS)
    put(tmp_path, "train.py", content=b"import torch\n")
    toml(tmp_path, settings, "preflight.toml")

    assert found(look(tmp_path)) == {"sample-unpaired": "img"}


def test_data_that_it_does_not_name_is_said_to_be_passed_over(tmp_path: Path) -> None:
    images(tmp_path / "img", 8, ".caption")
    images(tmp_path / "more", 5)
    toml(tmp_path, SUBSETS)

    report = look(tmp_path)

    assert [one.word for one in report.targets if one.kind == "data"] == ["img"]
    (data,) = (one for one in report.coverage if one.part == "data")
    assert (data.if_named, data.if_named_by) == ({".jpg": 5}, "preflight run data=more")


def test_what_else_lies_around_is_looked_at_as_ever(tmp_path: Path) -> None:
    images(tmp_path / "img", 8, ".caption")
    toml(tmp_path, SUBSETS)
    put(tmp_path, "train.py", content=b"import os\n\nprint(os.environ['SLURM_PROCID'])\n")

    assert [one.kind for one in look(tmp_path).targets] == ["data", "source"]


@pytest.mark.parametrize("kohya", [True, False])
def test_init_writes_settings_that_leave_the_data_to_it(tmp_path: Path, *, kohya: bool) -> None:
    images(tmp_path / "img", 8, ".caption" if not kohya else ".txt")
    put(tmp_path, "train.py", content=b"import torch\n")
    if kohya:
        toml(tmp_path, SUBSETS)
    else:
        one = {"id": "x", "type": "local", "instance_data_dir": "img"}
        backends(tmp_path, {**one, "caption_strategy": "textfile"})
    before = look(tmp_path)

    write(str(tmp_path), force=False)
    after = look(tmp_path)

    assert before.verdict == after.verdict == "no-go"
    assert found(before) == found(after)
    assert "[[data]]\n" not in (tmp_path / "preflight.toml").read_text(encoding="utf-8")
