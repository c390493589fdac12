"""Loops that take batches apart are found with what makes the loader; what is not known is not."""

from __future__ import annotations

import ast

import pytest

from preflight.settings.taking import Taking, parse_taking
from preflight.sources.batch_loops.handed import handed_on, over_loaders
from preflight.sources.batch_loops.loops import batch_loops, may_loop
from preflight.syntax.bodies import bodies

PLAIN = Taking("")
HEAD = "from data import make as other\nimport data\n\ndef make(): ...\n\n"


def loops(text: str) -> list[tuple[str, str, str, str]]:
    every = bodies(ast.parse(HEAD + text))
    own = [*batch_loops(every, "train.py")]
    found = over_loaders(own, handed_on(every, "train.py", own))
    apart = [one for one in found if one.asks or (parse_taking(one.takes) or PLAIN).takes_apart]
    return [(one.takes, one.module, one.maker, one.pick) for one in apart]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for x, y in make(): pass", ("x, y", "", "make", "")),
        ("for i, (x, y) in enumerate(tqdm(make())): pass", ("x, y", "", "make", "")),
        ("for x, y in other(): pass", ("x, y", "data", "make", "")),
        ("for x, y in data.make(): pass", ("x, y", "data", "make", "")),
        ("def f():\n    a = make()\n    for x, y in a: pass", ("x, y", "", "make", "")),
        ("def f():\n    a, b = make()\n    for x, y in b: pass", ("x, y", "", "make", "[1]")),
        ("def f():\n    a = make()\n    for x, y in a['v']: pass", ("x, y", "", "make", "['v']")),
        ("def f():\n    x, y = next(iter(make()))", ("x, y", "", "make", "")),
        ("def f():\n    for b in make():\n        x, y = b", ("x, y", "", "make", "")),
        ("def f(a):\n    for x, y in a: pass\nf(make())", ("x, y", "./train", "make", "")),
        (
            (
                "class T:\n    def __init__(self):\n        self.a = make()\n    def run(self):\n"
                "        for x, y in self.a: pass"
            ),
            ("x, y", "", "make", ""),
        ),
        (
            "def f(m):\n    a = make()\n    m, a = acc.prepare(m, a)\n    for x, y in a: pass",
            ("x, y", "", "make", ""),
        ),
        ("for (x, y), b in zip(make(), unknown()): pass", ("x, y", "", "make", "")),
        ("for i, ((x, y), n) in enumerate(zip(make(), [1])): pass", ("x, y", "", "make", "")),
        ("for b, (x, y) in zip(range(9), cycle(make())): pass", ("x, y", "", "make", "")),
        ("for x, y in chain(unknown(), make()): pass", ("x, y", "", "make", "")),
        ("for i, (x, y) in tqdm(islice(enumerate(make()), 3)): pass", ("x, y", "", "make", "")),
        ("a = tqdm(enumerate(make()))\nfor i, (x, y) in a: pass", ("x, y", "", "make", "")),
        ("with tqdm(make()) as bar:\n    for x, y in bar: pass", ("x, y", "", "make", "")),
        ("sum(x for x, y in make())", ("x, y", "", "make", "")),
        ("def f():\n    a = cycle(make())\n    x, y = next(a)", ("x, y", "", "make", "")),
        ("def f():\n    a = iter(make())\n    b = next(a)\n    x, y = b", ("x, y", "", "make", "")),
        (
            (
                "def f():\n    a = make()\n    i = iter(a)\n    try:\n        b = next(i)\n"
                "    except StopIteration:\n        i = iter(a)\n        b = next(i)\n    x, y = b"
            ),
            ("x, y", "", "make", ""),
        ),
        (
            (
                "def f():\n    a = iter(make())\n    while (b := next(a, None)) is not None:\n"
                "        x, y = b"
            ),
            ("x, y", "", "make", ""),
        ),
    ],
)
def test_a_loop_is_joined_to_what_makes_its_loader(
    text: str, expected: tuple[str, str, str, str]
) -> None:
    assert loops(text) == [expected]
    assert may_loop((HEAD + text).encode())


@pytest.mark.parametrize(
    "text",
    [
        "for x, y in unknown(): pass",
        "for x in make(): pass",
        "def f(a):\n    for x, y in a: pass",
        "def f(c):\n    a = make()\n    if c:\n        a = []\n    for x, y in a: pass",
        "def f(make):\n    for x, y in make(): pass",
        "def f():\n    make = list\n    for x, y in make(): pass",
        "def f():\n    for b in make():\n        b = b[0]\n        x, y = b",
        "def f():\n    try:\n        for x, y in make(): pass\n    except ValueError: pass",
        "for x, y in zip(make(), other()): pass",
        "for x, y, z in zip(make(), other()): pass",
        "for p in enumerate(make()):\n    i, (x, y) = p",
        "for x, y in zip(*make()): pass",
        "def f(a):\n    a = enumerate(a)\n    for i, (x, y) in a: pass",
        "def f():\n    a = iter(make())\n    b = next(a)\n    b = b[0]\n    x, y = b",
        "a = enumerate(make())\na = 3\nfor i, (x, y) in a: pass",
    ],
)
def test_what_is_not_known_is_passed_over(text: str) -> None:
    assert loops(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "def on(a):\n    while True:\n        yield from a\nfor x, y in on(make()): pass",
        (
            "def on(a):\n    n = 0\n    for b in tqdm(a):\n        yield n, b\n        n += 1\n"
            "for n, (x, y) in on(make()): pass"
        ),
        (
            "class T:\n    def on(self, a, n=1):\n        for b in a:\n            yield b\n"
            "    def run(self):\n        for x, y in self.on(n=2, a=make()): pass"
        ),
    ],
)
def test_a_generator_that_hands_batches_on_is_followed_to_its_loader(text: str) -> None:
    assert ("x, y", "", "make", "") in loops(text)


@pytest.mark.parametrize(
    "body",
    [
        "yield b['x'], b['y']",
        "b = b[0]\n        yield b",
        "b.pop('x')\n        yield b",
        "if b is not None:\n            yield b",
        "yield n, b",
        "yield tuple(b)",
    ],
)
@pytest.mark.parametrize("name", ["on", "cycle"])
def test_a_generator_that_gives_something_else_is_passed_over(name: str, body: str) -> None:
    text = f"def {name}(a, n=0):\n    for b in a:\n        {body}\nfor x, y in {name}(make()): pass"

    assert ("x, y", "", "make", "") not in loops(text)


def test_a_loop_behind_a_test_is_not_sure() -> None:
    text = "def f(c):\n    if c:\n        for x, y in make(): pass"
    guard = 'if __name__ == "__main__":\n    for x, y in make(): pass'

    assert [one.is_sure for one in batch_loops(bodies(ast.parse(HEAD + text)), "a.py")] == [False]
    assert [one.is_sure for one in batch_loops(bodies(ast.parse(HEAD + guard)), "a.py")] == [True]


def test_a_loop_that_asks_what_its_batch_is_says_so() -> None:
    text = "for b in make():\n    if b is None:\n        continue\n    x, y = b"

    assert [
        (one.takes, one.asks) for one in batch_loops(bodies(ast.parse(HEAD + text)), "a.py")
    ] == [("b", True)]


HELPED = """
def step(x, batch):
    {}
    a, b = batch

class T:
    def step(self, batch):
        {}
        a, b = batch

    def run(self):
        for batch in make():
            {}
"""


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("for a, b in filter(None, make()): pass", True),
        ("for b in filter(usable, make()): b[0]", True),
        ("for a, b in (one for one in make() if one is not None): pass", True),
        ("[one['x'] for one in make() if one]", True),
        ("for b in make():\n    x, y = b or other", True),
        ("for b in make():\n    x, y = b if b is not None else other", True),
        ("for b in make():\n    is_none = b is None\n    run(b, is_none)", True),
        (
            "it = iter(make())\ndef f():\n    if (b := next(it)) is None: return\n    x, y = b",
            True,
        ),
        (HELPED.format("if batch is None: return", "pass", "loss = step(0, batch)"), True),
        (HELPED.format("if batch is None: return", "pass", "step(x=0, batch=batch)"), True),
        (HELPED.format("pass", "if not batch: return", "self.step(batch)"), True),
        (HELPED.format("pass", "if not batch: return", "step(0, batch)"), False),
        (HELPED.format("batch.to(d); batch or 0", "pass", "step(0, batch)"), False),
        (HELPED.format("if not batch: return", "pass", "step(batch, 0)"), False),
        ("[one['x'] for one in make() if ready]", False),
        ("for b in make():\n    x, y = b[0] or other", False),
        ("for b in make():\n    small = b[0] < 3", False),
    ],
)
def test_what_chooses_by_a_batch_asks_what_it_is(text: str, *, asks: bool) -> None:
    every = bodies(ast.parse(HEAD + text))
    found = [one for one in batch_loops(every, "train.py") if one.maker == "make"]

    assert any(one.asks for one in found) == asks


EPOCHS = """
loader = make()
for epoch in range(9):
    FIRST
    for image, label in loader:
        step(image)

def own(number):
    print(number)
"""


@pytest.mark.parametrize(
    ("first", "is_told"),
    [
        ("pass", False),
        ("print(epoch, len(loader))", False),
        ("own(epoch)", False),
        ("save(model, epoch)", False),
        ("scheduler.step()", False),
        ("evaluate(valid)", False),
        ("for one in models: one.train()", False),
        ("loader.sampler.set_epoch(epoch)", True),
        ("loader.sampler.epoch = epoch", True),
        ("begin(loader, epoch)", True),
        ("tell(epoch, loader.sampler)", True),
        ("tell(epoch, {'train': loader})", True),
        ("for one in hooks: one.before_epoch(epoch)", True),
        ("call_hook('before_train_epoch')", True),
        ("callbacks.on_epoch_start()", True),
        ("trainer.begin(epoch)", True),
    ],
)
def test_what_may_tell_a_sampler_the_epoch_is_known(first: str, *, is_told: bool) -> None:
    """Also by a function of another file, by a hook, or by a callback."""
    every = batch_loops(bodies(ast.parse(HEAD + EPOCHS.replace("FIRST", first))), "train.py")

    assert {one.is_in_epochs for one in every if one.takes == "image, label"} == {not is_told}
