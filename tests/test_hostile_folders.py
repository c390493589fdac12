"""Folders and words made to hurt: a whole run ends soon, and says what it could not read."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import preflight
from preflight.findings.report import Report
from preflight.targets.words import braces
from tests.archives import photo, samples, tarred

pytestmark = pytest.mark.usefixtures("at_hand")

needs_posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")


@contextmanager
def soon(seconds: float = 60) -> Iterator[None]:
    """Hold what is done inside to some seconds: less than the silence that ends a process."""
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < seconds


def run(folder: Path, *words: str) -> Report:
    with soon():
        return preflight.run(*words, folder=str(folder), elsewhere=True, no_ledger=True)


def broken(report: Report) -> dict[str, str]:
    return {
        str(one.at.file or one.at.name): one.error
        for check in report.checks
        for one in check.broken
    }


def a_socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # a socket's name is short
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(here)


def a_device_without_end(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


ODD = (getattr(os, "mkfifo", None), a_socket, a_device_without_end, a_link_to_itself)
each_odd = pytest.mark.parametrize("make", ODD, ids=["pipe", "socket", "device", "link"])


@needs_posix
@each_odd
@pytest.mark.parametrize("name", ["x.tar", "x.tar.gz", "x.jpg", "x.pt", "x.py"])
def test_what_is_no_file_is_not_opened_as_a_target(
    tmp_path: Path, make: Callable[[Path], None], name: str
) -> None:
    make(tmp_path / name)
    word = f"source={name}" if name.endswith(".py") else name
    if make is a_link_to_itself and name.endswith(".py"):
        return  # exit 2: there is no such path

    report = run(tmp_path, word)

    assert report.verdict == "cannot-judge"
    assert list(broken(report)) == [name]


@needs_posix
@each_odd
@pytest.mark.parametrize("name", ["x.tar", "x.jpg", "x.pt"])
def test_what_is_no_file_is_told_in_a_folder(
    tmp_path: Path, make: Callable[[Path], None], name: str
) -> None:
    whole = {"x.tar": tarred(samples(2, image=photo())), "x.jpg": photo(), "x.pt": b""}[name]
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / f"whole-{name}").write_bytes(whole)
    make(tmp_path / "data" / name)

    report = run(tmp_path, "cache=data" if name == "x.pt" else "data")

    assert list(broken(report)) == [f"data/{name}"]


@needs_posix
def test_links_that_lead_up_and_to_a_whole_system_are_not_followed_for_ever(tmp_path: Path) -> None:
    (tmp_path / "cache" / "below").mkdir(parents=True)
    (tmp_path / "cache" / "a.pt").write_bytes(b"")
    (tmp_path / "cache" / "below" / "up").symlink_to("..")
    (tmp_path / "cache" / "all").symlink_to("/")
    for number in range(20):
        (tmp_path / "cache" / f"here-{number}").symlink_to(".")

    report = run(tmp_path, "cache=cache")

    assert [one.at.file for one in report.findings] == ["cache/a.pt"]
    assert broken(report) == {}


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[Path]:
    """A folder with 2,100 folders in it, one in the other, deeper than any path can be written.

    What made it takes it away: pytest would try to by recursion.
    """
    place = os.open(tmp_path, os.O_RDONLY)
    for _ in range(2_100):
        os.mkdir("d", dir_fd=place)
        below = os.open("d", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = below
    os.close(os.open("deep.jpg", os.O_CREAT, dir_fd=place))
    os.close(place)
    yield tmp_path
    subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)


@needs_posix
def test_folders_of_any_depth_are_walked(deep: Path) -> None:
    (deep / "a.jpg").write_bytes(b"")

    report = run(deep, ".")

    assert "a.jpg" in [one.at.file for one in report.findings]


@needs_posix
@pytest.mark.parametrize(
    "name", [b"a\nb", b"\x1b[31mred", b"\xff\xfe", b"\xed\xa0\x80", b"x" * 250]
)
def test_names_of_any_bytes_reach_the_page(tmp_path: Path, name: bytes) -> None:
    for suffix in (b".jpg", b".tar", b".pt"):
        try:
            Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name + suffix))).touch()
        except OSError:
            pytest.skip("this file system has no such names")

    report = run(tmp_path, ".")

    assert {one.check for one in report.findings} >= {"shard-damaged", "image-damaged"}
    assert "\x1b" not in str(report)
    assert report.to_json()


@pytest.mark.parametrize(
    "pattern",
    [
        "a{0..99999999999}.tar",
        "{a,b}" * 40,
        "{" * 5000 + "a,b" + "}" * 5000,
        "{0.." + "9" * 100_000 + "}",
        "x" * 4000 + "{000000..999999}.tar",
        "{" + "," * 100_000 + "}.tar",
        "::".join(["a{0..99}.tar"] * 2000),
        "{a,b}{" + "0" * 5000 + "1..3}",
    ],
    ids=["huge", "product", "nested", "digits", "long", "commas", "colons", "padded"],
)
def test_a_pattern_of_more_than_can_be_looked_at_is_refused_before_it_is_expanded(
    pattern: str,
) -> None:
    with soon(), pytest.raises(braces.TooManyError):
        braces.expand(pattern)


@pytest.mark.parametrize(
    ("pattern", "first", "count"),
    [
        ("{000..009}{a..z}.tar", "000a.tar", 260),
        ("{a,{b,{c,{d,{e,f}}}}}", "a", 6),
        ("{0..9..0}", "0", 10),
        ("{000000..999999}", "000000", 10**6),
        ("{a,b", "{a,b", 1),
    ],
)
def test_patterns_that_people_write_are_expanded(pattern: str, first: str, count: int) -> None:
    names = list(braces.expand(pattern))

    assert (names[0], len(names)) == (first, count)
