"""A folder is listed once, whatever lies in it, and each image is looked at by itself."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import pytest

from preflight.images.facts import FolderFacts
from preflight.images.folder import folder_facts, list_folder, read_image_file
from preflight.images.pictures import Damages
from preflight.targets.targets import CaptionRule, Folder
from tests.archives import photo
from tests.files import put

write = functools.partial(put, content=b"a dog")


def looked_at(folder: Path, rule: str = "auto") -> FolderFacts:
    """List a folder and read its images, as the session does in its workers."""
    target = Folder(path="data", captions=CaptionRule(rule=rule))
    listing = list_folder(target, str(folder))
    images = [Path(one.path, name) for one in listing.contents for name in one.image_names()]
    damaged = [read_image_file(str(path), str(folder)).damage for path in images]
    return folder_facts(listing, Damages(one for one in damaged if one is not None))


def test_a_sound_folder_is_listed_with_all_below_it(tmp_path: Path) -> None:
    write(tmp_path / "data", "1.jpg", "cats/2.png", "cats/._2.png", content=photo())
    write(tmp_path / "data", "1.txt", "cats/2.txt", "README.md", ".git/3.txt", ".preflight/4.jpg")

    facts = looked_at(tmp_path)

    assert (facts.file, facts.files, facts.images) == ("data", 5, 2)
    assert (facts.pairing.samples, facts.pairing.unpaired) == (2, ())
    assert (facts.damaged_images, facts.unreadable) == ((), ())


def test_class_folders_without_captions_are_sound(tmp_path: Path) -> None:
    write(tmp_path / "data", "cats/1.jpg", "dogs/1.jpg", content=photo())

    assert looked_at(tmp_path).pairing.rule == "none"


def test_files_of_one_stem_in_two_folders_are_two_samples(tmp_path: Path) -> None:
    write(tmp_path / "data", "cats/1.jpg", "dogs/1.jpg", "dogs/2.jpg", content=photo())
    write(tmp_path / "data", "dogs/1.txt", "dogs/2.txt")

    assert [one.name for one in looked_at(tmp_path).pairing.unpaired] == ["data/cats/1.jpg"]


def test_damaged_images_are_named_by_their_files(tmp_path: Path) -> None:
    write(tmp_path / "data", "b.jpg", content=photo()[:-50])
    write(tmp_path / "data", "a.jpg", content=b"")

    facts = looked_at(tmp_path)

    assert [(one.name, one.kind) for one in facts.damaged_images] == [
        ("data/a.jpg", "empty"),
        ("data/b.jpg", "cut"),
    ]


def test_links_are_followed_and_loops_end(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere", "1.jpg", content=photo())
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "in").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "back").symlink_to(tmp_path / "data")
    (tmp_path / "data" / "nowhere.jpg").symlink_to("gone")

    assert looked_at(tmp_path).images == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_no_image(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    os.mkfifo(tmp_path / "data" / "dog.jpg")
    os.mkfifo(tmp_path / "data" / "progress")

    facts = looked_at(tmp_path)

    assert facts.images == 0
    assert facts.unreadable == (("data/dog.jpg", "is a pipe"),)


def test_a_folder_with_the_name_of_an_image_is_named_and_looked_into(tmp_path: Path) -> None:
    write(tmp_path / "data", "1.jpg", "2.jpg/3.jpg", content=photo())

    facts = looked_at(tmp_path)

    assert facts.images == 2
    assert facts.unreadable == (("data/2.jpg", "is a folder"),)


def test_what_a_synology_nas_keeps_of_each_image_can_be_looked_at(tmp_path: Path) -> None:
    """It is a folder of the image's name, which holds its thumbnails."""
    write(tmp_path / "data", "1.jpg", "@eaDir/1.jpg/SYNOPHOTO_THUMB_M.jpg", content=photo())

    assert looked_at(tmp_path).unreadable == ()


def test_links_that_lead_nowhere_are_named_where_a_job_would_open_them(tmp_path: Path) -> None:
    """They are there by name, so nothing lacks them."""
    write(tmp_path / "data", "1.jpg", "2.jpg", "3.jpg", content=photo())
    write(tmp_path / "data", "1.txt", "2.txt", "4.txt")
    for name in ("3.txt", "4.jpg", "notes.txt", "latest"):
        (tmp_path / "data" / name).symlink_to("/nonexistent")
    (tmp_path / "data" / "5.png").symlink_to("5.png")

    facts = looked_at(tmp_path, "textfile")

    assert facts.unreadable[:2] == (
        ("data/3.txt", "is a link that leads nowhere"),
        ("data/4.jpg", "is a link that leads nowhere"),
    )
    ((name, reason),) = facts.unreadable[2:]
    assert name == "data/5.png"
    assert reason.startswith("cannot be reached: ")
    assert facts.images == 3
    assert [one.name for one in facts.pairing.unpaired] == ["data/5.png"]


def test_where_no_captions_are_looked_for_a_text_that_leads_nowhere_is_left_alone(
    tmp_path: Path,
) -> None:
    write(tmp_path / "data", "1.jpg", "2.jpg", "3.jpg", content=photo())
    (tmp_path / "data" / "1.txt").symlink_to("/nonexistent")

    assert looked_at(tmp_path).unreadable == ()


def test_a_single_image_takes_the_place_of_a_folder(tmp_path: Path) -> None:
    write(tmp_path, "dog.jpg", content=photo()[:-50])
    write(tmp_path, "dog.txt", "cat.txt")

    listing = list_folder(Folder(path="dog.jpg"), str(tmp_path))
    damage = read_image_file(str(tmp_path / "dog.jpg"), str(tmp_path)).damage

    assert damage is not None
    facts = folder_facts(listing, Damages([damage]))
    assert (facts.file, facts.files, facts.images) == ("dog.jpg", 1, 1)
    assert (facts.pairing.rule, facts.pairing.images, facts.pairing.captions) == ("none", 1, 0)
    assert damage.name == "dog.jpg"


@pytest.mark.parametrize(
    ("texts", "captions"),
    [
        (["1.txt", "2.txt", "README.txt"], 2),
        (["1.txt", "2.txt", "a.txt", "b.txt", "README.txt"], 4),
    ],
    ids=["too few for a rule", "one each"],
)
def test_images_and_captions_are_counted_as_files(
    tmp_path: Path, texts: list[str], captions: int
) -> None:
    write(tmp_path / "data", "1.jpg", "1.png", "2.jpg", "a.JPG", "b.webp", content=photo())
    write(tmp_path / "data", *texts)

    pairing = looked_at(tmp_path).pairing

    assert (pairing.images, pairing.captions) == (5, captions)


def test_names_that_are_no_utf_8_are_kept(tmp_path: Path) -> None:
    write(tmp_path / "data", "狗.txt", "ok.txt")
    write(tmp_path / "data", "狗.jpg", "ok.jpg", "caf\udce9.jpg", content=photo())

    facts = looked_at(tmp_path)

    assert [one.name for one in facts.pairing.unpaired] == ["data/caf\udce9.jpg"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_a_folder_below_that_cannot_be_listed_is_named(tmp_path: Path) -> None:
    write(tmp_path / "data", "closed/1.jpg")
    (tmp_path / "data" / "closed").chmod(0)
    try:
        facts = looked_at(tmp_path)
    finally:
        (tmp_path / "data" / "closed").chmod(0o700)

    assert facts.unreadable == (("data/closed", "Permission denied"),)


def test_a_folder_that_is_not_there_is_an_error_and_no_pass(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list_folder(Folder(path="data"), str(tmp_path))


def test_an_image_that_vanishes_is_an_error_and_no_pass(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_image_file(str(tmp_path / "dog.jpg"), str(tmp_path))
