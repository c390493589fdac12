"""A reader that is deep in a library shows life as long as it takes processor time."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from tests.conftest import ROOT

BEGIN = """
import hashlib, time
from preflight.kinds.at_work import shown_at_work
from preflight.processes.child import Channel
channel = Channel(1, "token")
begun = time.process_time()
def used():
    return time.process_time() - begun
def busy(seconds):
    until = used() + seconds
    while used() < until:
        pass
"""


def said(code: str, *, later: float = 0.0) -> list[dict[str, object]]:
    """Run this in a process of its own, and read what it says after so many seconds."""
    command = [sys.executable, "-c", BEGIN + code]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        time.sleep(later)
        lines = process.communicate()[0].splitlines()
    return [json.loads(line.removeprefix(b"token ")) for line in lines]


def test_a_long_call_of_a_library_shows_life() -> None:
    """In which this interpreter has no turn; and nothing is said when it is over."""
    *lines, last = said(
        "hashlib.pbkdf2_hmac('sha512', b'', b'', 100_000)\n"
        "rounds = int(100_000 * 2.5 / used())\n"
        "with shown_at_work(channel.beat):\n"
        "    hashlib.pbkdf2_hmac('sha512', b'', b'', rounds)\n"
        "channel.say(done=True)\n"
        "busy(1)\n"
    )

    assert len(lines) >= 2
    assert all(one.get("alive") for one in lines)
    assert last == {"done": True}


@pytest.mark.parametrize("spend", ["busy(2)", "time.sleep(2)"])
def test_only_work_is_shown(spend: str) -> None:
    """A disk that does not answer takes no processor time."""
    assert bool(said(f"with shown_at_work(channel.beat):\n    {spend}")) == ("busy" in spend)


@pytest.mark.parametrize("signs", ["0", "int(used())"])
def test_what_goes_round_for_ever_is_left_to_its_silence(signs: str) -> None:
    """Unless the reader itself shows that it comes further."""
    lines = said(
        f"with shown_at_work(lambda: channel.say(at=used()), lambda: {signs}, most=1.2):\n"
        "    busy(3.5)"
    )

    assert lines
    assert (max(one["at"] for one in lines) > 2.5) == ("used" in signs)  # type: ignore[type-var,operator]


def test_lines_of_two_threads_stay_whole() -> None:
    """A long line goes to a pipe piece by piece, and another one does not come between."""
    code = (
        "import threading\n"
        "threading.Thread(target=busy, args=(3,), daemon=True).start()\n"
        "with shown_at_work(lambda: channel.say(alive=True)):\n"
        "    busy(0.6)\n"
        "    channel.say(text='x' * (1 << 20))\n"
    )

    assert {"text": "x" * (1 << 20)} in said(code, later=2.5)
