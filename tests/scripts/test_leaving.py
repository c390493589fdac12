"""A loop of which enough was seen is left, and what stands behind it is rehearsed."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from preflight.scripts.met.loops.leaving import Leaving
from tests.scripts.rehearsing import installed, line_of, rehearse

MOST = 40

FORMS = """
seen = []


def over(what):
    seen.append(what)


def plain():
    for number in range(MOST):
        turn()
    over(number)


def counted():
    number = 0
    while number < MOST:
        turn()
        number += 1
    over("counted")


def until_break():
    while True:
        turn()
        if len(turns) >= MOST:
            over("break")
            break


def by_hand():
    for number in range(MOST):
        turn()
        if number == MOST:
            break


def of_generator():
    try:
        for _ in (each for each in range(MOST)):
            turn()
    finally:
        over("at last")


def with_else():
    for _ in range(MOST):
        turn()
    else:
        over("else")


def last_of_a_branch():
    if turn:
        for _ in range(MOST):
            turn()
    over("branch")


def folds():
    for fold in range(3):
        for _ in range(MOST):
            turn()
        over(fold)
    over("folds")


def micro():
    for _ in range(MOST):
        for _ in range(4): turn()
    over("micro")


def drawn():
    def draw():
        while True:
            turn()
            yield 1

    for number, _ in enumerate(draw()):
        if number == MOST:
            break
    over("drawn")


def inner():
    for _ in range(3):
        turn()


def calls():
    for _ in range(MOST):
        inner()
    over("calls")


def within_with():
    with open(__file__):
        for _ in range(MOST):
            turn()


def at_its_end():
    for _ in range(MOST):
        turn()
"""

# What each comes to behind its loop, and in how many turns at most.
LEFT = {
    "plain": [2],
    "counted": ["counted"],
    "until_break": [],
    "by_hand": [],
    "of_generator": ["at last"],
    "with_else": ["else"],
    "last_of_a_branch": ["branch"],
    "folds": [0, 1, 2, "folds"],
    "micro": ["micro"],
    "drawn": ["drawn"],
    "calls": ["calls"],
}
NOT_LEFT = ("within_with", "at_its_end")


@pytest.mark.skipif(sys.gettrace() is not None, reason="a script under a debugger is left alone")
@pytest.mark.parametrize("name", [*LEFT, *NOT_LEFT])
def test_the_script_goes_on_as_behind_a_break(tmp_path: Path, name: str) -> None:
    """Its loops stand in all the places in which a script has one; some have no way out."""
    path = tmp_path / "train.py"
    path.write_text(FORMS, encoding="utf-8")
    turns: list[bool] = []

    with installed((), tmp_path) as watch:
        leaving = Leaving(watch)

        def turn() -> None:
            turns.append(len(turns) == 2 and leaving.can_leave("in short"))

        of = runpy.run_path(str(path), {"turn": turn, "turns": turns, "MOST": MOST})
        try:
            of[name]()
        finally:
            sys.settrace(None)

    assert turns[2] == (name in LEFT)
    assert watch.left == (name in LEFT)
    if name in LEFT:
        assert of["seen"] == LEFT[name]
        assert len(turns) < MOST / 2
    else:
        assert len(turns) == MOST


ENDS = '''\
"""Trains for long; saves and evaluates once, at its end."""

import argparse
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--resume")
args = parser.parse_args()
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.AdamW(model.parameters())
data = TensorDataset(torch.randn(64, 3), torch.randn(64, 1))
start = 0
if args.resume:
    saved = torch.load(args.resume)
    model.load_state_dict(saved["model"])
    start = saved["epoch"]
for epoch in range(start, 1000):
    for x, y in DataLoader(data, batch_size=4):
        loss = (model(x) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    time.sleep(0.05)
torch.save({"model": model.state_dict(), "epoch": epoch + 1}, "last.pt")
{"loss": 0.1}["accuracy"]
'''


@pytest.mark.slow
def test_what_a_script_saves_and_raises_at_its_end_is_told(tmp_path: Path) -> None:
    """The first for sure, and the second as a guess."""
    (tmp_path / "job").mkdir()
    path = tmp_path / "job" / "train.py"
    path.write_text(ENDS, encoding="utf-8")

    seen = rehearse(path, wants=["SavedState", "Steps", "Resumed"])

    assert seen.told == [
        f"warning script-stopped train.py:{line_of(path, 'accuracy')}",
        f"error script-resume train.py:{line_of(path, 'AdamW')}",
    ]


THREAD = """
import threading
one = threading.Thread(target=[].pop)
one.start()
one.join()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("raise SystemExit(3)", "behind that, exit code 3, which may come of it"),
        (THREAD, "behind that, IndexError in a thread, which may come of it"),
    ],
    ids=["an exit code", "a thread"],
)
def test_what_may_come_of_leaving_a_loop_is_named(tmp_path: Path, end: str, said: str) -> None:
    (tmp_path / "job").mkdir()
    path = tmp_path / "job" / "train.py"
    path.write_text(ENDS.partition("torch.save(")[0] + end, encoding="utf-8")

    seen = rehearse(path)

    assert seen.told == []
    assert said in seen.rehearsal.shortened


HANDLES = """\
import torch
from torch.utils.data import DataLoader

model = torch.nn.Linear(1, 1)
batches = iter(DataLoader(torch.ones(40, 1)))
try:
    while True:
        model(next(batches)).sum().backward()
except StopIteration:
    BEHIND
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("behind", "told"),
    [
        ("{}['accuracy']", ["error script-stopped train.py:10"]),
        ("raise RuntimeError('more batches were expected')", []),
        ("raise SystemExit('more batches were expected')", []),
        ("print('over')", []),
    ],
)
def test_what_fails_at_the_end_of_an_epoch_is_the_scripts(
    tmp_path: Path, behind: str, told: list[str]
) -> None:
    """Unless it has expected none, and says so: then we may have made one too soon."""
    (tmp_path / "job").mkdir()
    path = tmp_path / "job" / "train.py"
    path.write_text(HANDLES.replace("BEHIND", behind), encoding="utf-8")

    assert [one for one in rehearse(path).told if "stopped" in one] == told
