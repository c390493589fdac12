"""Loops that go over one iterator in several rounds are known; where it may be new, nothing is."""

from __future__ import annotations

import ast

import pytest

from preflight.sources.batch_loops.handed import handed_on, over_loaders
from preflight.sources.batch_loops.loops import batch_loops, may_loop
from preflight.syntax.bodies import bodies

HEAD = """
import argparse, sys
from itertools import cycle
from tqdm import tqdm
from data import make, reset
EPOCHS, ONE = 5, 1
parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--rounds", type=int, default=1)
parser.add_argument("--unknown", type=int)
args = parser.parse_args()

def step(batch): ...

def wrapped(loader):
    for batch in loader:
        yield batch
"""


def found(text: str) -> list[tuple[str, bool]]:
    """Give the loops that go over one thing again, and whether that is an iterator by itself."""
    assert may_loop((HEAD + text).encode())
    every = bodies(ast.parse(HEAD + text))
    own = [*batch_loops(every, "train.py")]
    loops = over_loaders(own, handed_on(every, "train.py", own))
    return sorted({(one.maker, one.is_iterator) for one in loops if one.again})


def within(head: str, rounds: str, *body: str) -> str:
    """Write a function with a loop over epochs."""
    lines = "".join(f"        {one}\n" for one in body)
    return f"def main():\n    {head}\n    for epoch in {rounds}:\n{lines}\nmain()\n"


BATCHES = "for batch in loader:", "    step(batch)"


@pytest.mark.parametrize(
    ("rounds", "times"),
    [("range(10**30)", 0), (f"range({10**30})", 1), (f"range({'1 + ' * 900}1)", 0)],
    ids=["a power", "more than a machine counts", "a sum of many"],
)
def test_any_number_of_rounds_is_read(rounds: str, times: int) -> None:
    assert len(found(within("loader = iter(make())", rounds, *BATCHES))) == times


def test_a_long_chain_of_tests_is_read() -> None:
    chain = "".join(f"    elif mode == {n}:\n        pass\n" for n in range(900))
    text = within("loader = make()", "range(9)", *BATCHES)

    assert found(f"def other(mode):\n    if mode:\n        pass\n{chain}\n{text}") == [
        ("make", False)
    ]


@pytest.mark.parametrize(
    "healthy",
    [
        within("pass", "range(9)", "loader = make()", *BATCHES),
        within("pass", "range(9)", "for batch in make(): step(batch)  # loader"),
        within("loader = make()", "range(1)", *BATCHES),
        within("loader = make()", "range(ONE)", *BATCHES),
        within("loader = make()", "range(args.rounds)", *BATCHES),
        within("loader = make()", "range(args.unknown)", *BATCHES),
        within("loader = make()", "range(4, 5)", *BATCHES),
        within("loader = make()", "range(9)", *BATCHES, "    if batch is None: break"),
        within("loader = make()", "range(9)", *BATCHES, "    if batch is None: return"),
        within("loader = make()", "range(9)", *BATCHES, "    if batch is None: sys.exit()"),
        within("loader = make()", "range(9)", *BATCHES, "    if batch == 9: raise StopTraining"),
        within("loader = make()", "range(9)", *BATCHES, "loader = make()"),
        within("loader = make()", "range(9)", *BATCHES, "if epoch: loader = make()"),
        within("loader = make()", "range(9)", *BATCHES, "reset(loader)"),
        within("loader = make()", "range(9)", *BATCHES, "loader.reset()"),
        within("loader = make()", "range(9)", *BATCHES, "break"),
        within("loader = make()", "range(9)", "if epoch: continue", *BATCHES),
        within("loader = make()", "range(9)", "if epoch == 0:", *(f"    {x}" for x in BATCHES)),
        within("loader = make()", "range(9)", "for batch in islice(loader, 9): step(batch)"),
        within("loader = make()", "range(9)", "for n, batch in zip(range(9), loader): step(batch)"),
        within("loader = list(make())", "range(9)", *BATCHES),
        (
            "loader = make()\ndef again():\n    global loader\n    loader = make()\n"
            "def main():\n    for epoch in range(9):\n        for batch in loader: step(batch)\n"
            "        again()\n"
        ),
        (
            "def one(loader):\n    for batch in loader: step(batch)\n"
            "for epoch in range(9):\n    one(make())\n"
        ),
        (
            "def one(loader):\n    for batch in loader: step(batch)\n"
            "loader = make()\nfor epoch in range(9):\n    if epoch == 0: one(loader)\n"
        ),
        (
            "def one(loader):\n    for batch in loader:\n        if step(batch): break\n"
            "loader = make()\nfor epoch in range(9): one(loader)\n"
        ),
        (
            "def one(loader):\n    reset(loader)\n    for batch in loader: step(batch)\n"
            "loader = make()\nfor epoch in range(9): one(loader)\n"
        ),
        (
            "def one(loader):\n    it = make()\n    for batch in it: step(batch)\n"
            "loader = make()\nfor epoch in range(9): one(loader)\n"
        ),
        (
            "def main(epochs):\n    loader = make()\n    for epoch in range(epochs):\n"
            "        for batch in loader: step(batch)\nmain(1)\n"
        ),
        (
            "def main(epochs=9):\n    loader = make()\n    for epoch in range(epochs):\n"
            "        for batch in loader: step(batch)\nmain(*args)\n"
        ),
        (
            "class T:\n    def __init__(self): self.loader = make()\n"
            "    def begin(self): self.loader = make()\n"
            "    def run(self):\n        for epoch in range(9):\n"
            "            for batch in self.loader: step(batch)\n"
        ),
        (
            "class T:\n    def begin(self): self.loader = make()\n"
            "    def run(self):\n        for epoch in range(9):\n            self.begin()\n"
            "            for batch in self.loader: step(batch)\n"
        ),
    ],
)
def test_what_may_be_new_in_each_round_is_left_alone(healthy: str) -> None:
    assert found(healthy) == []


@pytest.mark.parametrize(
    ("text", "is_iterator"),
    [
        (within("loader = make()", "range(9)", *BATCHES), False),
        (within("loader = make()", "range(EPOCHS)", *BATCHES), False),
        (within("loader = make()", "range(args.epochs)", *BATCHES), False),
        (within("loader = make()", "tqdm(range(1, args.epochs + 1))", *BATCHES), False),
        (within("loader = iter(make())", "range(9)", *BATCHES), True),
        (within("loader = tqdm(make())", "range(9)", *BATCHES), False),
        (within("data = make(); loader = iter(data)", "range(9)", *BATCHES), True),
        (
            within("loader = enumerate(make())", "range(9)", "for i, (x, y) in loader: step(x)"),
            True,
        ),
        (
            within(
                "loader = make()",
                "range(9)",
                "bar = tqdm(loader, total=len(loader))",
                "for batch in bar: step(batch)",
            ),
            False,
        ),
        (
            within(
                "loader = make()",
                "range(9)",
                "for i, batch in enumerate(tqdm(loader)):",
                "    if batch is None: continue",
                "    if step(batch): raise ValueError",
            ),
            False,
        ),
        (
            (
                "def one(loader):\n    for batch in loader: step(batch)\n"
                "loader = iter(make())\nfor epoch in range(9): one(loader)\n"
            ),
            True,
        ),
        (
            (
                "def one(loader):\n    it = iter(loader)\n    for batch in it: step(batch)\n"
                "loader = make()\nfor epoch in range(9): one(loader)\n"
            ),
            False,
        ),
        (
            (
                "def main(loader, epochs=9):\n    for epoch in range(epochs):\n"
                "        for batch in loader: step(batch)\nmain(iter(make()))\n"
            ),
            True,
        ),
        (
            (
                "class T:\n    def __init__(self): self.loader = iter(make())\n"
                "    def run(self):\n        for epoch in range(9):\n"
                "            for batch in self.loader: step(batch)\n"
            ),
            True,
        ),
        (
            (
                "for fold in range(ONE):\n    loader = make()\n    for epoch in range(9):\n"
                "        for batch in loader: step(batch)\n"
            ),
            False,
        ),
    ],
)
def test_what_is_made_before_the_rounds_is_known(text: str, is_iterator: object) -> None:
    assert ("make", is_iterator) in found(text)


def test_a_generator_around_it_is_one_iterator() -> None:
    loops = found(within("loader = wrapped(make())", "range(9)", *BATCHES))

    assert loops == [("make", True), ("wrapped", True)]
