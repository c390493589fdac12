"""A pointer of Git LFS is a file that was not fetched, wherever it lies."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import preflight
from preflight.file_access.facts import Damage
from preflight.file_access.lfs import refined
from preflight.images.facts import ImageDamage

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize %d\n"

needs_links = pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A work tree with a pointer two folders down."""
    (tmp_path / "top" / ".git").mkdir(parents=True)
    (tmp_path / "top" / "data" / "raw").mkdir(parents=True)
    (tmp_path / "top" / "data" / "raw" / "a.tar").write_bytes(POINTER % 1_200_000_000)
    return tmp_path / "top"


def shard(text: str = "is a Git LFS pointer, and no tar archive", kind: str = "foreign") -> Damage:
    return Damage(kind=kind, text=text, offset=0)


def told(path: Path) -> Damage:
    return refined(shard(), str(path), folder=False)


def test_a_pointer_says_what_it_stands_for_and_is_named_from_the_top_of_its_work_tree(
    top: Path,
) -> None:
    assert told(top / "data/raw/a.tar") == Damage(
        kind="not-fetched",
        text="is a Git LFS pointer of a file of 1.2 GB that was not fetched",
        offset=0,
        fetch="data/raw/a.tar",
    )


def test_in_no_work_tree_all_is_fetched(top: Path) -> None:
    (top / ".git").rename(top / "git")

    damage = told(top / "data/raw/a.tar")

    assert (damage.kind, damage.fetch) == ("not-fetched", "")


def test_in_a_repository_inside_of_another_it_is_named_from_the_inner_one(top: Path) -> None:
    """Such as a submodule, whose `.git` is a file."""
    (top / "data" / ".git").write_text("gitdir: ../.git/modules/data\n")

    assert told(top / "data/raw/a.tar").fetch == "raw/a.tar"


@needs_links
def test_a_link_is_followed_to_the_work_tree_that_its_file_is_in(top: Path) -> None:
    (top.parent / "data").symlink_to(top / "data")

    assert told(top.parent / "data" / "raw" / "a.tar").fetch == "data/raw/a.tar"


def test_a_size_that_no_file_has_is_left_out(top: Path) -> None:
    path = top / "data/raw/a.tar"
    path.write_bytes(POINTER % -5)

    assert told(path).text == "is a Git LFS pointer that was not fetched"


def test_what_is_too_long_for_a_pointer_is_not_fetched_by_anybody(top: Path) -> None:
    path = top / "data/raw/a.tar"
    path.write_bytes(POINTER % 7 + b"x" * 2000)

    damage = told(path)

    assert (damage.kind, damage.fetch) == ("foreign", None)
    assert damage.text == "is a Git LFS pointer of a file of 7 bytes, and no tar archive"


@pytest.mark.parametrize("name", ["a,b.tar", 'a"b.tar', "a*.tar", "é.tar", "$(a).tar"])
def test_a_name_that_a_shell_or_git_would_read_otherwise_is_not_put_in_a_command(
    top: Path, name: str
) -> None:
    path = top / name
    try:
        path.write_bytes(POINTER % 7)
    except OSError:
        pytest.skip("this file system has no such names")

    assert told(path).fetch == ""


def test_images_and_cached_files_are_fetched_by_their_folders(top: Path) -> None:
    """There are many of them, and one command for all of a folder is enough."""
    path = str(top / "data/raw/a.tar")
    image = ImageDamage(
        name="a.jpg", kind="foreign", text="is a Git LFS pointer, and no image", bytes=130
    )
    damage = Damage(kind="foreign", text="is a Git LFS pointer, not safetensors")

    assert (refined(image, path).fetch, refined(damage, path).fetch) == ("data/raw", "data/raw")


def test_other_damage_is_left_as_it_is(top: Path) -> None:
    """Also where a pointer came in the file's place since."""
    path = str(top / "data/raw/a.tar")
    other = shard("is a RAR archive, and no tar archive")

    assert refined(other, path) is other
    assert refined(shard(kind="cut"), path) == shard(kind="cut")
    assert told(top / "gone.tar") == shard()


@pytest.mark.usefixtures("at_hand")
def test_a_whole_run_tells_what_was_not_fetched(top: Path) -> None:
    """Shards, images and cached files, in the work tree and in a copy of it; and a second time."""
    for name in ("data/raw/a.jpg", "data/raw/a.pt"):
        (top / name).write_bytes(POINTER % 5)
    shutil.copytree(top, top.parent / "copy", ignore=shutil.ignore_patterns(".git"))

    def said(folder: Path) -> set[tuple[str, object, str | None]]:
        report = preflight.run("data", folder=str(folder), select=["shard", "image", "cache"])
        return {(one.check, one.evidence["kind"], one.fix) for one in report.findings}

    fetch = 'Fetch it:  git lfs pull --include="data/raw'
    for _ in range(2):
        assert said(top) == {
            ("shard-damaged", "not-fetched", f'{fetch}/a.tar"'),
            ("image-damaged", "not-fetched", f'{fetch}"'),
            ("cache-damaged", "not-fetched", f'{fetch}"'),
        }
        assert said(top.parent / "copy") == {
            (check, "not-fetched", "Fetch it:  git lfs pull")
            for check in ("shard-damaged", "image-damaged", "cache-damaged")
        }
