"""Whoever watches a run is told what it does, also while the user's code takes its time."""

from __future__ import annotations

import functools
import sys
import tarfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import preflight
from preflight.command.progress_bar import _Last, progress_said
from preflight.host.kind import HOST
from preflight.images.kind import IMAGE
from preflight.processes.results import UnderWay
from preflight.session.progress import Account, Progress
from tests.archives import slow
from tests.children import slow_down
from tests.conftest import on_a_terminal
from tests.questions import questions

TRAIN = """
from torch.utils.data import DataLoader

def make():
    return DataLoader([1, 2], num_workers=2)
"""


def said(share: float, *, doing: str = "", runs_code: bool = False, since: float = 0) -> str:
    news = Progress(
        done=7, total=9, name="x", bytes=0, share=share, doing=doing, runs_code=runs_code
    )
    return progress_said(news, 10, since)


def told_by(*words: str, folder: Path) -> tuple[list[Progress], preflight.Report]:
    told: list[Progress] = []

    def watch(news: object) -> None:
        told.extend([news] if isinstance(news, Progress) else [])

    report = preflight.run(*words, folder=str(folder), elsewhere=True, no_ledger=True, watch=watch)
    return told, report


Drawn = Callable[[], tuple[list[Progress], preflight.Report]]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    """Give what was told of one loader, and the report; it is looked at once for all tests."""

    @functools.cache
    def seen() -> tuple[list[Progress], preflight.Report]:
        folder = tmp_path_factory.mktemp("drawn")
        (folder / "train.py").write_text(TRAIN)
        return told_by("loader=train:make", folder=folder)

    return seen


@pytest.mark.parametrize("share", [0.999999, 1.0])
def test_no_time_is_left_only_for_so_long(share: float) -> None:
    """What is read is over; what is still at work takes a time that nobody knows."""
    assert said(share) == "7 of 9"


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_nobody_knows_how_long_the_users_code_takes(share: float) -> None:
    assert said(share, doing="imports torch", runs_code=True) == "imports torch"


def test_for_how_long_the_users_code_is_at_work_is_said_once_that_is_long() -> None:
    """What does not move looks as if it hangs."""
    assert said(1, doing="calls make", runs_code=True, since=2.9) == "calls make"
    assert said(1, doing="calls make", runs_code=True, since=41.7) == "calls make, 41 s"


def test_a_step_that_goes_on_while_others_read_began_when_it_did() -> None:
    news = Progress(done=7, total=9, name="x", bytes=0, share=1, doing="calls make", runs_code=True)
    reads = news._replace(doing="calls make; reads sources 1 of 2")
    other = news._replace(doing="looks at make")

    first = _Last.of(news, 1)
    second = _Last.of(reads, 5, first)

    assert (second.said(9), _Last.of(other, 8, second).said(9)) == (
        "calls make, 8 s; reads sources 1 of 2",
        "looks at make",
    )


def test_what_is_read_is_said_with_the_time_that_is_left() -> None:
    doing = "reads sources 812 of 2,086"

    assert said(0.5, doing=doing) == "reads sources 812 of 2,086, 0:00:10 left"
    assert said(0.5, doing=doing, since=3) == "reads sources 812 of 2,086, 0:00:07 left"


@pytest.mark.parametrize("since", [9.5, 10.0, 30.0])
def test_what_takes_longer_than_was_thought_is_said_to_be_at_work(since: float) -> None:
    """Until the next news, "0:00:01 left" stood there however long that took."""
    assert said(0.5, doing="reads shards 1 of 2", since=since) == "reads shards 1 of 2"


def test_a_name_that_a_console_would_obey_is_escaped() -> None:
    assert said(1, doing="imports \x1b[2J", runs_code=True) == "imports \\x1b[2J"


@pytest.mark.usefixtures("at_hand")
def test_each_step_of_the_users_code_is_told_when_it_begins(drawn: Drawn) -> None:
    """In the order in which they come; workers are started within a look."""
    told, _ = drawn()

    steps = [one.doing.partition(";")[0] for one in told if one.runs_code]
    workers = 1 if sys.platform == "win32" else 2
    starts = f"starts {workers} worker{'s' if workers > 1 else ''}"
    assert list(dict.fromkeys(steps)) == [
        "imports torch",
        "imports train",
        "calls make",
        "looks at make",
        starts,
        "draws batches of train:make",
        "runs train:make past its end",
    ]
    assert not told[-1].runs_code
    assert all(one.done <= one.total for one in told)


@pytest.mark.usefixtures("at_hand")
def test_seconds_of_a_step_within_another_count_once(drawn: Drawn) -> None:
    _, report = drawn()

    assert 0 <= report.steps["look at make"] < report.seconds
    assert sum(report.steps.values()) <= report.seconds


@pytest.mark.usefixtures("at_hand")
def test_sources_are_counted_as_they_are_read(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"m{number}.py").write_text("import os\n")

    told, _ = told_by("source=.", folder=tmp_path)

    reading = [one.doing for one in told if one.doing]
    assert reading[-1] == "reads sources 40 of 40"
    assert all(one.startswith("reads sources ") for one in reading)


def test_what_is_read_is_told_before_the_first_of_few_is_read(tmp_path: Path) -> None:
    """A single shard takes all of the time; nothing was told of it until it was over."""
    for name in ("a.tar", "b.tar"):
        with tarfile.open(tmp_path / name, "w") as shard:
            shard.addfile(tarfile.TarInfo("a.txt"))

    for words, first in (("a.tar",), "reads shards 0 of 1"), (("a.tar", "b.tar"), "0 of 2"):
        told, _ = told_by(*words, folder=tmp_path)
        assert told[0].doing.endswith(first)


def test_what_is_read_of_an_open_file_counts_and_is_counted_once(tmp_path: Path) -> None:
    """A single shard of a gigabyte was "0 of 1" until it was read, without a byte of it."""
    told: list[Progress] = []
    account = Account(watch=told.append, total=2, expected=4.0)  # type: ignore[arg-type]
    (question,) = questions(IMAGE, [{"path": "a.jpg"}], tmp_path, seconds=2.0, size=1000)

    account.reads(UnderWay(bytes=300, seconds=0.6))
    account.reads(UnderWay(bytes=500, seconds=1.0))
    account.reads(UnderWay())
    account.did(question)

    assert [(one.done, one.bytes, one.share) for one in told] == [
        (0, 300, 0.15),
        (0, 500, 0.25),
        (1, 1000, 0.5),
    ]
    assert progress_said(told[1], 5) == "0 of 2, 500 bytes, 100 bytes/s, 0:00:15 left"


def test_what_is_asked_beside_files_does_not_hide_what_is_read(tmp_path: Path) -> None:
    told: list[Progress] = []
    account = Account(watch=told.append, total=3)  # type: ignore[arg-type]
    images = questions(IMAGE, [{"path": "a.jpg"}, {"path": "b.jpg"}], tmp_path)
    (host,) = questions(HOST, [{"recording": None}], tmp_path)
    account.to_read = {images[0].gather: 2, host.gather: 1}

    account.begins()
    for question in (host, *images):
        account.did(question)

    assert [one.doing for one in told] == [
        *("reads images 0 of 2", "reads images 0 of 2"),
        *("reads images 1 of 2", "reads images 2 of 2"),
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="who has a file open")
def test_a_run_tells_how_far_it_is_in_its_only_file(tmp_path: Path) -> None:
    path = slow(tmp_path / "a.npz")
    told: list[Progress] = []

    def watch(news: object) -> None:
        assert isinstance(news, Progress)
        told.append(news)
        if news.bytes:
            raise InterruptedError

    threading.Thread(target=slow_down, args=(path, lambda: told[-1].bytes), daemon=True).start()
    with pytest.raises(InterruptedError):
        preflight.run("cache=a.npz", folder=str(tmp_path), no_ledger=True, watch=watch)

    assert told[-1].doing == "reads cache files 0 of 1"
    assert 0 < told[-1].bytes < Path(path).stat().st_size
    assert 0 < told[-1].share < 1


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal is made with pty")
def test_a_terminal_shows_what_the_users_code_does(tmp_path: Path) -> None:
    """Nothing is a copy, which has torch imported in no time; so fewer processes import it."""
    train = TRAIN.replace("num_workers=2", "num_workers=0")
    (tmp_path / "train.py").write_text(f"import time\ntime.sleep(0.3)\n{train}")

    _, page, shown = on_a_terminal(
        tmp_path, "run", "loader=train:make", "--elsewhere", "--no-ledger", "-q"
    )

    assert b"imports torch" in shown
    assert b"imports train" in shown
    assert b"0:00:00 left" not in shown
    assert page.startswith("GO")
