"""Cached files are asked about many at a time, and each is answered for by itself."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from array import array
from base64 import b64encode
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

import preflight
from preflight.cached_files.facts import CacheFacts, CachePiece
from preflight.cached_files.read import look as look_at_files
from preflight.caches.facts import CacheFolderFacts
from preflight.caches.gather import Caches
from preflight.caches.kind import CACHE
from preflight.caches.table import CacheTable
from preflight.findings import registry
from preflight.findings.finding import Finding
from preflight.findings.looks import Left, Looked
from preflight.findings.report import Report
from preflight.kinds.asked import Asked
from preflight.kinds.question import Question
from preflight.settings.job import Job
from preflight.targets.targets import CacheFolder
from preflight.values.stamps import digest_of, stamps_of
from preflight.values.wire import to_brief
from tests import files
from tests.archives import slow
from tests.asking import of
from tests.children import opened_by
from tests.files import WHOLE
from tests.questions import run_of

pytestmark = pytest.mark.usefixtures("at_hand")


def write(folder: Path, names: list[str], content: bytes = WHOLE) -> None:
    for name in names:
        files.write(folder / name, content)


def look(folder: Path, *words: str, **flags: object) -> Report:
    return preflight.run(*words, folder=str(folder), elsewhere=True, **flags)


NAMES = [f"{number % 3}/{number:04}.safetensors" for number in range(700)]


def test_every_file_counts_once_however_many_are_asked_about_together(tmp_path: Path) -> None:
    write(tmp_path / "cache", NAMES)
    write(tmp_path / "cache", ["1/0001.safetensors", "2/0500.safetensors"], b"")

    for state in ("read", "remembered"):
        report = look(tmp_path, "cache")

        outcome = of(report, "cache-damaged")
        assert outcome.looked_at == (700 if state == "read" else 0)
        assert outcome.remembered == (0 if state == "read" else 700)
        assert [one.at.file for one in report.findings] == [
            "cache/1/0001.safetensors",
            "cache/2/0500.safetensors",
        ]
        assert [one.text for one in report.targets] == ["700 files"]


def test_only_files_that_changed_are_read_again(tmp_path: Path) -> None:
    """Also where a file was added, one was taken out, and one could not be read before."""
    write(tmp_path / "cache", NAMES)
    look(tmp_path, "cache")
    write(tmp_path / "cache", ["0/0300.safetensors"], b"")
    write(tmp_path / "cache", ["0/00000.safetensors"])
    (tmp_path / "cache" / NAMES[5]).unlink()

    report = look(tmp_path, "cache")

    outcome = of(report, "cache-damaged")
    assert (outcome.looked_at, outcome.remembered) == (2, 698)
    assert [one.at.file for one in report.findings] == ["cache/0/0300.safetensors"]
    again = of(look(tmp_path, "cache"), "cache-damaged")
    assert (again.looked_at, again.remembered) == (0, 700)


@pytest.mark.parametrize("state", ["read", "remembered"])
def test_a_check_is_asked_of_each_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    write(tmp_path / "cache", NAMES)
    checks, bad = registry.load()
    asked: list[str] = []

    def ask(facts: CacheFacts, _: Job) -> Iterator[Finding]:
        asked.append(facts.file)
        yield from ()

    other = replace(checks["cache-damaged"], id="plugin/other", ask=ask)
    monkeypatch.setattr(registry, "load", lambda: ({**checks, other.id: other}, bad))

    report = look(tmp_path, "cache")
    if state == "remembered":
        asked.clear()
        report = look(tmp_path, "cache")

    assert sorted(asked) == sorted(f"cache/{name}" for name in NAMES)
    one, same = of(report, "plugin/other"), of(report, "cache-damaged")
    told = (700, 0) if state == "read" else (0, 700)
    assert (one.looked_at, one.remembered) == (same.looked_at, same.remembered) == told


def test_files_that_nobody_came_to_are_counted(tmp_path: Path) -> None:
    write(tmp_path / "cache", NAMES)

    report = look(tmp_path, "cache", budget=1e-6, jobs=1, no_ledger=True)

    outcome = of(report, "cache-damaged")
    (skip,) = outcome.skipped
    assert skip.reason == "the budget of 1e-06 s was used up"
    assert skip.count + outcome.looked_at == 700
    assert any("cache files were not looked at: the budget" in one for one in report.reasons)


@pytest.mark.skipif(sys.platform != "linux", reason="signals")
@pytest.mark.parametrize(
    ("sent", "said"),
    [(signal.SIGKILL, "was killed by SIGKILL"), (signal.SIGSTOP, "said nothing for 2 s")],
    ids=["dies", "hangs"],
)
def test_whatever_one_file_does_to_its_reader_the_others_are_read(
    tmp_path: Path, sent: signal.Signals, said: str
) -> None:
    """Those before it and those behind it, of which the process was asked with it."""
    write(tmp_path / "cache", [f"{number:03}.safetensors" for number in range(300)])
    write(tmp_path / "cache", ["020.safetensors", "080.safetensors"], b"")
    path = slow(tmp_path / "cache" / "050.npz")
    before = {one.pid for one in psutil.Process().children()}

    def send() -> None:
        while True:
            for one in psutil.Process().children():
                if one.pid not in before and path in opened_by(one):
                    one.send_signal(sent)
                    return
            time.sleep(0.005)

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    report = look(tmp_path, "cache", timeout=2, jobs=1)
    sender.join()

    outcome = of(report, "cache-damaged")
    (lost,) = outcome.broken
    assert str(lost.at) == "cache/050.npz"
    assert said in lost.error
    assert outcome.looked_at == 300
    assert [one.at.file for one in report.findings if one.check == "cache-damaged"] == [
        "cache/020.safetensors",
        "cache/080.safetensors",
    ]
    assert report.verdict == "no-go"


# --- what a reader says of them


def read(folder: Path, names: list[str]) -> list[CachePiece]:
    """Read them as a process does."""
    pieces: list[CachePiece] = []
    asked = Asked(
        wire={"folder": str(folder), "names": names},
        options={"root": str(folder), "depth": "bytes"},
        alive=lambda: None,
        step=nullcontext,
        opening=lambda _: None,
        some=lambda piece, _: pieces.append(piece),
        memory=1 << 32,
    )
    pieces += look_at_files(asked)
    return pieces


def test_what_is_usual_is_a_letter_and_the_rest_is_told(tmp_path: Path) -> None:
    names = ["a.safetensors", "b.safetensors", "gone.pt", "c.safetensors"]
    write(tmp_path, ["a.safetensors", "c.safetensors"])
    write(tmp_path, ["b.safetensors"], b"")

    pieces = read(tmp_path, names)

    assert "".join(one.seen for one in pieces) == "e?!e"
    assert [facts.file for one in pieces for facts in one.odd] == ["b.safetensors"]
    assert [error for one in pieces for error in one.broken] == [
        "No such file or directory (FileNotFoundError)"
    ]


def test_a_file_that_may_change_unseen_is_not_remembered(tmp_path: Path) -> None:
    """It is too young for its time stamp to tell the next change."""
    write(tmp_path, ["old.safetensors", "young.safetensors"])
    os.utime(tmp_path / "young.safetensors")
    names = ["old.safetensors", "young.safetensors"]
    table = CacheTable(names)
    begin = 0
    for piece in read(tmp_path, names):
        table.put(range(begin, begin + len(piece.seen)), piece)
        begin += len(piece.seen)
    again = CacheTable(names)

    again.take(table.to_text(), stamps_of(str(tmp_path), names), same=False)

    assert digest_of(names, table.stamps) is None
    assert list(again.unseen()) == [1]


# --- what is kept of them


@pytest.mark.skipif(sys.platform == "win32", reason="such names are for POSIX")
def test_a_table_is_read_back_whatever_its_names_are(tmp_path: Path) -> None:
    names = sorted(["a.pt", "a/b.pt", "new\nline.pt", os.fsdecode(b"\xff.pt"), 'quote".pt'])
    write(tmp_path, names)
    table = CacheTable(names)
    facts = CacheFacts(file="x", size=3, format="torch zip", globals=("a.b",))
    piece = CachePiece(seen="A?A.A", stamps="", odd=(facts,))
    table.put(range(5), piece)
    table.stamps = stamps_of(str(tmp_path), names)
    table.odd[1] = facts

    for same in (True, False):
        again = CacheTable(names)
        again.take(table.to_text(), stamps_of(str(tmp_path), names), same=same)

        assert again.seen == table.seen
        assert again.stamps[:12] == table.stamps[:12]
        assert again.odd[1].globals == ("a.b",)


def asked_about(folder: Path) -> tuple[Caches, Question]:
    target = CacheFolder(path=str(folder))
    gather = Caches(CACHE, run_of(folder.parent, target))
    assert list(gather.add(target)) == []
    (question,) = gather.questions()
    return gather, question


def told(piece: CachePiece) -> tuple[dict[str, object]]:
    return ({"type": "CachePiece", **to_brief(piece)},)


def test_whole_files_are_told_one_by_one(tmp_path: Path) -> None:
    write(tmp_path / "cache", ["a.safetensors", "b.safetensors", "c.safetensors"])
    gather, question = asked_about(tmp_path / "cache")
    piece = CachePiece(seen="eEe", stamps=b64encode(array("q", [1, 7, 7, 7] * 3)).decode())

    looks = [one for one in gather.heard(question, told(piece)) if isinstance(one, Looked)]

    assert [one.facts for one in looks] == [
        CacheFacts(file="cache/a.safetensors", size=1, format="safetensors"),
        CacheFacts(file="cache/b.safetensors", size=1, format="safetensors", verified=True),
        CacheFacts(file="cache/c.safetensors", size=1, format="safetensors"),
    ]


def test_a_file_that_changes_while_it_is_looked_at_is_judged_by_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that looked damaged and was written since, and one that is no longer there."""
    monkeypatch.setattr("preflight.cached_files.read._SOON", 60.0)  # one piece, on a busy machine
    folder = tmp_path / "cache"
    write(folder, ["cut.safetensors", "gone.safetensors", "grown.safetensors"], b"")
    gather, question = asked_about(folder)
    (folder / "gone.safetensors").unlink()
    (piece,) = read(folder, list(question.wire["names"]))
    write(folder, ["grown.safetensors"])

    looks = list(gather.heard(question, told(piece)))

    assert [one.reason for one in looks if isinstance(one, Left)] == [
        "gone before it was looked at",
        "written while it was looked at",
    ]
    assert [one.facts for one in looks if isinstance(one, Looked)] == list(piece.odd[:1])
    (folder_facts,) = (one.facts for one in gather.finish() if isinstance(one, Looked))
    assert isinstance(folder_facts, CacheFolderFacts)
    assert folder_facts.entries == 1
    assert [len(one) for one in gather.questions()] == [2]
