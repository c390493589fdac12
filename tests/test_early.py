"""A reader of files is started before its question is there, and ends with whoever asked it."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from preflight import early
from preflight.processes import Lines, Question, start

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def nothing_waits() -> Iterator[None]:
    """Leave no process behind, whatever happens."""
    early.end()
    yield
    early.end()


def python(code: str) -> subprocess.Popen[bytes]:
    """Start an interpreter that finds this package."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    words = [sys.executable, "-c", code]
    return subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, env=env)


@pytest.mark.parametrize("words", [[], ["checks"], ["run", "--help"], ["report", "run"]])
def test_a_command_that_reads_no_files_starts_none(words: list[str]) -> None:
    early.begin(words)

    assert early.take() is None


def test_the_one_that_waits_is_asked_first(tmp_path: Path) -> None:
    """It answers as one that is started for its question does, with the question's own token."""
    early.begin(["run", "a.tar"])
    waiting = early._waiting[0].popen
    question = Question(
        items=({"type": "Shard", "path": "a.tar"},),
        options={"root": str(tmp_path), "depth": "index"},
    )
    lines: Lines = queue.Queue()
    started = start(question, lines)
    try:
        said = b""
        while b'"done": true' not in said:
            said += lines.get(timeout=60)[1]
    finally:
        started.kill()
        started.abandon()

    assert started.popen is waiting
    assert said.startswith(f'{question.token} {{"open": 0}}\n'.encode())
    assert b"No such file or directory (FileNotFoundError)" in said


def test_only_readers_of_files_are_asked_so() -> None:
    """The user's code gets a process of its own, with its packages and in its folder."""
    early.begin(["run", "train:make"])
    waiting = early._waiting[0].popen
    started = start(Question(items=(), options={}, starts_others=True), queue.Queue())
    started.kill()
    started.abandon()

    assert started.popen is not waiting


def test_one_that_was_started_under_other_settings_is_not_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    early.begin(["run", "a.tar"])
    waiting = early._waiting[0].popen
    monkeypatch.setenv("PREFLIGHT_TEST_SETTING", "other")

    assert early.take() is None
    assert waiting.returncode is not None


@pytest.mark.parametrize(
    ("size", "more", "count"),
    [(1_000, [], 1), (200_000_000, [], 2), (200_000_000, ["--depth", "index"], 1)],
    ids=["little to read", "much to read", "few bytes of much"],
)
def test_two_wait_where_there_is_much_to_read(
    tmp_path: Path, size: int, more: list[str], count: int
) -> None:
    (tmp_path / "a.tar").touch()
    os.truncate(tmp_path / "a.tar", size)
    early.begin(["run", str(tmp_path / "a.tar"), *more])

    assert len(early._waiting) == min(count, os.cpu_count() or 1)


@pytest.mark.parametrize(
    ("number", "name", "more", "count"),
    [
        (1_100, "{}.pt", [], 2),
        (1_100, "{}.jpg", [], 1),
        (20, "{}.pt", [], 1),
        (1_100, "{}.pt", [".preflight/ledger.sqlite"], 0),
        (1_100, "{}.jpg", [".preflight/ledger.sqlite"], 1),
        (20, "{}.pt", [".preflight/ledger.sqlite"], 0),
    ],
    ids=["many", "others", "few", "remembered", "others that are remembered", "few remembered"],
)
def test_two_wait_where_there_are_many_cached_files(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    name: str,
    more: list[str],
    count: int,
) -> None:
    """Whether the folder is named alone, or said to be a cache."""
    for path in [*(f"cache/{name.format(one)}" for one in range(number)), *more]:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).touch()
    monkeypatch.chdir(tmp_path)
    for words in (["cache"], ["cache=cache"], ["cache", "--no-ledger"]):
        early.begin(["run", *words])

        with_none = 2 if number > 1_000 and name.endswith(".pt") else 1
        expected = with_none if "--no-ledger" in words else count
        assert len(early._waiting) == min(expected, os.cpu_count() or 1)
        early.end()


def test_one_waits_beside_what_is_remembered_where_something_else_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script is read in every run; and where nothing is named, one may be found."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "1.pt").touch()
    (tmp_path / "train.py").touch()
    (tmp_path / ".preflight").mkdir()
    (tmp_path / ".preflight" / "ledger.sqlite").touch()
    monkeypatch.chdir(tmp_path)
    for words in (
        ["cache", "train.py"],
        ["cache", "source=train.py"],
        ["--jobs", "2", "cache"],
        [],
    ):
        early.begin(["run", *words])

        assert len(early._waiting) == 1
        early.end()


def test_one_that_has_died_is_not_asked() -> None:
    early.begin(["run", "a.tar"])
    waiting = early._waiting[0].popen
    waiting.kill()
    waiting.wait()

    assert early.take() is None


def test_one_that_is_never_asked_ends_with_us() -> None:
    """Also where nothing is said to it any more: its standard input ends."""
    early.begin(["run", "a.tar"])
    waiting = early._waiting.pop().popen
    assert waiting.stdin is not None
    assert waiting.stdout is not None
    with waiting.stdin, waiting.stdout:
        waiting.stdin.close()

        assert waiting.wait(timeout=60) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process of its own watches")
@pytest.mark.parametrize(
    "work",
    ["while True: pass", "import time; time.sleep(900)", "re.match('(a+)+$', 'a' * 64 + 'b')"],
    ids=["a loop", "a sleep", "a call that never comes back to Python"],
)
def test_a_reader_ends_with_its_life_line_whatever_it_does(work: str) -> None:
    code = (
        "import os, re, sys; from preflight import life_line; "
        "life_line.watch(os.dup(0), 'mark', starts_others=False); "
        "os.write(1, b'ready'); " + work.replace("while True: pass", "exec('while True: pass')")
    )
    process = python(code)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.read(5) == b"ready"
    process.stdin.close()

    assert process.wait(timeout=60) != 0
    process.stdout.close()
    assert process.stderr is not None
    process.stderr.close()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process of its own watches")
def test_a_life_line_that_has_ended_already_is_seen() -> None:
    process = python(
        "import os, time; from preflight import life_line; reading, writing = os.pipe(); "
        "os.close(writing); life_line.watch(reading, 'mark', starts_others=False); time.sleep(900)"
    )
    process.communicate(timeout=60)
