"""How a ratio is measured: both sides in turns within one run, each side by its best round."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

START = (
    "import sys; sys.path[:1] == [''] and sys.path.pop(0); sys.argv[0] = 'preflight'; "
    "from preflight.__main__ import start; start()"
)

Work = Callable[[], object]


def best_of(works: Sequence[Work], *, rounds: int = 7) -> list[float]:
    """Give the least seconds of each, in turns, so that noise meets all of them alike."""
    least = [float("inf")] * len(works)
    for _ in range(rounds):
        for index, work in enumerate(works):
            begun = time.perf_counter()
            work()
            least[index] = min(least[index], time.perf_counter() - begun)
    return least


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Callable[..., float]:
    """Say how many times as long one thing took as another, and show it beside its goal."""

    def show(name: str, mine: float, other: float, *, goal: str) -> float:
        with capsys.disabled():
            sys.stdout.write(
                f"\n  {name}: {mine / other:.2f} (goal {goal}); "
                f"{mine * 1e3:.1f} ms against {other * 1e3:.1f} ms\n"
            )
        return mine / other

    return show


@pytest.fixture
def ratio(shown: Callable[..., float]) -> Callable[..., float]:
    """Measure how many times as long one thing takes as another, and show it."""

    def measure(name: str, ours: Work, theirs: Work, *, goal: str, rounds: int = 7) -> float:
        mine, other = best_of([ours, theirs], rounds=rounds)
        return shown(name, mine, other, goal=goal)

    return measure


@pytest.fixture(scope="session")
def command() -> Callable[..., Work]:
    """Give something that starts a Python process and waits for it, whatever it exits with."""

    def make(*words: str, folder: Path | None = None) -> Work:
        def work() -> object:
            return subprocess.run(
                [sys.executable, *words],
                cwd=folder or ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
            )

        return work

    return make
