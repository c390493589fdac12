"""Whatever a process says is heard, however much it says while nobody listens."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from preflight.caches.kind import CACHE
from preflight.images.kind import IMAGE
from preflight.processes import ask as asking
from preflight.processes import results
from preflight.processes.start import Lines, Started
from preflight.settings.job import Job
from preflight.settings.to_child import told_of
from tests.archives import slow
from tests.children import slow_down
from tests.questions import questions


def test_no_line_is_lost_where_answers_come_faster_than_they_are_taken(tmp_path: Path) -> None:
    """Who asks may be busy with an answer while thousands of others wait."""
    batch = questions(IMAGE, ({"path": f"{tmp_path}/{n}.jpg"} for n in range(3_000)), tmp_path)
    told: list[results.Result] = []

    for result in asking.ask([batch], how_in(tmp_path)):
        if not told:
            time.sleep(1)
        told.append(result)

    errors = {one.error for one in told if isinstance(one, results.Fault)}
    assert errors == {"No such file or directory (FileNotFoundError)"}
    assert len(told) == len(batch)


def test_what_is_not_heard_at_once_is_heard_the_next_time() -> None:
    """After many lines, others have their turn; the next line stays where it is."""
    lines: Lines = queue.Queue()
    for number in range(asking._AT_ONCE + 2):
        lines.put((None, b"%d" % number))  # type: ignore[arg-type]

    asking._hear([], lines)

    assert lines.get_nowait()[1] == b"%d" % asking._AT_ONCE


def how_in(folder: Path) -> asking.Asking:
    options = told_of(Job(root=str(folder)))
    return asking.Asking(options=options, python=None, jobs=1, timeout=60)


def name_of(result: results.Answer | results.Fault) -> str:
    (name,) = result.question.wire["names"]
    return str(name)


def cached(path: Path) -> str:
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }"
    path.write_bytes(b"\x93NUMPY\x01\x00\x76\x00" + header.ljust(118).encode() + bytes(4))
    return str(path)


@pytest.mark.skipif(sys.platform != "linux", reason="signals")
def test_a_process_that_dies_is_put_down_to_the_file_that_it_had_open(tmp_path: Path) -> None:
    """However many it has just answered for; all others are looked at, each once.

    Meanwhile it has told how far it came in that file, which counts no more when it is dead.
    """
    paths = [cached(tmp_path / f"{number:03}.npy") for number in range(300)]
    endless = slow(tmp_path / "endless.npz")
    paths.insert(200, endless)
    folder, names = str(tmp_path), map(os.path.basename, paths)
    wires = ({"folder": folder, "names": [name]} for name in names)
    batch = questions(CACHE, wires, tmp_path, seconds=1.0)

    def kill() -> None:
        slow_down(endless, lambda: any(isinstance(one, results.UnderWay) for one in told)).kill()

    told: list[results.Result] = []
    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    for result in asking.ask([batch], how_in(tmp_path)):
        told.append(result)  # noqa: PERF402  one by one, for who reads it meanwhile
    killer.join()

    faults = [one for one in told if isinstance(one, results.Fault)]
    answers = [one for one in told if isinstance(one, results.Answer)]
    assert [name_of(one) for one in faults] == [os.path.basename(endless)]
    assert "was killed by SIGKILL" in faults[0].error
    others = [os.path.basename(path) for path in paths if path != endless]
    assert [name_of(one) for one in answers] == others
    *came_to, at_last = (one for one in told if isinstance(one, results.UnderWay))
    assert all(0 < one.bytes < os.path.getsize(endless) for one in came_to)
    assert all(0 < one.seconds < 1 for one in came_to)
    assert at_last == results.UnderWay()


def test_a_line_that_is_longer_than_what_is_read_at_a_time_comes_whole() -> None:
    """And the ones around it, in the pieces that a pipe makes of them."""
    long = b"x" * 1_000_000
    code = (
        f"import os; [os.write(1, one + b'\\n') for one in (b'a', {len(long)} * b'x', b'', b'b')]"
    )
    popen = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    lines: Lines = queue.Queue()
    started = Started(
        questions=(), options={}, python=None, token="token", popen=popen, lines=lines
    )
    started.reader.join(30)
    started.kill()
    said = b""
    while not lines.empty():
        speaker, several = lines.get_nowait()
        assert speaker is started
        assert several.endswith(b"\n")
        said += several

    assert said.split(b"\n") == [b"a", long, b"", b"b", b""]
