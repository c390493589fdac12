"""`preflight init` writes settings that tell more than a look around would."""

from __future__ import annotations

from pathlib import Path

import pytest

import preflight
from preflight.scaffold.settings import write
from preflight.settings.job import Job
from preflight.settings.merge import make_job
from tests.archives import samples, tarred


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


@pytest.mark.parametrize(
    ("names", "ranges"),
    [
        (numbered("{:05}.tar", range(3)), ["{00000..00002}.tar"]),
        (numbered("v2-{}.tar", range(8, 12)), ["v2-{8..11}.tar"]),
        (numbered("a-{:02}.tar.bz2", range(3)), ["a-{00..02}.tar.bz2"]),
        (
            [*numbered("train-{:02}.tar", range(3)), *numbered("val-{:02}.tar", range(2))],
            ["train-{00..02}.tar", "val-{00..01}.tar"],
        ),
    ],
    ids=["numbers alone", "not filled up", "packed", "two data sets"],
)
def test_numbered_shards_are_written_as_ranges(
    tmp_path: Path, names: list[str], ranges: list[str]
) -> None:
    job = written(tmp_path, *names)

    assert [one.shards for one in job.data] == [f"data/{one}" for one in ranges]


@pytest.mark.parametrize(
    "names",
    [
        ["a.tar", "b.tar"],
        ["a-1.tar"],
        ["a-1.tar", "readme.tar"],
        numbered("{:02}.tar", range(20), 3, 5, 7),
        ["a-1.tar", "a-02.tar"],
        [f"{letter}-{number}.tar" for letter in "abcdefghi" for number in (0, 1)],
        ["a{b}-0.tar", "a{b}-1.tar"],
    ],
    ids=["names", "one", "one without", "many gaps", "filled up in part", "many ranges", "braces"],
)
def test_other_shards_are_written_with_a_star(tmp_path: Path, names: list[str]) -> None:
    job = written(tmp_path, *names)

    assert [one.shards for one in job.data] == ["data/*.tar"]


@pytest.mark.parametrize(
    ("names", "pattern"),
    [
        (["a.tar.gz", "b.tar.gz", "b.tar.gz.part"], "data/*.tar.gz"),
        (["a.tar.gz", "b.tar", "md5sums.txt"], "data/*.tar*"),
    ],
)
def test_a_star_takes_in_all_shards_of_a_folder(
    tmp_path: Path, names: list[str], pattern: str
) -> None:
    job = written(tmp_path, *names)

    assert [one.shards for one in job.data] == [pattern]


def test_one_of_a_few_numbered_shards_may_be_missing(tmp_path: Path) -> None:
    job = written(tmp_path, *numbered("{:02}.tar", range(9), 5))

    assert [one.shards for one in job.data] == ["data/{00..08}.tar"]


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
    for name in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    write(str(folder), force=False)
    return make_job(folder=str(folder), environ={})


def test_two_caches_of_one_folder_are_an_entry_each(tmp_path: Path) -> None:
    job = caches_of(tmp_path, "cache/vae/a.pt", "cache/text/sub/a.pt")

    assert [(one.path, one.of) for one in job.cache] == [("cache/text", ()), ("cache/vae", ())]


@pytest.mark.parametrize(
    "files",
    [
        ["cache/cats/a.pt", "cache/dogs/a.pt", "photos/cats/a.jpg", "photos/dogs/a.jpg"],
        ["cache/a.pt", "cache/text/a.pt"],
        ["cache/text/a.pt"],
        [f"cache/{number}/a.pt" for number in range(20)],
    ],
    ids=["a tree like that of the data", "files beside", "only one", "very many"],
)
def test_one_cache_is_one_entry(tmp_path: Path, files: list[str]) -> None:
    job = caches_of(tmp_path, *files)

    assert [one.path for one in job.cache] == ["cache"]


def test_a_cache_is_held_against_the_only_data_set(tmp_path: Path) -> None:
    job = caches_of(tmp_path, "cache/a.pt", "photos/a.jpg")

    assert [one.of for one in job.cache] == [("photos",)]


def test_of_several_data_sets_somebody_has_to_say_which(tmp_path: Path) -> None:
    job = caches_of(tmp_path, "cache/a.pt", "photos/a.jpg", "more/a.jpg")

    assert [one.of for one in job.cache] == [()]
    assert '\n# of = ["more", "photos"]\n' in (tmp_path / "preflight.toml").read_text()


def test_a_cache_beside_its_images_was_made_of_those(tmp_path: Path) -> None:
    """As kohya's scripts put latents; regularisation images are a data set, too."""
    names = ("img/a.jpg", "img/a_0064x0064_sdxl.npz", "reg/b.jpg", "reg/b_0064x0064_sdxl.npz")
    job = caches_of(tmp_path, *names)

    assert [(one.path, one.of) for one in job.cache] == [("img", ("img",)), ("reg", ("reg",))]


def test_folders_of_checkpoints_are_written_as_such(tmp_path: Path) -> None:
    job = caches_of(
        tmp_path, "out/checkpoint-5/a.pt", "base/model.safetensors.index.json", "base/a.safetensors"
    )

    assert [(one.path, one.checkpoints) for one in job.cache] == [("base", True), ("out", True)]
