"""`preflight init` writes settings that tell more than a look around would."""

from __future__ import annotations

from pathlib import Path

import pytest

import preflight
from preflight.scaffold.settings import write
from preflight.settings.job import Job
from preflight.settings.merge import make_job
from tests.archives import samples, tarred
from tests.files import put

pytestmark = pytest.mark.usefixtures("at_hand")


def written(folder: Path, *names: str) -> Job:
    """Write settings for a folder in which shards of these names lie in `data`."""
    (folder / "data").mkdir()
    for number, name in enumerate(names):
        content = tarred(samples(3, start=10 * number))
        (folder / "data" / name).write_bytes(content)
    write(str(folder), force=False)
    return make_job(folder=str(folder), environ={})


def numbered(text: str, numbers: range, *without: int) -> list[str]:
    return [text.format(number) for number in numbers if number not in without]


# The shards of a folder, and how they are written.
SHARDS = {
    "numbers alone": (numbered("{:05}.tar", range(3)), ["{00000..00002}.tar"]),
    "not filled up": (numbered("v2-{}.tar", range(8, 12)), ["v2-{8..11}.tar"]),
    "packed": (numbered("a-{:02}.tar.bz2", range(3)), ["a-{00..02}.tar.bz2"]),
    "packed, under a short name": (numbered("{}.txz", range(3)), ["{0..2}.txz"]),
    "two data sets": (
        [*numbered("train-{:02}.tar", range(3)), *numbered("val-{:02}.tar", range(2))],
        ["train-{00..02}.tar", "val-{00..01}.tar"],
    ),
    "one of a few is missing": (numbered("{:02}.tar", range(9), 5), ["{00..08}.tar"]),
    "names": (["a.tar", "b.tar"], ["*.tar"]),
    "one": (["a-1.tar"], ["*.tar"]),
    "one without": (["a-1.tar", "readme.tar"], ["*.tar"]),
    "many gaps": (numbered("{:02}.tar", range(20), 3, 5, 7), ["*.tar"]),
    "filled up in part": (["a-1.tar", "a-02.tar"], ["*.tar"]),
    "many ranges": ([f"{one}-{number}.tar" for one in "abcdefghi" for number in (0, 1)], ["*.tar"]),
    "braces": (["a{b}-0.tar", "a{b}-1.tar"], ["*.tar"]),
    "some with a short name": (["a.tbz2", "b.tbz2"], ["*.tbz2"]),
    "packed shards of any name": (["a.tar.gz", "b.tar.gz", "b.tar.gz.part"], ["*.tar.gz"]),
    "some of them packed": (["a.tar.gz", "b.tar", "md5sums.txt"], ["*.tar*"]),
}


@pytest.mark.parametrize(("names", "patterns"), SHARDS.values(), ids=SHARDS)
def test_numbered_shards_are_written_as_ranges_and_others_with_a_star(
    tmp_path: Path, names: list[str], patterns: list[str]
) -> None:
    job = written(tmp_path, *names)

    assert [one.shards for one in job.data] == [f"data/{one}" for one in patterns]


def test_a_gap_in_what_was_written_is_found(tmp_path: Path) -> None:
    """A star would have passed over it."""
    written(tmp_path, *numbered("{:02}.tar", range(12), 7))

    assert "# 11 of 12 here now" in (tmp_path / "preflight.toml").read_text()
    report = preflight.run(folder=str(tmp_path), elsewhere=True, select=["shard"])
    assert [(one.check, one.at.file) for one in report.findings] == [
        ("shard-missing", "data/07.tar")
    ]


def caches_of(folder: Path, *files: str) -> Job:
    """Write settings for a folder in which these empty files lie."""
    put(folder, *files)
    write(str(folder), force=False)
    return make_job(folder=str(folder), environ={})


# The files of a folder, and each cache with what it was made of.
CACHES = {
    "two caches of one folder": (
        ["cache/vae/a.pt", "cache/text/sub/a.pt"],
        [("cache/text", ()), ("cache/vae", ())],
    ),
    "a tree like that of the data": (
        ["cache/cats/a.pt", "cache/dogs/a.pt", "photos/cats/a.jpg", "photos/dogs/a.jpg"],
        [("cache", ("photos",))],
    ),
    "files beside": (["cache/a.pt", "cache/text/a.pt"], [("cache", ())]),
    "only one": (["cache/text/a.pt"], [("cache", ())]),
    "very many": ([f"cache/{number}/a.pt" for number in range(20)], [("cache", ())]),
    "the only data set": (["cache/a.pt", "photos/a.jpg"], [("cache", ("photos",))]),
    # As kohya's scripts put latents; regularisation images are a data set, too.
    "beside its images": (
        ["img/a.jpg", "img/a_0064x0064_sdxl.npz", "reg/b.jpg", "reg/b_0064x0064_sdxl.npz"],
        [("img", ("img",)), ("reg", ("reg",))],
    ),
}


@pytest.mark.parametrize(("files", "caches"), CACHES.values(), ids=CACHES)
def test_a_cache_is_written_with_the_data_that_it_was_made_of(
    tmp_path: Path, files: list[str], caches: list[tuple[str, tuple[str, ...]]]
) -> None:
    job = caches_of(tmp_path, *files)

    assert [(one.path, one.of) for one in job.cache] == caches


def test_of_several_data_sets_somebody_has_to_say_which(tmp_path: Path) -> None:
    job = caches_of(tmp_path, "cache/a.pt", "photos/a.jpg", "more/a.jpg")

    assert [one.of for one in job.cache] == [()]
    assert '\n# of = ["more", "photos"]\n' in (tmp_path / "preflight.toml").read_text()


def test_folders_of_checkpoints_are_written_as_such(tmp_path: Path) -> None:
    job = caches_of(
        tmp_path, "out/checkpoint-5/a.pt", "base/model.safetensors.index.json", "base/a.safetensors"
    )

    assert [(one.path, one.checkpoints) for one in job.cache] == [("base", True), ("out", True)]
