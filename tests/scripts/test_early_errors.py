"""What more steps would have made is no fault; what is wrong after any number of them is one."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from preflight.scripts.met.lines.brought_forward import BroughtForward
from tests.scripts.rehearsing import installed

pytestmark = pytest.mark.skipif(
    sys.gettrace() is not None, reason="a script under a debugger is left alone"
)

SCRIPT = """
import statistics

losses, taken, table, metrics, model = [], 0, {}, {}, object()
best = None
held_out = None

class Meter:
    taken = 0
    def check(self):
        assert self.taken == 500

meter = Meter()

def score(of):
    found = []
    for one in of:
        found.append(one)
    return statistics.stdev(found[:1])

def save(what):
    return what

for step in range(1, 1000):
    losses.append(1.0)
    taken += 1
    meter.taken += 1
    turn(step)
    if step % 500 == 0:
        BEHIND
    if step == 900:
        late = best = 1
    if step == 8:
        break
"""

MAY_LACK = {
    "a history by its end": "save(losses[-500])",
    "a history as a whole": "save(statistics.quantiles(losses[9:]))",
    "how many were taken": "save(int(500 / (taken // 500)))",
    "how many an object has counted": "save(meter.check())",
    "a name that a later step binds": "save(late)",
    "an entry by a step": "save(table[step - 100])",
    "a file of an earlier step": "save(open(f'{step - 100}.txt'))",
    "what is none yet": "save(best + 1)",
    "the highest of none": "save(max(table))",
}

IS_WRONG = {
    "a key": "save(metrics['accuracy'])",
    "an attribute": "save(model.weights)",
    "a name that nothing binds": "save(evaluates())",
    "a folder that nobody made": "save(open('nowhere/last.txt', 'w'))",
    "a name by the step": "save(f'{step:q}.pt')",
    "what it makes there itself": "save(score([1.0]))",
    "what is none for good": "save(sum(held_out))",
    "a type": "save('a' + 1)",
}


def lacks_steps(folder: Path, behind: str) -> bool:
    """Say what is held of what a script raises behind a test that was made true."""
    path = folder / "train.py"
    path.write_text(SCRIPT.replace("BEHIND", behind), encoding="utf-8")
    with installed((), folder) as watch:
        forward = BroughtForward(watch)

        def turn(step: int) -> None:
            if step == 3:
                assert forward.by_count()

        try:
            with pytest.raises(Exception) as raised:  # noqa: PT011  of any kind
                runpy.run_path(str(path), {"turn": turn})
        finally:
            sys.settrace(None)
        return any(one(raised.value) for one in watch.too_early)


@pytest.mark.parametrize("name", MAY_LACK)
def test_what_may_come_of_too_few_steps_is_held_for_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert lacks_steps(tmp_path, MAY_LACK[name])


@pytest.mark.parametrize("name", IS_WRONG)
def test_what_is_wrong_after_any_number_of_steps_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert not lacks_steps(tmp_path, IS_WRONG[name])
