"""shard-foreign finds what was not meant for the training, and folders that part pairs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from preflight.findings.finding import Finding, Location, Severity
from preflight.testing import ask
from tests.archives import samples, shard_facts


def found(folder: Path, names: list[str]) -> list[Finding]:
    return ask("shard-foreign", shard_facts(folder, names, rule="textfile"))


@pytest.mark.parametrize(
    "names",
    [
        [*samples(3)],
        ["a/1.jpg", "a/1.txt", "b/1.jpg", "b/1.txt"],
        ["cats/1.jpg", "cats/2.jpg", "dogs/3.txt", "dogs/4.txt"],
        ["cats/1.jpg", "cats/1.txt", "cats/2.jpg", "cats/2.txt", "info/1.json", "info/2.json"],
        ["__meta__/1.jpg", "a._b.jpg", "a._b.txt", "MACOSX/a.jpg", "my.db", "Thumbs.dbx"],
    ],
    ids=["plain", "folders of classes", "other names", "a third folder", "odd names"],
)
def test_files_of_the_users_own_are_left_alone(tmp_path: Path, names: list[str]) -> None:
    assert found(tmp_path, names) == []


def test_at_the_top_files_of_macos_are_only_noted(tmp_path: Path) -> None:
    """Their names have no key, and webdataset passes over them."""
    (finding,) = found(tmp_path, ["._a.jpg", "a.jpg", "._a.txt", "a.txt", ".DS_Store"])

    assert finding.severity is Severity.NOTE
    assert finding.message == (
        "holds 3 files that macOS or Windows left behind: ._a.jpg, ._a.txt and .DS_Store"
    )


def test_in_a_folder_they_part_the_samples(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, ["d/._a.jpg", "d/a.jpg", "d/._a.txt", "d/a.txt"])

    assert finding.severity is Severity.ERROR
    assert finding.at == Location(file="x.tar")
    assert finding.message == (
        "holds 2 files that macOS or Windows left behind, and that cut 1 sample in two: d/._a.jpg "
        "and d/._a.txt"
    )


@pytest.mark.parametrize("name", ["__MACOSX/._a.jpg", "d/.DS_Store", "Thumbs.db", "d/desktop.ini"])
def test_what_becomes_a_sample_of_its_own_is_an_error(tmp_path: Path, name: str) -> None:
    (finding,) = found(tmp_path, ["a.jpg", "a.txt", name])

    assert finding.severity is Severity.ERROR


def test_images_and_texts_in_two_folders_are_one_finding(tmp_path: Path) -> None:
    names = [f"images/{number}.jpg" for number in range(9)]
    names += [f"captions/{number}.txt" for number in range(9)]

    (finding,) = found(tmp_path, names)

    assert finding.severity is Severity.ERROR
    assert finding.message == (
        "keeps 9 images and their texts in two folders: images/0.jpg and captions/0.txt, "
        "images/1.jpg and captions/1.txt, images/2.jpg and captions/2.txt and 6 more"
    )


@pytest.mark.skipif(shutil.which("tar") is None, reason="no tar program here")
@pytest.mark.parametrize("tar_format", ["oldgnu", "gnu", "pax"])
def test_sparse_members_are_noted(tmp_path: Path, tar_format: str) -> None:
    with (tmp_path / "a.bin").open("wb") as stream:
        stream.seek(1 << 20)
        stream.write(b"end")
    command = ["tar", "--sparse", f"--format={tar_format}", "-cf", "x.tar", "a.bin"]
    subprocess.run(command, cwd=tmp_path, check=True)

    content = (tmp_path / "x.tar").read_bytes()
    (finding,) = ask("shard-foreign", shard_facts(tmp_path, content, rule="textfile"))

    assert (finding.severity, finding.message) == (Severity.NOTE, "holds 1 sparse member: a.bin")
