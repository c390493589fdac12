"""What cannot be looked at is said to be so: neither missing, nor empty, nor a GO."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import preflight
from preflight.settings.job import CacheSettings, Job
from preflight.targets.one_file import UnknownWordError
from preflight.targets.targets import CacheFolder, Missing
from preflight.targets.words.discover import discover
from preflight.targets.words.word import read_word
from tests.files import WHOLE, put

write = functools.partial(put, content=WHOLE)


def refused(folder: Path, word: str) -> str:
    with pytest.raises(UnknownWordError) as error:
        read_word(word, str(folder))
    return str(error.value)


def test_a_word_is_refused_in_one_line_whatever_it_holds(tmp_path: Path) -> None:
    assert refused(tmp_path, "cache=no\npe") == r"cache=no\npe: there is no such path"
    assert refused(tmp_path, "cache=no\udcff") == r"cache=no\xff: there is no such path"
    assert refused(tmp_path, "cache=a;b") == "cache=a;b: there is no such path"


def test_an_empty_folder_is_told_to_be_one(tmp_path: Path) -> None:
    """No other word has it looked at."""
    (tmp_path / "hollow").mkdir()

    still = "; cache=hollow says that it is still to be filled"
    assert refused(tmp_path, "hollow").endswith(f"or sources{still}")
    (cache,) = read_word("cache=hollow", str(tmp_path))
    assert isinstance(cache, CacheFolder)


def test_a_folder_of_files_that_only_a_kind_tells_names_that(tmp_path: Path) -> None:
    write(tmp_path, "old/pytorch_model.bin")

    assert refused(tmp_path, "old").endswith("; cache=old has its .bin files looked at")
    assert isinstance(read_word("cache=old", str(tmp_path))[0], CacheFolder)


def test_folders_of_steps_name_the_kind_of_checkpoints(tmp_path: Path) -> None:
    for number in (1, 2, 4):
        write(tmp_path, f"save/epoch-{number}/pytorch_model.bin")

    assert refused(tmp_path, "save").endswith("; checkpoint=save has its .bin files looked at")
    assert read_word("checkpoint=save", str(tmp_path))


def test_no_word_is_named_for_files_that_none_has_looked_at(tmp_path: Path) -> None:
    """Such as tokens, as many trainers of language models keep them: numbers and no header."""
    put(tmp_path, "data/val.bin", content=bytes(range(1, 251)) * 99)

    assert refused(tmp_path, "data").endswith(
        "; its .bin files are none of torch's, and others are not read by this version"
    )


@pytest.mark.parametrize("word", ["cache=old", "new"])
def test_a_folder_without_one_cached_file_after_all_is_no_go(tmp_path: Path, word: str) -> None:
    """`.bin` and `.ckpt` are suffixes of other programs, too."""
    put(tmp_path, "old/firmware.bin", "new/graph.ckpt", content=b"\x7fELF" * 99)

    report = preflight.run(word, folder=str(tmp_path), elsewhere=True)

    assert report.verdict == "cannot-judge"
    (outcome,) = (one for one in report.checks if one.id == "cache-damaged")
    assert [one.reason for one in outcome.skipped] == ["none of its files is a cached one"]


def test_a_link_that_leads_nowhere_is_told_as_one(tmp_path: Path) -> None:
    (tmp_path / "m.pt").symlink_to("gone.pt")
    gone = "is a link that leads to gone.pt, which is not there"

    assert refused(tmp_path, "cache=m.pt") == f"cache=m.pt {gone}"
    report = preflight.run("m.pt", folder=str(tmp_path), elsewhere=True)
    assert report.verdict == "cannot-judge"


def test_a_link_in_the_settings_that_leads_nowhere_is_missing(tmp_path: Path) -> None:
    (tmp_path / "cache").symlink_to("gone")
    job = Job(root=str(tmp_path), cache=(CacheSettings(path="cache"),))

    assert isinstance(discover([], job, str(tmp_path)).targets[0], Missing)


@contextmanager
def shut(folder: Path) -> Iterator[None]:
    """Take the right away to look into a folder; from root nobody can."""
    folder.chmod(0)
    try:
        if os.access(folder, os.R_OK):
            pytest.skip("whoever runs this may read all")
        yield
    finally:
        folder.chmod(0o755)


@pytest.mark.parametrize(
    "word",
    ["cache=shut", "checkpoint=shut", "shut", "cache=shut/m.pt", "shut/m.pt", "cache=m.pt", "m.pt"],
)
def test_what_may_not_be_read_is_not_said_to_be_missing_or_empty(tmp_path: Path, word: str) -> None:
    """Nobody knows what is in it: that is no GO, and no word that was typed wrong."""
    write(tmp_path, "shut/m.pt", "m.pt")
    (tmp_path / "m.pt").chmod(0)
    with shut(tmp_path / "shut"):
        report = preflight.run(word, folder=str(tmp_path), elsewhere=True)

    assert report.verdict == "cannot-judge"
    fixes = {one.fix for check in report.checks for one in check.broken}
    assert fixes == {"Give the user that runs the job the right to read it."}


def test_what_may_not_be_seen_is_told_as_such(tmp_path: Path) -> None:
    """A name that says nothing in a folder that nobody may look into."""
    write(tmp_path, "shut/m")
    with shut(tmp_path / "shut"):
        assert "cannot be seen" in refused(tmp_path, "shut/m")
