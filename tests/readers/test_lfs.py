"""A pointer in a work tree that Git LFS filters was not fetched; anywhere else it is damage."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

import preflight
from preflight.facts import CacheFacts, Damage, ImageDamage, ShardFacts
from preflight.formats import gitattributes
from preflight.readers import lfs
from preflight.readers.lfs import path_in_lfs, refined

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize %d\n"
TRACKED = b"*.tar filter=lfs diff=lfs merge=lfs -text\n"

needs_links = pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that begins."""
    monkeypatch.setattr(lfs, "_kept", {})
    monkeypatch.setattr(lfs, "_spent", [0.0])


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A work tree that tracks tar files, with a pointer two folders down."""
    (tmp_path / "top" / ".git" / "info").mkdir(parents=True)
    (tmp_path / "top" / "data" / "raw").mkdir(parents=True)
    (tmp_path / "top" / ".gitattributes").write_bytes(TRACKED)
    (tmp_path / "top" / "data" / "raw" / "a.tar").write_bytes(POINTER % 1_200_000_000)
    return tmp_path / "top"


def in_lfs(top: Path, path: str = "data/raw/a.tar") -> str | None:
    return path_in_lfs(str(top / path))


def test_a_path_that_is_filtered_is_named_from_the_top_of_the_work_tree(top: Path) -> None:
    assert in_lfs(top) == "data/raw/a.tar"


def test_what_is_not_filtered_is_not_in_lfs(top: Path) -> None:
    assert in_lfs(top, "data/a.jpg") is None


def test_a_copy_without_its_repository_is_not_in_lfs(top: Path) -> None:
    (top / ".git").rename(top / "git")

    assert in_lfs(top) is None


def test_a_deeper_file_unsets_it(top: Path) -> None:
    (top / "data" / ".gitattributes").write_text("raw/** !filter\n")

    assert in_lfs(top) is None


def test_what_is_in_no_commit_wins(top: Path) -> None:
    (top / ".git" / "info" / "attributes").write_text("a.tar -filter\n")

    assert in_lfs(top) is None


def test_a_change_of_the_attributes_is_seen(top: Path) -> None:
    assert in_lfs(top) is not None

    (top / ".gitattributes").write_text("*.bin filter=lfs\n")

    assert in_lfs(top) is None


def test_another_filter_is_not_lfs(top: Path) -> None:
    (top / ".gitattributes").write_text("*.tar filter=annex\n")

    assert in_lfs(top) is None


def test_a_repository_inside_of_another_goes_by_its_own_attributes(top: Path) -> None:
    (top / "data" / ".git").mkdir()

    assert in_lfs(top) is None


def test_git_s_own_store_is_no_work_tree(top: Path) -> None:
    (top / ".git" / "lfs").mkdir()

    assert in_lfs(top, ".git/lfs/a.tar") is None


@pytest.mark.parametrize("common", [True, False], ids=["work tree", "submodule"])
def test_a_linked_repository_has_its_own_file(top: Path, *, common: bool) -> None:
    """Of a second work tree, what is in no commit is kept with the first."""
    (top / ".git").rename(top.parent / "store")
    git = top.parent / "store" / "worktrees" / "x" if common else top.parent / "store"
    git.mkdir(parents=True, exist_ok=True)
    if common:
        (git / "commondir").write_text("../..\n")
    (top / ".git").write_text(f"gitdir: {git}\n")
    assert in_lfs(top) == "data/raw/a.tar"

    (top.parent / "store" / "info" / "attributes").write_text("*.tar !filter\n")

    assert in_lfs(top) is None


@pytest.mark.parametrize("content", [b"gitdir: ../gone\n", b"", b"\xff" * 99, b"x" * (1 << 20)])
def test_a_linked_repository_that_is_gone_fetches_nothing(top: Path, content: bytes) -> None:
    (top / ".git").rename(top.parent / "store")
    (top / ".git").write_bytes(content)

    assert in_lfs(top) is None


@needs_links
def test_a_link_is_followed_to_the_work_tree_that_its_file_is_in(top: Path) -> None:
    (top.parent / "data").symlink_to(top / "data")

    assert path_in_lfs(str(top.parent / "data" / "raw" / "a.tar")) == "data/raw/a.tar"


# --- attributes that were made to hurt


def test_attributes_of_gigabytes_are_not_read(top: Path) -> None:
    with (top / ".gitattributes").open("ab") as stream:
        stream.truncate(5 << 30)

    assert in_lfs(top) is None


def test_attributes_of_too_many_wildcards_are_not_looked_at(top: Path) -> None:
    (top / ".gitattributes").write_bytes(TRACKED + b"*a* x\n" * (gitattributes.MOST_WILD + 1))

    assert in_lfs(top) is None


def test_attributes_that_are_no_utf_8_are_read_as_git_reads_them(top: Path) -> None:
    (top / ".gitattributes").write_bytes(b"\xff\xfe\xe9\n" + TRACKED)

    assert in_lfs(top) == "data/raw/a.tar"


@needs_links
@pytest.mark.parametrize("target", [".gitattributes", "../attributes"], ids=["loop", "outside"])
def test_git_follows_no_link_in_a_work_tree(top: Path, target: str) -> None:
    (top / ".gitattributes").replace(top.parent / "attributes")
    (top / ".gitattributes").symlink_to(target)

    assert in_lfs(top) is None


@needs_links
def test_a_link_that_loops_beside_the_repository_is_not_known(top: Path) -> None:
    (top / ".git" / "info" / "attributes").symlink_to("attributes")

    assert in_lfs(top) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes among files")
@pytest.mark.parametrize("name", [".gitattributes", ".git/info/attributes", ".git"])
def test_a_pipe_is_not_waited_for(top: Path, name: str) -> None:
    if name == ".git":
        (top / ".git").rename(top.parent / "store")
    else:
        (top / name).unlink(missing_ok=True)
    os.mkfifo(top / name)

    assert in_lfs(top) is None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_attributes_that_cannot_be_read_are_not_known(top: Path) -> None:
    (top / "data" / ".gitattributes").write_text("# nothing\n")
    (top / "data" / ".gitattributes").chmod(0)

    assert in_lfs(top) is None


def test_a_folder_called_gitattributes_says_nothing(top: Path) -> None:
    (top / "data" / ".gitattributes").mkdir()

    assert in_lfs(top) == "data/raw/a.tar"


def test_a_process_spends_no_more_than_some_seconds_on_attributes(
    top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lfs, "_spent", [lfs._PATIENCE + 1])

    assert in_lfs(top) is None


def test_many_pointers_cost_few_readings(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One for each file of attributes, however many pointers there are."""
    (top / "data" / ".gitattributes").write_bytes(TRACKED + b"/raw/9.tar -filter\n")
    parsed: list[int] = []

    def count(content: bytes, *, macros: bool, folded: bool) -> gitattributes.Attributes:
        parsed.append(len(content))
        return real(content, macros=macros, folded=folded)

    real = gitattributes.parse
    monkeypatch.setattr(lfs.gitattributes, "parse", count)
    begun = time.process_time()

    said = [in_lfs(top, f"data/raw/{number}.tar") for number in range(10_000)]

    assert said.count(None) == 1
    assert len(parsed) == 2
    assert time.process_time() - begun < 20


# --- what is told


def shard(
    text: str = "is a Git LFS pointer, and no tar archive", kind: str = "foreign"
) -> ShardFacts:
    damage = Damage(kind=kind, text=text, offset=0)
    return ShardFacts(file="data/raw/a.tar", size=130, damage=(damage,), members=0, samples=0)


def test_a_pointer_that_was_not_fetched_says_what_it_stands_for(top: Path) -> None:
    (damage,) = refined(shard(), str(top / "data/raw/a.tar")).damage

    assert damage == Damage(
        kind="not-fetched",
        text="is a Git LFS pointer of a file of 1.2 GB that was not fetched",
        offset=0,
        fetch="data/raw/a.tar",
    )


def test_a_pointer_elsewhere_is_damage_and_says_its_size(top: Path) -> None:
    (top / ".gitattributes").unlink()

    (damage,) = refined(shard(), str(top / "data/raw/a.tar")).damage

    assert (damage.kind, damage.fetch) == ("foreign", None)
    assert damage.text == "is a Git LFS pointer of a file of 1.2 GB, and no tar archive"


@pytest.mark.parametrize(
    "said",
    [
        *(b"size -5\n", b"size 99999999999999999999\n", b"size 9223372036854775808\n"),
        *(b"size ten\n", b"size 1\nsize 2\n", b"size " + b"1" * 900 + b"\n", b""),
    ],
)
def test_a_size_that_no_file_has_is_left_out(top: Path, said: bytes) -> None:
    path = top / "data/raw/a.tar"
    path.write_bytes((POINTER % 1).replace(b"size 1\n", said))

    (damage,) = refined(shard(), str(path)).damage

    assert damage.text == "is a Git LFS pointer that was not fetched"


def test_what_is_too_long_for_a_pointer_is_not_fetched_by_anybody(top: Path) -> None:
    path = top / "data/raw/a.tar"
    path.write_bytes(POINTER % 7 + b"x" * 2000)

    (damage,) = refined(shard(), str(path)).damage

    assert (damage.kind, damage.fetch) == ("foreign", None)


@pytest.mark.parametrize("name", ["a,b.tar", 'a"b.tar', "a*.tar", "é.tar", "$(a).tar"])
def test_a_name_that_a_shell_or_git_would_read_otherwise_is_not_put_in_a_command(
    top: Path, name: str
) -> None:
    path = top / name
    try:
        path.write_bytes(POINTER % 7)
    except OSError:
        pytest.skip("this file system has no such names")

    (damage,) = refined(shard(), str(path)).damage

    assert damage.fetch == ""


def test_images_and_cached_files_are_fetched_by_their_folders(top: Path) -> None:
    """There are many of them, and one command for all of a folder is enough."""
    path = str(top / "data/raw/a.tar")
    image = ImageDamage(
        name="a.jpg", kind="foreign", text="is a Git LFS pointer, and no image", bytes=130
    )
    damage = Damage(kind="foreign", text="is a Git LFS pointer, not safetensors")
    cache = CacheFacts(file="a", size=130, format="unknown", damage=damage)

    found = refined(cache, path).damage

    assert found is not None
    assert (refined(image, path).fetch, found.fetch) == ("data/raw", "data/raw")


def test_other_damage_is_left_as_it_is(top: Path) -> None:
    """Also where a pointer came in the file's place since."""
    facts = shard("is a RAR archive, and no tar archive")

    assert refined(facts, str(top / "data/raw/a.tar")) is facts
    assert refined(shard(kind="cut"), str(top / "data/raw/a.tar")) == shard(kind="cut")
    assert refined(shard(), str(top / "gone.tar")) == shard()


def test_a_whole_run_tells_what_was_not_fetched_from_what_is_damaged(top: Path) -> None:
    """Shards, images and cached files, in the work tree and in a copy of it."""
    (top / ".gitattributes").write_bytes(TRACKED + b"*.jpg filter=lfs\n*.pt filter=lfs\n")
    for name in ("data/raw/a.jpg", "data/raw/a.pt"):
        (top / name).write_bytes(POINTER % 5)
    shutil.copytree(top, top.parent / "copy", ignore=shutil.ignore_patterns(".git"))

    def told(folder: Path) -> dict[str, tuple[object, bool]]:
        report = preflight.run("data", folder=str(folder), select=["shard", "image", "cache"])
        return {
            one.check: (one.evidence["kind"], "git lfs pull --include" in (one.fix or ""))
            for one in report.findings
        }

    checks = ("shard-damaged", "image-damaged", "cache-damaged")
    assert told(top) == dict.fromkeys(checks, ("not-fetched", True))
    assert told(top.parent / "copy") == dict.fromkeys(checks, ("foreign", False))


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_real_work_trees_are_known(tmp_path: Path) -> None:
    """The first, a second of the same repository, and a copy of it without its repository."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "filter.lfs.required=false")
    first, second, copy = (tmp_path / name for name in ("first", "second", "copy"))
    first.mkdir()
    (first / ".gitattributes").write_bytes(TRACKED)
    (first / "a.tar").write_bytes(POINTER % 7)
    for command in (
        ("init", "-q"),
        ("add", "."),
        (*who, "commit", "-qm", "x"),
        ("worktree", "add", "-q", str(second)),
    ):
        subprocess.run(["git", *command], cwd=first, check=True, env=kept, capture_output=True)
    shutil.copytree(second, copy, ignore=shutil.ignore_patterns(".git"))

    assert (in_lfs(first, "a.tar"), in_lfs(second, "a.tar")) == ("a.tar", "a.tar")
    assert in_lfs(copy, "a.tar") is None
