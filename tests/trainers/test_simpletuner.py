"""The data backends of SimpleTuner, and their caches, are looked at as it reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.files import WHOLE, put
from tests.trainers.jobs import backends, found, images, look

pytestmark = pytest.mark.usefixtures("at_hand")

SUBJECT: dict[str, Any] = {
    "id": "subject",
    "type": "local",
    "instance_data_dir": "datasets/subject",
    "caption_strategy": "textfile",
    "cache_dir_vae": "cache/vae/subject",
}
TEXTS: dict[str, Any] = {
    "id": "texts",
    "type": "local",
    "dataset_type": "text_embeds",
    "default": True,
    "cache_dir": "cache/text",
}


@pytest.mark.parametrize(
    ("strategy", "captions"),
    [
        ("textfile", ".txt"),
        ("filename", None),
        ("instanceprompt", None),
        ("instanceprompt", ".txt"),
        ("parquet", None),
        (None, None),
        (None, ".txt"),
    ],
)
def test_what_it_trains_on_is_left_alone(
    tmp_path: Path, strategy: str | None, captions: str | None
) -> None:
    images(tmp_path / "datasets/subject", 8, captions)
    backends(tmp_path, {**SUBJECT, "caption_strategy": strategy}, TEXTS)

    report = look(tmp_path)

    assert (report.verdict, found(report)) == ("go", {})
    assert [one.word for one in report.targets if one.kind == "data"] == ["subject"]


def test_a_backend_that_is_disabled_is_not_looked_at(tmp_path: Path) -> None:
    images(tmp_path / "datasets/subject", 8, ".txt")
    old = {**SUBJECT, "id": "old", "instance_data_dir": "datasets/old", "disabled": True}
    backends(tmp_path, SUBJECT, old)

    assert look(tmp_path).verdict == "go"


def test_captions_that_it_does_not_read_are_told(tmp_path: Path) -> None:
    images(tmp_path / "datasets/subject", 8, ".caption")
    backends(tmp_path, SUBJECT, TEXTS)

    (one,) = look(tmp_path).findings

    assert one.check == "sample-unpaired"
    assert one.fix == "Rename them to .txt, the only ones that SimpleTuner reads."


def test_a_folder_that_is_not_there_is_told_at_its_line(tmp_path: Path) -> None:
    backends(tmp_path, TEXTS, SUBJECT)

    assert found(look(tmp_path)) == {"target-missing": "config/multidatabackend.json:12"}


def test_latents_that_lack_are_told_of_the_data_that_they_are_of(tmp_path: Path) -> None:
    images(tmp_path / "datasets/subject", 8, ".txt")
    images(tmp_path / "datasets/other", 8, ".txt")
    other = {**SUBJECT, "id": "other", "instance_data_dir": "datasets/other"}
    del other["cache_dir_vae"]
    backends(tmp_path, SUBJECT, other, TEXTS)
    for name in range(4):
        put(tmp_path / "cache/vae/subject", f"{name:03}.safetensors", content=WHOLE)

    (one,) = look(tmp_path).findings

    assert (one.check, one.at.file) == ("cache-incomplete", "cache/vae/subject")
    assert one.message.startswith("lacks the entries of 4 of 8 samples")


def test_latents_with_hashed_names_are_read_and_not_held_against_the_data(tmp_path: Path) -> None:
    images(tmp_path / "datasets/subject", 8, ".txt")
    backends(tmp_path, SUBJECT)
    for name in range(4):
        put(tmp_path / "cache/vae/subject", f"{name:064x}.safetensors", content=WHOLE)

    report = look(tmp_path)

    assert (report.verdict, found(report)) == ("go", {})
    assert [one.word for one in report.targets if one.kind == "cache"] == ["cache/vae/subject"]


def test_what_lies_elsewhere_is_no_go(tmp_path: Path) -> None:
    images(tmp_path / "datasets/subject", 8, ".txt")
    backends(tmp_path, SUBJECT, {**TEXTS, "type": "aws"})

    report = look(tmp_path)

    assert report.verdict == "cannot-judge"
    broken = {one.at.name for outcome in report.checks for one in outcome.broken}
    assert broken == {"aws://texts"}
