"""How figures are measured: all sides in turns within one run, each by its best round."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.benchmarks.bounds import BOUNDS
from tests.conftest import ROOT, START

resource = pytest.importorskip("resource", reason="what processes take is told by POSIX alone")

Work = Callable[[], object]


class Took(NamedTuple):
    """The best of several rounds."""

    seconds: float
    processor: float
    """Seconds of all processors together, which other programs at work do not make more."""


class Figure(NamedTuple):
    """A row of the table that is shown at the end."""

    what: str
    seen: float
    how: str

    @property
    def kept(self) -> bool:
        """Whether it is within its bound."""
        word, number, _ = bound_of(self.what)
        if word == "at least":
            return self.seen >= number
        return self.seen < number or (word == "at most" and self.seen == number)

    def __str__(self) -> str:
        *_, unit = bound_of(self.what)
        state = "ok" if self.kept else "MISSED"
        return row(self.what, f"{self.seen:,.3g}{unit}", BOUNDS[self.what], state, self.how)


def bound_of(what: str) -> tuple[str, float, str]:
    """Take a bound apart: `at most`, `at least` or `below`, the number, and its unit."""
    found = re.fullmatch(r"(at most|at least|below) ([\d.]+)( \w+)?", BOUNDS[what])
    assert found is not None, what
    return found[1], float(found[2]), found[3] or ""


def row(what: str, figure: str, bound: str, state: str, how: str) -> str:
    """Lay out a line of the table."""
    width = max(map(len, BOUNDS))
    return f"{what:{width}}  {figure:>12}  {bound:18}  {state:6}  {how}".rstrip()


FIGURES: list[Figure] = []


def seen(what: str, figure: float, how: str = "") -> None:
    """Keep a figure for the table; the run as a whole fails where one misses its bound."""
    assert what in BOUNDS
    FIGURES.append(Figure(what, figure, how))


def _processor() -> float:
    every = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in every)


def best_of(
    works: Sequence[Work], *, rounds: int = 7, before: Sequence[Work] | None = None
) -> list[Took]:
    """Measure in turns, so that noise meets all alike; what is done before each does not count."""
    best = [Took(float("inf"), float("inf"))] * len(works)
    for _ in range(rounds):
        for index, work in enumerate(works):
            if before is not None:
                before[index]()
            processor, begun = _processor(), time.perf_counter()
            work()
            seconds = time.perf_counter() - begun
            least = best[index]
            best[index] = Took(
                min(least.seconds, seconds), min(least.processor, _processor() - processor)
            )
    return best


def compared(what: str, one: Took, other: Took) -> None:
    """Tell how many times as long one took as the other."""
    how = " against ".join(
        f"{took.seconds * 1e3:,.1f} ms (processors {took.processor * 1e3:,.0f})"
        for took in (one, other)
    )
    seen(what, one.seconds / other.seconds, how)


def compare(what: str, one: Work, other: Work, *, rounds: int = 7) -> None:
    """Measure how many times as long one takes as the other."""
    compared(what, *best_of([one, other], rounds=rounds))


def process(*words: str | Path, folder: Path = ROOT) -> Work:
    """Give what runs a command to its end."""

    def work() -> object:
        return subprocess.run(
            words,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )

    return work


def python(code: str, *words: str, folder: Path = ROOT) -> Work:
    """Give what runs a program."""
    return process(sys.executable, "-c", code, *words, folder=folder)


def preflight(*words: str, folder: Path) -> Work:
    """Give what runs the whole command, as a user does."""
    return python(START, "run", *words, "-q", folder=folder)


# Prints the peak memory of whichever process of a run takes most, in kB.
_PEAK = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=False)
sys.stdout.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(done.returncode)
"""


def peak(folder: Path, *words: str) -> int:
    """Run the command in a fresh process, and give the bytes that its largest process took."""
    if sys.platform != "linux":
        pytest.skip("ru_maxrss is in kilobytes on Linux")
    run = [sys.executable, "-c", START, "run", *words, "--elsewhere", "-q", "--no-ledger"]
    done = subprocess.run(
        [sys.executable, "-c", _PEAK, *run],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        check=True,
    )
    return int(done.stdout) * 1024
