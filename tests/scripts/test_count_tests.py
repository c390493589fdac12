"""What comes once in many steps is made true where the training takes so many, and nowhere else."""

from __future__ import annotations

import ast
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from preflight.scripts.met.lines.count_tests import asks_for_count, comes_by_count

COMES = {
    "a range": "for step in range(1000): at(); step % 500 == 0",
    "a range from somewhere": "for step in range(start, cfg.steps): at(); (step + 1) % every == 0",
    "a bar around it": "for step in tqdm(range(1000)): at(); step % every == 0",
    "a count of its own": "while True: at(); count % 500 == 0",
    "a count kept over epochs": "for epoch in range(2): at(); count % every == every - 1",
    "no rest": "while count < 9999: at(); not count % 500 and master",
    "one of several processes": "while True: at(); count % cfg.every == 0 and rank == 0",
    "the last step, or a guarded one": "while 1: at(); last or (every > 0 and count % every == 0)",
    "a list": "for number, one in enumerate(data): at(); number % 500 == 0",
    "a function that says so": "while True: at(); count and divisible_by(count, every)",
    "an epoch of many": "for epoch in range(100): at(); (epoch + 1) % 50 == 0",
}

STAYS = {
    "a range that ends before": "for step in range(100): at(); step % 500 == 0",
    "a test that ends it before": "while count < 100: at(); count % 500 == 0",
    "a test that is computed": "while count < many(): at(); count % 500 == 0",
    "a list that ends before": "for number, one in enumerate(data[:9]): at(); number % 500 == 0",
    "a short list": "for number, one in enumerate(few): at(); number % 500 == 0",
    "nobody knows how long": "for number, one in enumerate(drawn()): at(); number % 500 == 0",
    "a range that is computed": "for step in range(many()): at(); step % 500 == 0",
    "never": "while True: at(); count % 1_000_000_000 == 0",
    "switched off": "while True: at(); off > 0 and count % off == 0",
    "by what is computed": "while True: at(); count % many() == 0",
    "something else is asked, too": "while True: at(); count % 500 == 0 and ready()",
    "a function that says more": "while True: at(); every_so_often(count, every)",
    "a function of another form": "while True: at(); every_one(count)",
    "another process": "while True: at(); count % 500 == 0 and rank == 1",
    "in every step": "while True: at(); count % 1 == 0",
}

NAMES = """
data, few, count, every, off, start = [0] * 600, [0] * 5, 3, 500, 0, 0
master, last, rank = True, False, 0
def divisible_by(number, by):
    return number % by == 0
def every_so_often(number, by):
    print(number)
    return number % by == 0
def every_one(number): return number % 1 == 0
def drawn(): yield 1
def many(): return 600
def ready(): return True
def tqdm(of): return of
"""


def comes(folder: Path, code: str) -> bool:
    """Say whether the test at the end of a loop is made true, as the loop is at work."""
    path = folder / "train.py"
    path.write_text(f"{NAMES}\ndef train():\n    {code}\ntrain()\n", encoding="utf-8")
    test = ast.parse(code.rpartition("; ")[2], mode="eval").body
    assert asks_for_count(test)
    seen: list[bool] = []

    class EndError(Exception):
        pass

    def at() -> None:
        seen.append(comes_by_count(test, sys._getframe(1)))
        raise EndError

    cfg = SimpleNamespace(steps=2000, every=500)
    with pytest.raises(EndError):
        runpy.run_path(str(path), {"at": at, "cfg": cfg})
    return seen[0]


@pytest.mark.parametrize("name", COMES)
def test_a_count_that_comes_so_far_is_made_true(tmp_path: Path, name: str) -> None:
    assert comes(tmp_path, COMES[name])


@pytest.mark.parametrize("name", STAYS)
def test_one_that_may_never_come_so_far_is_left_alone(tmp_path: Path, name: str) -> None:
    assert not comes(tmp_path, STAYS[name])


@pytest.mark.parametrize("test", ["step > 500", "step == 500", "ready()", "step // 500 == 0"])
def test_what_is_not_true_again_and_again_asks_for_no_count(test: str) -> None:
    assert not asks_for_count(ast.parse(test, mode="eval").body)
