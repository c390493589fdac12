"""Captions in folders are remembered as images are, and counted in what there is to do."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import preflight
from preflight.findings.report import Report
from preflight.images import captions
from preflight.session.progress import Progress
from tests.archives import tarred
from tests.ledger.test_remembering import picture

pytestmark = pytest.mark.usefixtures("at_hand")

OLD = time.time() - 3_600


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (OLD, OLD))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two directories with five and three captions, of which each has one that is wrong."""
    for place, count in (("data", 5), ("data/more", 3)):
        for number in range(count):
            write(tmp_path / place / f"{number}.jpg", picture())
            text = "ein Hündchen".encode("utf-8" if number else "latin-1")
            write(tmp_path / place / f"{number}.txt", text)
    return tmp_path


def look(folder: Path, **options: Any) -> Report:
    word = options.pop("word", "data")
    return preflight.run(word, folder=str(folder), elsewhere=True, **options)


def recalled(report: Report) -> dict[str, tuple[int, int]]:
    return {one.noun: (one.count, one.of) for one in report.remembered}


def damaged(report: Report) -> list[str]:
    return [str(one.message) for one in report.findings if one.check == "caption-damaged"]


@pytest.fixture(params=[1_024, 2])
def of_each(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Have a directory be one part, or several."""
    monkeypatch.setattr(captions, "_MANY", request.param)
    yield request.param


@pytest.mark.usefixtures("of_each")
def test_captions_that_have_not_changed_are_not_read_again(folder: Path) -> None:
    first, second = look(folder), look(folder)

    assert recalled(first) == {}
    assert recalled(second) == {"image": (8, 8), "caption": (8, 8)}
    assert second.findings == first.findings
    (message,) = damaged(first)
    assert "2 of 8 captions" in message


def test_a_caption_that_has_changed_is_read_again(folder: Path) -> None:
    """With those beside it, and no others."""
    look(folder)
    write(folder / "data" / "more" / "0.txt", "ein Hündchen von nebenan".encode())
    second = look(folder)

    assert recalled(second) == {"image": (8, 8), "caption": (5, 8)}
    assert damaged(second) == ["is no UTF-8"]


def test_captions_go_by_the_name_that_their_folder_has_now(folder: Path) -> None:
    look(folder)
    (folder / "data" / "more").rename(folder / "data" / "less")
    look(folder)
    (folder / "data" / "less").rename(folder / "data" / "more")

    third = look(folder)
    other = look(folder, word="data/more")

    assert "more/0.txt" in str(third.findings) and "less" not in str(third.findings)
    assert recalled(other)["caption"] == (3, 3)
    assert "data/more/0.txt" in str(other.findings) and "more/more" not in str(other.findings)


def test_captions_of_a_sample_do_not_stand_for_all(folder: Path) -> None:
    look(folder, sample="2")
    whole = look(folder)

    assert "caption" not in recalled(whole)
    assert "2 of 8 captions" in damaged(whole)[0]


@pytest.mark.parametrize("options", [{}, {"sample": "3"}, {"depth": "index"}, {"no_ledger": True}])
def test_what_is_done_comes_to_what_there_is_to_do(folder: Path, options: dict[str, Any]) -> None:
    """Read or remembered."""
    captions_too = 0 if options.get("depth") == "index" else 1
    for _ in range(2):
        told: list[Any] = []
        look(folder, watch=told.append, **options)
        for last in [one for one in told if isinstance(one, Progress)][-1:]:
            images = 3 if "sample" in options else 8
            assert last.total == images * (1 + captions_too)
            assert last.done == last.total


# --- suffixes that the settings name --------------------------------------------------------------


EXTENSIONS = [".desc", "DESC", ".prompt", ".csv", ".jsonl", ".npz", ".cap.txt", ".v2.JSON"]


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_captions_of_any_suffix_that_the_settings_name_are_read(
    tmp_path: Path, extension: str
) -> None:
    """In a folder and in shards; nobody says that they are not read, or that images have none."""
    suffix = extension.lstrip(".")
    texts = [b"a cat", b"", b"caf\xe9"]
    for number, text in enumerate(texts * 2):
        write(tmp_path / "photos" / f"{number}.jpg", picture())
        write(tmp_path / "photos" / f"{number}.{suffix}", text)
    members = sorted(path.name for path in (tmp_path / "photos").iterdir())
    shard = tarred({name: (tmp_path / "photos" / name).read_bytes() for name in members})
    write(tmp_path / "shards" / "0.tar", shard)
    said = f'caption_extension = "{extension}"\n'
    settings = f'[[data]]\npath = "photos"\n{said}[[data]]\nshards = "shards/0.tar"\n{said}'
    write(tmp_path / "preflight.toml", settings.encode())

    report = preflight.run(folder=str(tmp_path), elsewhere=True, select=["caption", "sample"])

    found = {(one.check, str(one.at.file).partition("/")[0]) for one in report.findings}
    kinds = ("caption-damaged", "caption-empty")
    assert found == {(check, place) for check in kinds for place in ("photos", "shards")}
    assert [one.unread for one in report.coverage if one.unread] == []


def test_files_of_that_suffix_where_no_image_is_are_not_read(tmp_path: Path) -> None:
    write(tmp_path / "photos" / "a.jpg", picture())
    write(tmp_path / "photos" / "a.desc", b"a cat")
    write(tmp_path / "photos" / "texts" / "a.desc", b"a cat")
    settings = b'[[data]]\npath = "photos"\ncaption_extension = "desc"\n'
    write(tmp_path / "preflight.toml", settings)

    report = preflight.run(folder=str(tmp_path), elsewhere=True, select=["caption"])

    assert [one.unread for one in report.coverage if one.unread] == [{".desc": 1}]


@pytest.mark.parametrize("word", ["photos", "data=photos/", "photos/more", "./photos"])
def test_a_folder_that_is_typed_has_the_captions_that_the_settings_say(
    tmp_path: Path, word: str
) -> None:
    """As the run without words has; what lies elsewhere has the usual ones."""
    for place in ("photos", "photos/more", "other"):
        for number in range(2):
            write(tmp_path / place / f"{number}.jpg", picture())
            write(tmp_path / place / f"{number}.desc", b"caf\xe9")
    settings = b'[[data]]\npath = "photos"\ncaption_extension = ".desc"\n'
    write(tmp_path / "preflight.toml", settings)

    report = preflight.run(word, "other", folder=str(tmp_path), elsewhere=True, select=["caption"])

    assert {str(one.at.file).partition("/")[0] for one in report.findings} == {"photos"}
    assert [one.unread for one in report.coverage if one.unread] == [{".desc": 2}]


@pytest.mark.parametrize(
    ("word", "pattern"),
    [
        ("shards", "shards/{1..2}.tar"),
        ("shards/{1..2}.tar", "file:shards/1.tar"),
        ("data=shards/1.tar", "shards/*.tar"),
    ],
)
def test_shards_that_are_typed_have_the_captions_that_the_settings_say(
    tmp_path: Path, word: str, pattern: str
) -> None:
    """Only an extension is named; by a guess, nothing is said of images that have no text."""
    for number in (1, 2):
        members = [(f"{number}{at}.jpg", picture()) for at in range(3)]
        write(tmp_path / "shards" / f"{number}.tar", tarred(members))
    settings = f'[[data]]\nshards = "{pattern}"\ncaption_extension = "desc"\n'
    write(tmp_path / "preflight.toml", settings.encode())

    report = preflight.run(word, folder=str(tmp_path), elsewhere=True, select=["sample-unpaired"])

    found = {str(one.at.file) for one in report.findings}
    is_one = word.endswith("1.tar") or pattern.endswith("1.tar")
    assert found == {f"shards/{n}.tar" for n in ((1,) if is_one else (1, 2))}
