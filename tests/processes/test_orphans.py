"""What the user's code starts ends with the look, also where it leaves session and environment."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

import preflight
from preflight.processes import orphans
from tests.children import HEED_INTERRUPTS
from tests.conftest import ROOT, START, Run

pytestmark = [
    pytest.mark.waits,
    pytest.mark.usefixtures("at_hand"),
    pytest.mark.skipif(
        sys.platform != "linux" or shutil.which("setsid") is None, reason="needs Linux, and setsid"
    ),
]

LOADER = "import os, signal, subprocess, sys, time\nfrom torch.utils.data import DataLoader\n"

# A session of its own, nothing in the environment, and no parent.
ESCAPE = 'os.system("setsid env -i sleep {0} >/dev/null 2>&1 </dev/null &"); time.sleep(0.3)'


def sleepers(seconds: str) -> list[psutil.Process]:
    return [
        one
        for one in psutil.process_iter(["cmdline", "status"])
        if one.info["cmdline"] == ["sleep", seconds] and one.info["status"] != "zombie"
    ]


@pytest.fixture
def seconds() -> Iterator[str]:
    """Give a time that no other process sleeps for; whatever still does is ended."""
    number = f"900.{time.monotonic_ns()}"
    yield number
    for one in sleepers(number):
        one.kill()


def job(folder: Path, body: str) -> None:
    (folder / "train.py").write_text(f"{LOADER}def make():\n    {body}\n", encoding="utf-8")


def test_the_escape_is_one(seconds: str) -> None:
    """Without us, it outlives whoever started it: the other tests can fail."""
    subprocess.run(
        [sys.executable, "-c", f"import os, time; {ESCAPE.format(seconds)}"],
        check=True,
        start_new_session=True,
    )

    assert len(sleepers(seconds)) == 1


@pytest.mark.parametrize(
    "then",
    [
        "return DataLoader(range(8))",
        "raise ValueError",
        "os._exit(3)",
        "os.kill(os.getpid(), signal.SIGKILL)",
        "time.sleep(900)",
    ],
    ids=["it returns", "it raises", "it exits", "it is killed", "it hangs"],
)
def test_what_leaves_session_and_environment_is_ended(
    tmp_path: Path, preflight: Run, seconds: str, then: str
) -> None:
    job(tmp_path, f"{ESCAPE.format(seconds)}; open('begun', 'w').close(); {then}")
    preflight("run", "loader=train:make", "--timeout", "10")

    assert (tmp_path / "begun").exists()
    assert sleepers(seconds) == []


@pytest.mark.parametrize(
    ("then", "verdict"),
    [
        ("return DataLoader(range(8))", "go"),
        ("time.sleep(2); os.kill(os.getpid(), signal.SIGKILL)", "cannot-judge"),
    ],
    ids=["it returns", "it is killed"],
)
def test_from_python_too(tmp_path: Path, seconds: str, then: str, verdict: str) -> None:
    """Where another process of the caller's own goes on."""
    job(tmp_path, f"{ESCAPE.format(seconds)}; {then}")
    mine = subprocess.Popen(["sleep", "900"], start_new_session=True, env={})
    try:
        assert preflight.run("loader=train:make", folder=str(tmp_path)).verdict == verdict
        assert mine.poll() is None
        assert sleepers(seconds) == []
    finally:
        mine.kill()
        mine.wait()


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_it_ends_with_us(tmp_path: Path, seconds: str, end: signal.Signals) -> None:
    job(tmp_path, f"{ESCAPE.format(seconds)}; open('begun', 'w').close(); time.sleep(900)")
    process = subprocess.Popen(
        [sys.executable, "-c", HEED_INTERRUPTS + START, "run", "loader=train:make"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while not (tmp_path / "begun").exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(end)
    process.communicate(timeout=60)

    until = time.monotonic() + 20
    while sleepers(seconds) and time.monotonic() < until:
        time.sleep(0.05)
    assert sleepers(seconds) == []


def test_what_cannot_be_ended_is_told(
    tmp_path: Path, seconds: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as a program that runs as another user."""
    job(tmp_path, f"{ESCAPE.format(seconds)}; time.sleep(900)")
    monkeypatch.setattr(orphans, "KILL", 0)
    report = preflight.run("loader=train:make", folder=str(tmp_path), timeout=10)

    (left,) = sleepers(seconds)
    (said,) = (one for one in report.reasons if "which preflight could not end" in one)
    assert f"{left.pid} (sleep)" in said


def test_what_is_started_just_before_a_death_is_told_where_nobody_adopts_it(
    tmp_path: Path, seconds: str
) -> None:
    """Called from Python, orphans are the system's, and tell nobody whose they were."""
    start = f'subprocess.Popen(["setsid", "env", "-i", "sleep", "{seconds}"]); time.sleep(0.05)'
    job(tmp_path, f"time.sleep(2); {start}; os.kill(os.getpid(), signal.SIGKILL)")
    before = subprocess.Popen(["sleep", seconds], start_new_session=True)
    report = preflight.run("loader=train:make", folder=str(tmp_path))
    before.kill()
    before.wait()

    said = [one for one in report.reasons if "which preflight could not end" in one]
    left = sleepers(seconds)
    assert report.verdict == "cannot-judge"
    assert [f"{one.pid} (sleep), maybe" in " ".join(said) for one in left] == [True] * len(left)
    assert str(before.pid) not in " ".join(said)


def test_a_process_of_the_users_adopts_nothing() -> None:
    orphans.adopt_if_ours()

    assert orphans.strays("PREFLIGHT_CHILD") == []


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_a_process_is_known_by_its_variables_on_each_system(
    platform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elsewhere than on Linux psutil says so; nobody knows of one that has ended."""
    environment = {**os.environ, "PREFLIGHT_SOMETHING": "token-1"}
    pipe = subprocess.PIPE
    with subprocess.Popen(["cat"], env=environment, stdin=pipe, stdout=pipe, bufsize=0) as held:
        assert held.stdin is not None
        assert held.stdout is not None
        held.stdin.write(b"begun\n")
        held.stdout.readline()  # at its very beginning a process has no variables yet
        monkeypatch.setattr(sys, "platform", platform)
        for begin, is_there in {"=": True, "=token-1": True, "=token-2": False}.items():
            assert orphans.has_variable(held.pid, f"PREFLIGHT_SOMETHING{begin}") is is_there
        assert not orphans.has_variable(held.pid, "SOMETHING=token-1")
    assert not orphans.has_variable(held.pid, "PREFLIGHT_SOMETHING=")
