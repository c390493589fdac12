"""What comes once in many steps comes once, and what stands behind it has an end."""

from __future__ import annotations

import functools
import json
import runpy
import sys
from pathlib import Path

import pytest

from preflight.scripts.met.lines import brought_forward
from preflight.scripts.met.lines.brought_forward import BY_COUNT, BroughtForward
from preflight.scripts.watch import TOLD, Stopped
from tests.scripts.rehearsing import installed, line_of

pytestmark = pytest.mark.skipif(
    sys.gettrace() is not None, reason="a script under a debugger is left alone"
)

SCRIPT = """
def evaluate():
    seen.append("evaluated")
    for _ in range(9):
        sample()

def sample():
    seen.append("sampled")

for step in range(1, 1000):
    turn(step)
    if step % 100 == 0:
        seen.append("before")
    if step % 50 == 0 and process == 2:
        break
    if step % 500 == 0 and process == 0:
        evaluate()
    elif step % 400 == 0:
        save()
    if step == 8:
        break
"""


def ran(folder: Path, *, process: int = 0) -> tuple[list[object], list[str]]:
    """Run a script of which the third turn is to bring forward what comes seldom."""
    path = folder / "train.py"
    path.write_text(SCRIPT, encoding="utf-8")
    seen: list[object] = []
    with installed((), folder) as watch:
        forward = BroughtForward(watch)

        def turn(step: int) -> None:
            forward.by_time()
            seen.append(forward.by_count() if step == 3 else step)

        save = functools.partial(seen.append, "saved")
        own = {"turn": turn, "seen": seen, "process": process, "save": save}
        try:
            runpy.run_path(str(path), own)
        except Stopped:
            seen.append("stopped")
        finally:
            sys.settrace(None)
    told = map(json.loads, (folder / TOLD).read_text(encoding="utf-8").splitlines())
    return seen, [one["shortened"] for one in told if "shortened" in one]


def test_each_test_is_made_true_once(tmp_path: Path) -> None:
    seen, said = ran(tmp_path)

    evaluated = ["before", "evaluated", *["sampled"] * 9]
    assert seen == [1, 2, True, *evaluated, 4, "before", "saved", 5, 6, 7, 8]
    lines = [line_of(tmp_path / "train.py", f"step % {one}") for one in (500, 400)]
    assert said == [f"{BY_COUNT} (train.py:{line})" for line in lines]


def test_what_leaves_the_loop_is_left_alone(tmp_path: Path) -> None:
    seen, _ = ran(tmp_path, process=2)

    assert seen == [1, 2, True, "before", "saved", 4, 5, 6, 7, 8]


def test_one_of_another_process_is_left_alone_and_the_next_is_come_to(tmp_path: Path) -> None:
    seen, _ = ran(tmp_path, process=1)

    assert seen == [1, 2, True, "before", "saved", 4, 5, 6, 7, 8]


def test_what_takes_long_then_is_ended_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a thousand pictures are drawn for an evaluation."""
    monkeypatch.setattr(brought_forward, "_BEHIND", -1.0)
    seen, said = ran(tmp_path)

    assert seen == [1, 2, True, "before", "stopped"]
    assert said[1:] == ["what comes then to -1 s"]


def test_a_step_that_takes_long_behind_it_is_the_training_s_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(brought_forward, "_BEHIND", -1.0)
    seen, said = ran(tmp_path, process=1)  # a save that is over at once

    assert seen == [1, 2, True, "before", "saved", 4, 5, 6, 7, 8]
    assert len(said) == 1
