"""Whatever the user's code does to its process is told by name, and leaves nothing running."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterable
from pathlib import Path

import psutil
import pytest

import preflight
from preflight.findings.report import Report
from tests.children import HEED_INTERRUPTS, readers
from tests.conftest import ROOT, START
from tests.warming import copies

pytestmark = [
    pytest.mark.skipif(
        not hasattr(os, "killpg"), reason="sessions are counted, which Windows does not have"
    ),
    pytest.mark.usefixtures("at_hand"),
]


def look(folder: Path, source: str, *, timeout: float = 60.0) -> Report:
    """Look at `train:make`, of this source, and hold that nothing of it is left running."""
    (folder / "train.py").write_text(source, encoding="utf-8")
    return looked(folder, "loader=train:make", timeout=timeout)


def looked(folder: Path, *words: str, timeout: float = 60.0) -> Report:
    mark = f"mark-{folder.name}-{time.monotonic_ns()}"
    os.environ["PREFLIGHT_TEST_MARK"] = mark
    try:
        report = preflight.run(*words, folder=str(folder), timeout=timeout)
    finally:
        del os.environ["PREFLIGHT_TEST_MARK"]
    assert marked(mark) == []
    return report


def marked(mark: str) -> list[str]:
    """All living processes that have this mark in their environment, after a moment."""
    for _ in range(100):
        found = [text for pid in psutil.pids() if (text := living(pid, mark)) is not None]
        if not found:
            return []
        time.sleep(0.05)
    return found


def living(pid: int, mark: str) -> str | None:
    """The command of a process with this mark; None of any other, of ours, and of dead ones."""
    try:
        process = psutil.Process(pid)
        if process.environ().get("PREFLIGHT_TEST_MARK") != mark or pid == os.getpid():
            return None
        return " ".join(process.cmdline())[:200]
    except psutil.Error:
        return None


def broken(report: Report) -> list[str]:
    return sorted({one.error for outcome in report.checks for one in outcome.broken})


LOADER = "from torch.utils.data import DataLoader\n"


PLACES = ("while imported", "while called")
DEATHS = {
    "SIGKILL": ("os.kill(os.getpid(), signal.SIGKILL)", "was killed by SIGKILL"),
    "SIGSEGV": ("os.kill(os.getpid(), signal.SIGSEGV)", "was killed by SIGSEGV"),
    "abort": ("os.abort()", "was killed by SIGABRT"),
    "a silent exit": ("os._exit(0)", "ended by itself with exit status 0"),
    "an exit with a status": ("os._exit(7)", "ended by itself with exit status 7"),
}


def of_each(folder: Path, leaving: Iterable[str]) -> Report:
    """Look at modules `a_0`, `a_1`, …: of each way to leave, while imported and while called."""
    words = []
    for number, (body, place) in enumerate(itertools.product(leaving, PLACES)):
        at_import = body if place == "while imported" else "pass"
        in_call = body if place == "while called" else "return None"
        source = f"import os, signal, sys\n{at_import}\ndef make():\n    {in_call}\n"
        (folder / f"a_{number}.py").write_text(source, encoding="utf-8")
        words.append(f"loader=a_{number}:make")
    with copies():
        return looked(folder, *words)


@pytest.fixture(scope="module")
def dead(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return of_each(tmp_path_factory.mktemp("dead"), [body for body, _ in DEATHS.values()])


@pytest.mark.parametrize("death", DEATHS)
@pytest.mark.parametrize("place", PLACES)
def test_a_death_is_told_by_name(dead: Report, death: str, place: str) -> None:
    """It is no verdict about the job: CANNOT JUDGE."""
    module = f"a_{2 * [*DEATHS].index(death) + PLACES.index(place)}"

    told = [one for check in dead.checks for one in check.broken]
    (error,) = {one.error for one in told if one.at.name == f"{module}:make"}

    assert (dead.verdict, dead.findings) == ("cannot-judge", ())
    assert DEATHS[death][1] in error
    assert (f"import {module}" if place == "while imported" else "call make") in error


CRASHING = (
    LOADER
    + """
import ctypes, os, threading
class Data(list):
    def __reduce__(self):
        if os.getpid() == MAIN:
            ctypes.string_at(0)
        return (Data, ())
MAIN = os.getpid()
def make():
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    return DataLoader(Data(range(4)), num_workers=1)
def fork():
    if os.fork() == 0: ctypes.string_at(0)
    os.wait()
    os._exit(3)
def make_quietly():
    if os.fork() == 0: ctypes.string_at(0)
    os.wait()
    return DataLoader(range(4))
"""
)


def test_a_crash_names_the_users_line(tmp_path: Path) -> None:
    """Also one in what pickle calls while the loader is looked at: no bug of ours."""
    (error,) = broken(look(tmp_path, CRASHING))

    assert "was killed by SIGSEGV, at this step: " in error
    assert error.endswith("; it was at train.py:7 in __reduce__")
    assert "bug" not in error


def test_a_crash_of_a_fork_is_not_taken_for_that_of_the_process(tmp_path: Path) -> None:
    (error,) = broken(look(tmp_path, CRASHING.replace("def fork", "def make")))

    assert error.endswith("ended by itself with exit status 3, at this step: call make")


def test_a_crash_of_a_fork_that_is_passed_over_is_none(tmp_path: Path) -> None:
    source = CRASHING.replace("def make()", "def other()").replace("make_quietly", "make")

    assert look(tmp_path, source).verdict == "go"


@pytest.mark.parametrize(
    "body",
    [
        "while True: pass",
        "import time; time.sleep(1000)",
        "os.kill(os.getpid(), signal.SIGSTOP)",
    ],
    ids=["an endless loop", "a long sleep", "a process that stops itself"],
)
def test_silence_is_a_hang(tmp_path: Path, body: str) -> None:
    """The line is named at which it hangs, unless it was stopped and could not say it."""
    report = look(tmp_path, f"import os, signal\ndef make():\n    {body}\n", timeout=5)

    assert report.verdict == "cannot-judge"
    assert "said nothing for 5 s, at this step: call make" in broken(report)[0]
    assert broken(report)[0].endswith("; it was at train.py:3 in make") == ("STOP" not in body)


@pytest.mark.slow
def test_what_dies_while_it_writes_where_it_hangs_has_hung(tmp_path: Path) -> None:
    """Its stack is read while it is at work, which may end it a second before its time is over."""
    body = "time.sleep(9.5)\n    os.kill(os.getpid(), signal.SIGSEGV)"
    # A crash of the thread that reads the stack has no line of Python's own.
    source = f"import faulthandler, os, signal, time\ndef make():\n    {body}\n"
    report = look(tmp_path, source + "faulthandler.disable()\n", timeout=10)

    assert "said nothing for 10 s, at this step: call make" in broken(report)[0]
    assert broken(report)[0].endswith("; it was at train.py:3 in make")


def test_what_it_leaves_running_is_ended(tmp_path: Path) -> None:
    """Processes of its own, one of them in a group of its own, forked ones that hold the pipe."""
    source = (
        LOADER
        + "import os, subprocess, sys, time\n"
        + "def make():\n"
        + "    command = [sys.executable, '-c', 'import time; time.sleep(900)']\n"
        + "    subprocess.Popen(command)\n"
        + "    subprocess.Popen(command, preexec_fn=lambda: os.setpgid(0, 0))\n"
        + "    if os.fork() == 0: time.sleep(900)\n"
        + "    return DataLoader(range(8))\n"
    )

    report = look(tmp_path, source)

    assert report.verdict == "go"
    assert broken(report) == []


@pytest.mark.parametrize(
    "leave",
    [
        "subprocess.Popen(['sleep', '900'], start_new_session=True)",
        "os.fork() or (os.setsid(), os.fork() and os._exit(0), time.sleep(900))",
    ],
    ids=["a process in a session of its own", "a daemon"],
)
def test_what_leaves_the_session_is_ended_too(tmp_path: Path, leave: str) -> None:
    """It keeps the environment that marks it."""
    source = f"{LOADER}import os, subprocess, time\ndef make():\n    {leave}\n"

    assert look(tmp_path, source + "    return DataLoader(range(8))\n").verdict == "go"


@pytest.mark.parametrize(
    "body",
    [
        (
            "for fd in range(3, 64):\n        try: os.write(fd, b'{\"done\": true}\\n')\n"
            "        except OSError: pass\n    os._exit(0)"
        ),
        "os.fork()\n    os._exit(0)",
        "os.closerange(0, 256)",
        (
            "for fd in range(3, 64):\n        try: os.write(fd, os.urandom(100_000))\n"
            "        except OSError: pass\n    os._exit(0)"
        ),
    ],
    ids=["a forged last line", "a fork", "all descriptors closed", "noise on every descriptor"],
)
def test_nobody_else_can_say_that_it_is_done(tmp_path: Path, body: str) -> None:
    """Lines without our mark are no answers."""
    report = look(tmp_path, f"import os\ndef make():\n    {body}\n", timeout=20)

    assert report.verdict == "cannot-judge"
    assert len(broken(report)) == 1


def test_a_copy_of_our_process_does_not_answer_for_it(tmp_path: Path) -> None:
    """The user's factory forks, and both go on; the second word's death is not lost."""
    (tmp_path / "train.py").write_text(
        LOADER
        + "import os\n"
        + "def first():\n    os.fork()\n    return DataLoader([1])\n"
        + "def second():\n    os._exit(3)\n"
    )

    report = preflight.run("loader=train:first", "loader=train:second", folder=str(tmp_path))

    assert report.verdict == "cannot-judge"
    assert any("exit status 3" in error for error in broken(report))


@pytest.mark.parametrize(
    ("script", "patience", "said"),
    [
        ("exec yes", 1, "said nothing for 1 s"),
        ("echo nonsense; exit 0", 10, "ended by itself with exit status 0"),
        ('printf \'{"unfit": "3.8"}\\n\'', 10, "is Python 3.8; 3.10 or newer is needed"),
    ],
    ids=["noise without end", "nonsense", "an interpreter that is too old"],
)
def test_an_interpreter_that_is_none_is_told(
    tmp_path: Path, script: str, patience: float, said: str
) -> None:
    """In bounded memory, whatever it says."""
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    (tmp_path / "train.py").write_text("make = 1\n")

    report = preflight.run(
        "train:make", folder=str(tmp_path), python=str(python), timeout=patience, elsewhere=True
    )

    assert report.verdict == "cannot-judge"
    assert any(said in error for error in broken(report))


def test_threads_do_not_keep_it(tmp_path: Path) -> None:
    source = (
        LOADER
        + "import threading, time\n"
        + "threading.Thread(target=time.sleep, args=(900,)).start()\n"
        + "def make():\n    return DataLoader(range(8))\n"
    )

    assert look(tmp_path, source).verdict == "go"


STATUSES = {"nothing": "", "zero": "0", "a number": "3"}


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Report:
    ways = [f"sys.exit({one})" for one in STATUSES.values()]
    return of_each(tmp_path_factory.mktemp("left"), ways)


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("place", PLACES)
def test_a_call_of_exit_is_the_users(left: Report, status: str, place: str) -> None:
    """`sys.exit` in a factory stops the job as well: a finding, with the line."""
    file = f"a_{2 * [*STATUSES].index(status) + PLACES.index(place)}.py"

    assert left.verdict == "no-go"
    (finding,) = (one for one in left.findings if one.at.file == file)
    assert finding.check == "target-unbuildable"
    assert finding.at.line == (2 if place == "while imported" else 4)
    assert "SystemExit" in finding.message


def test_ten_megabytes_of_prints_reach_only_stderr(tmp_path: Path) -> None:
    """From Python, from C and from a process of its own; the report stays whole."""
    (tmp_path / "train.py").write_text(
        LOADER
        + "import os, sys\n"
        + "print('x' * 10_000_000)\n"
        + "os.write(1, b'from C')\n"
        + "os.system('echo from a shell')\n"
        + "sys.__stdout__.write('and {\"done\": true}\\n')\n"
        + "def make():\n    assert sys.stdin.read() == ''\n    return DataLoader(range(8))\n",
        encoding="utf-8",
    )

    out, err = begin(tmp_path, "loader=train:make", "--format", "json").communicate(timeout=120)

    assert json.loads(out)["verdict"] == "go"
    assert len(err) > 10_000_000
    assert b"from C" in err
    assert b"from a shell" in err


def begin(folder: Path, *words: str, **env: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", HEED_INTERRUPTS + START, "run", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_when_preflight_is_ended_nothing_of_it_is_left(tmp_path: Path, end: signal.Signals) -> None:
    """The life line ends the user's code, its workers and its processes."""
    (tmp_path / "train.py").write_text(
        "import subprocess, sys, time, pathlib\n"
        "def make():\n"
        "    subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(900)'])\n"
        "    pathlib.Path('begun').touch()\n"
        "    time.sleep(900)\n",
        encoding="utf-8",
    )
    mark = f"mark-{tmp_path.name}-{time.monotonic_ns()}"
    process = begin(tmp_path, "loader=train:make", "--format", "json", PREFLIGHT_TEST_MARK=mark)
    while not (tmp_path / "begun").exists():
        assert process.poll() is None
        time.sleep(0.02)

    process.send_signal(end)
    out, _ = process.communicate(timeout=60)

    assert marked(mark) == []
    if end is signal.SIGINT:
        assert process.returncode == 130
        assert json.loads(out)["complete"] is False


def test_a_closed_stdout_changes_no_exit_code(tmp_path: Path) -> None:
    """`preflight run | head -1` is no crash."""
    (tmp_path / "a.safetensors").write_bytes(b"")
    process = begin(tmp_path, "a.safetensors", "-v")
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    said = process.stderr.read()
    process.stderr.close()

    assert process.wait(timeout=60) == 1
    assert said == b""


def test_a_reader_that_dies_loses_only_its_file(tmp_path: Path) -> None:
    """What was answered is kept, the file is named, and a new process goes on with the rest."""
    for number in range(60):
        with zipfile.ZipFile(tmp_path / f"{number:02}.npz", "w") as archive:
            archive.writestr("x.npy", NPY + bytes(4_000_000))
    killed: list[int] = []

    def kill_the_reader(news: object) -> None:
        if not killed and getattr(news, "done", 0):
            (reader,) = readers()
            reader.kill()
            killed.append(reader.pid)

    report = preflight.run(
        str(tmp_path), folder=str(tmp_path), jobs=1, elsewhere=True, watch=kill_the_reader
    )

    outcome = next(one for one in report.checks if one.id == "cache-damaged")
    (lost,) = outcome.broken
    assert outcome.looked_at == 59
    assert "was killed by SIGKILL" in lost.error
    assert str(lost.at).endswith(".npz")
    assert report.verdict == "cannot-judge"


# A .npy of 4,000,000 bytes (numpy.lib.format, version 1.0), whose data follow.
_HEADER = b"{'descr': '|u1', 'fortran_order': False, 'shape': (4000000,), }"
NPY = b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + _HEADER.ljust(117) + b"\n"
