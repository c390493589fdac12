"""A cached file is looked at once, and told under one name, however many names lead to it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import preflight
from preflight.findings.finding import Severity
from preflight.findings.report import Outcome, Report
from preflight.targets.looked_at_once import told_once
from preflight.targets.targets import CacheFolder
from tests.files import WHOLE, put

pytestmark = pytest.mark.usefixtures("at_hand")

CUT = WHOLE[:9]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A cache of whole files, with one below it, and checkpoints."""
    for name in ("d/a", "d/b", "d/sub/c", *(f"out/checkpoint-{step}/m" for step in (1, 2, 10))):
        put(tmp_path, f"{name}.safetensors", content=WHOLE)
    return tmp_path


def look(folder: Path, *words: str, **flags: object) -> Report:
    return preflight.run(*words, folder=str(folder), elsewhere=True, **flags)


def of(report: Report, check: str = "cache-damaged") -> Outcome:
    return next(one for one in report.checks if one.id == check)


def told(report: Report, check: str = "cache-damaged") -> list[tuple[str, str]]:
    found = [one for one in report.findings if one.check == check]
    return [(str(one.at.file), one.severity.word) for one in found]


def counts(report: Report) -> list[str]:
    return [one.text for one in report.targets]


def cut(folder: Path, *names: str) -> None:
    put(folder, *(f"{name}.safetensors" for name in names), content=CUT)


NAMES = [
    (("d", "d"), ["3 files"]),
    (("cache=d", "cache=./d"), ["3 files", "counted with cache=d"]),
    (("cache=d", "cache=d/"), ["3 files", "counted with cache=d"]),
    (("cache=d", "cache=d/../d", "d"), ["3 files", *["counted with cache=d"] * 2]),
    (("cache=d", "cache={0}/d"), ["3 files", "counted with cache=d"]),
    (("cache=d", "checkpoint=d"), ["3 files", "counted with cache=d"]),
    (("d/b.safetensors", "d"), ["1 file", "2 files"]),
    (("d", "d/b.safetensors"), ["2 files", "1 file"]),
    (("d/b.safetensors", "cache=./d/b.safetensors"), ["1 file", "counted with d/b.safetensors"]),
    (("d", "d/sub"), ["2 files", "1 file"]),
    (("d/sub", "d", "d/sub/c.safetensors"), ["", "2 files", "1 file"]),
]


@pytest.mark.parametrize(("words", "files"), NAMES, ids=" ".join)
def test_each_file_counts_and_is_told_once(
    place: Path, words: tuple[str, ...], files: list[str]
) -> None:
    words = tuple(word.format(place) for word in words)
    report = look(place, *words)
    assert told(report) == []
    assert counts(report) == files

    cut(place, "d/b", "d/sub/c")
    report = look(place, *words)
    here = [] if words == ("d/b.safetensors", "cache=./d/b.safetensors") else ["d/sub/c"]
    assert sorted(told(report)) == [(f"{one}.safetensors", "error") for one in ["d/b", *here]]
    assert of(report).targets == (3 if here else 1)


def test_caches_beside_each_other_are_left_alone(place: Path) -> None:
    put(place, "d-2/x.safetensors", content=WHOLE)

    report = look(place, "d", "d-2", "out")

    assert counts(report) == [
        "3 files",
        "1 file",
        "3 files, newest checkpoint: checkpoint-10",
    ]
    assert of(report).targets == 7


def test_a_link_is_told_under_the_name_that_was_given_first(place: Path) -> None:
    """The folder itself, what lies in it, and one file of it."""
    (place / "link").symlink_to("d", target_is_directory=True)
    (place / "inner").symlink_to("d/sub", target_is_directory=True)
    (place / "one.safetensors").symlink_to("d/b.safetensors")
    cut(place, "d/b", "d/sub/c")

    for words, files in (
        (("d", "link"), ["d/b", "d/sub/c"]),
        (("link", "d"), ["link/b", "link/sub/c"]),
        (("d", "inner", "one.safetensors"), ["d/b", "d/sub/c"]),
        (("inner", "one.safetensors", "link"), ["inner/c", "one"]),
        (("link", "d/sub"), ["link/b", "link/sub/c"]),
    ):
        report = look(place, *words)

        assert sorted(told(report)) == [(f"{one}.safetensors", "error") for one in files]
        assert of(report).targets == 3


@pytest.mark.skipif(not hasattr(os, "link"), reason="the system has no hard links")
def test_hard_links_are_two_files(place: Path) -> None:
    """Neither is a name of the other: one may be mended alone."""
    cut(place, "d/b")
    os.link(place / "d" / "b.safetensors", place / "d" / "again.safetensors")

    names = ["d/again.safetensors", "d/b.safetensors"]
    assert [file for file, _ in told(look(place, *names))] == names
    assert [file for file, _ in told(look(place, "d"))] == names


def test_links_within_a_cache_are_no_files_of_their_own(place: Path) -> None:
    """To a file beside them, in another folder, by an absolute path, over another link."""
    cut(place, "d/b")
    (place / "d" / "a-link.safetensors").symlink_to("b.safetensors")
    (place / "d" / "sub" / "up.safetensors").symlink_to("../b.safetensors")
    (place / "d" / "over.safetensors").symlink_to(place / "d" / "a-link.safetensors")
    (place / "d" / "0").symlink_to("sub", target_is_directory=True)
    (place / "link").symlink_to("d", target_is_directory=True)

    for word in ("d", "./d/", str(place / "d"), "link"):
        report = look(place, word)
        name = "link/b" if word == "link" else "d/b"
        assert told(report) == [(f"{name}.safetensors", "error")]
        assert counts(report) == ["3 files"]


def test_a_link_that_leads_out_of_a_cache_is_a_file_of_it(place: Path) -> None:
    """Also where two lead to one: what they lead to has no name here."""
    put(place, "store/x", content=CUT)
    for name in ("d/x.safetensors", "d/y.safetensors"):
        (place / name).symlink_to(place / "store" / "x")

    assert [file for file, _ in told(look(place, "d"))] == ["d/x.safetensors", "d/y.safetensors"]


def test_a_file_that_checkpoints_share_by_links_is_in_each(place: Path) -> None:
    """None of them lacks it; and a link to a checkpoint is no further one."""
    (place / "out" / "checkpoint-1" / "base.safetensors").write_bytes(WHOLE)
    for step in (2, 10):
        link = place / "out" / f"checkpoint-{step}" / "base.safetensors"
        link.symlink_to("../checkpoint-1/base.safetensors")
    (place / "out" / "best").symlink_to("checkpoint-2", target_is_directory=True)
    (place / "out" / "last.safetensors").symlink_to("checkpoint-10/m.safetensors")

    for word in ("out", ".", "checkpoint=out"):
        assert look(place, word).findings == ()
    cut(place, "out/checkpoint-2/m")
    for folder, words in ((place, ("out",)), (place / "out", ()), (place / "out", (".",))):
        assert [grave for _, grave in told(look(folder, *words))] == ["warning"]


def test_the_newest_of_single_files_is_told_under_its_own_name(place: Path) -> None:
    """`last` is a link to it, as Lightning makes one."""
    for epoch in (1, 2):
        (place / f"epoch={epoch}.safetensors").write_bytes(WHOLE)
    (place / "last.safetensors").symlink_to("epoch=2.safetensors")
    cut(place, "epoch=2")

    report = look(place, "checkpoint=.", select=["cache-damaged"])

    assert told(report) == [("epoch=2.safetensors", "error")]


def test_numbers_are_looked_at_once(place: Path) -> None:
    import torch

    torch.save(torch.full((99,), float("nan")), place / "d" / "sub" / "x.pt")

    for words in (("d", "./d"), ("d", "d/sub"), ("d/sub/x.pt", "d")):
        report = look(place, *words, deep=True, trust_caches=True)
        assert told(report, "cache-content") == [("d/sub/x.pt", "error")]


def test_a_second_run_remembers_the_files_of_each(place: Path) -> None:
    """Also where the first has looked at the folder as a whole."""
    cut(place, "d/b", "d/sub/c")
    then = os.stat(place / "d").st_mtime - 3_600
    for path in (place / "d").rglob("*.safetensors"):
        os.utime(path, (then, then))

    for words in (("d",), ("d", "d/sub"), ("d/b.safetensors", "d"), ("d",)):
        report = look(place, *words)
        assert [file for file, _ in told(report)] == ["d/b.safetensors", "d/sub/c.safetensors"]
        assert of(report).targets == 3


# --- checkpoints, of which only all together say which is the newest


@pytest.mark.parametrize("words", [("out", "out/checkpoint-1"), ("out/checkpoint-1", "out")])
def test_a_checkpoint_that_is_named_itself_may_be_the_one_to_take(
    place: Path, words: tuple[str, ...]
) -> None:
    """It is one of the folder's, and no older one: the job may be told to go on from it."""
    words = tuple(f"checkpoint={word}" for word in words)
    report = look(place, *words)
    assert report.findings == ()
    assert of(report).targets == 3

    cut(place, "out/checkpoint-1/m", "out/checkpoint-2/m")
    report = look(place, *words)
    assert told(report) == [
        ("out/checkpoint-1/m.safetensors", "error"),
        ("out/checkpoint-2/m.safetensors", "warning"),
    ]
    assert [one.severity for one in report.findings if one.check == "cache-checkpoint"] == [
        Severity.NOTE
    ]


def test_the_newest_is_found_among_all_though_it_is_named_itself(place: Path) -> None:
    cut(place, "out/checkpoint-10/m")

    report = look(place, "cache=out/checkpoint-10/m.safetensors", "checkpoint=out")

    assert told(report) == [("out/checkpoint-10/m.safetensors", "error")]
    (found,) = [one for one in report.findings if one.check == "cache-checkpoint"]
    assert "the newest whole one is checkpoint-2" in found.message


def test_a_cache_among_checkpoints_is_a_cache(place: Path) -> None:
    """Where states are numbered, what has another name is none."""
    put(place, "out/text/x.safetensors", content=CUT)

    report = look(place, "checkpoint=out", "cache=out/text")

    assert counts(report) == ["3 files, newest checkpoint: checkpoint-10", "1 file"]
    assert told(report) == [("out/text/x.safetensors", "error")]


# --- entries of the settings


def entries(folder: Path, *tables: str) -> None:
    text = "\n".join(f"[[cache]]\n{table}" for table in tables)
    (folder / "preflight.toml").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("second", ["d", "./d", "d/", "link"])
def test_two_entries_of_one_folder_are_told_as_such_and_their_files_once(
    place: Path, second: str
) -> None:
    """That two caches share a folder is the finding; its files are damaged once."""
    (place / "link").symlink_to("d", target_is_directory=True)
    cut(place, "d/b")
    entries(place, 'path = "d"', f'path = "{second}"')

    report = look(place)

    assert told(report) == [("d/b.safetensors", "error")]
    assert told(report, "cache-foreign") == [("link" if second == "link" else "d", "warning")]
    assert of(report).targets == 3


def test_an_entry_in_the_folder_of_another_has_its_files_alone(place: Path) -> None:
    cut(place, "d/b", "d/sub/c")
    entries(place, 'path = "d"', 'path = "d/sub"')

    report = look(place)

    assert [file for file, _ in told(report)] == ["d/b.safetensors", "d/sub/c.safetensors"]
    assert told(report, "cache-foreign") == []
    assert counts(report) == ["2 files", "1 file"]


def test_one_of_two_entries_may_say_that_it_holds_checkpoints(place: Path) -> None:
    cut(place, "out/checkpoint-1/m")
    entries(place, 'path = "out"\nkey = "stem"', 'path = "out"\ncheckpoints = true\nkey = "name"')

    report = look(place)

    assert told(report) == [("out/checkpoint-1/m.safetensors", "warning")]
    assert len([one for one in report.findings if one.check == "cache-checkpoint"]) == 1


def test_a_link_that_leads_elsewhere_than_before_is_followed_again(tmp_path: Path) -> None:
    for name in ("one", "two"):
        put(tmp_path, f"{name}/a.pt", content=WHOLE)
    link = tmp_path / "latest"
    caches = [CacheFolder(path=str(tmp_path / name / "a.pt")) for name in ("one", "latest")]
    link.symlink_to("one", target_is_directory=True)
    assert len({*told_once(caches).values()}) == 1
    link.unlink()
    link.symlink_to("two", target_is_directory=True)
    assert len({*told_once(caches).values()}) == 2
