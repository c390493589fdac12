"""Parts of a batch that are None, or lack, are judged by what the loop does with them.

Each loop is run as it stands, and its verdict is held against what Python does.
"""

from __future__ import annotations

import ast
from collections import OrderedDict, UserDict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from preflight.batches.structure import structure_of
from preflight.batches.use_in_loops import taken_for
from preflight.facts import FirstBatches, TakenFor
from preflight.finding import Finding, Severity
from preflight.settings.job import Factory, Job
from preflight.sources.batch_loops.loops import batch_loops, may_loop
from preflight.syntax.bodies import bodies
from preflight.targets.targets import Built
from preflight.testing import ask


class Held:
    """What may be done with a part that is there, as with a tensor."""

    shape = (2,)

    def to(self, _device: str) -> Held:
        """Give it, on a device."""
        return self

    def sum(self) -> int:
        """Give a number."""
        return 0

    def __len__(self) -> int:
        return 2

    def __mul__(self, other: object) -> Held:
        return self if other is not None else NotImplemented

    def __neg__(self) -> Held:
        return self

    def __gt__(self, _other: object) -> bool:
        return True


@dataclass
class Batch:
    """What a collate function may give."""

    x: object
    mask: object = None


@dataclass(slots=True, frozen=True)
class Slotted:
    """The same without a dict of its own."""

    x: object
    mask: object = None


class BatchEncoding(UserDict[str, object]):
    """As transformers has it, by its name."""

    def __getattr__(self, name: str) -> object:
        try:
            return self.__dict__["data"][name]
        except KeyError:
            raise AttributeError(name) from None


class Wide(Batch):
    """One with what nobody has declared."""

    @property
    def double(self) -> object:
        """Give it from another part."""
        return self.x

    def fill(self) -> None:
        """Set what was not there."""
        self.y = X


class Answering(Batch):
    """One that has whatever it is asked for."""

    def __getattr__(self, name: str) -> object:
        return X


class Pair(NamedTuple):
    """Parts by name and by place."""

    x: object
    mask: object = None


@dataclass
class Output(OrderedDict[str, object]):
    """As transformers' ModelOutput: what is None is an attribute, and no key."""

    x: object = None
    mask: object = None

    def __post_init__(self) -> None:
        self.update({name: one for name, one in self.__dict__.items() if one is not None})


X = Held()
BATCHES: dict[str, list[Any]] = {
    "pairs": [(X, X), (X, None)],
    "dicts": [{"x": X, "mask": X}, {"x": X, "mask": None}],
    "lacking": [{"x": X, "mask": X}, {"x": X}],
    "objects": [Batch(X, X), Batch(X)],
    "slotted": [Slotted(X, X), Slotted(X)],
    "encodings": [BatchEncoding(x=X, mask=X), BatchEncoding(x=X)],
    "wide": [Wide(X, X), Wide(X, X)],
    "answering": [Answering(X, X)] * 2,
    "named": [Pair(X, X), Pair(X)],
    "spaces": [SimpleNamespace(x=X, mask=X), SimpleNamespace(x=X, mask=None)],
    "outputs": [Output(x=X, mask=X), Output(x=X)],
    "nested": [(X, {"mask": X, "n": [X, X]}), (X, {"mask": None, "n": [X, None]})],
}

STOPS = [
    ("pairs", "x, m", "m = m.to('cpu')"),
    ("pairs", "x, m", "loss = x * m"),
    ("pairs", "i, (x, m)", "with held:\n    y = -x\n    z = -m"),
    ("pairs", "x, m", "m > 0"),
    ("pairs", "batch", "batch = [b.to('cpu') for b in batch]"),
    ("pairs", "batch", "x, m = tuple(b.to('cpu') for b in batch)"),
    ("pairs", "batch", "m = batch[1]\nn = m.shape[0]"),
    ("pairs", "batch", "x, m = batch\nm.sum()"),
    ("pairs", "x, m", "if m.sum():\n    pass"),
    ("pairs", "x, m", "for one in range(2):\n    y = x\nm.sum()"),
    ("dicts", "batch", "m = batch['mask'].to('cpu')"),
    ("dicts", "batch", "batch = {k: v.to('cpu') for k, v in batch.items()}"),
    ("dicts", "batch", "len(batch['mask'])"),
    ("lacking", "batch", "m = batch['mask'].to('cpu')"),
    ("lacking", "batch", "m = batch.get('mask')\nm.sum()"),
    ("nested", "x, target", "target['mask'].sum()"),
    ("objects", "batch", "batch.mask.sum()"),
    ("slotted", "batch", "m = batch.mask.to('cpu')"),
    ("encodings", "batch", "batch['mask'].sum()"),
    ("nested", "x, target", "n = target['n'][-1].sum()"),
    ("named", "batch", "batch.mask.sum()"),
    ("spaces", "batch", "batch.mask.sum()"),
    ("outputs", "batch", "batch.x.sum()\nm = batch.mask\nm.sum()"),
]

LACK = [
    ("objects", "batch", "batch.y.sum()"),
    ("slotted", "batch", "y = batch.y"),
    ("wide", "batch", "batch.double.sum()\nbatch.triple.sum()"),
    ("named", "batch", "batch.y.sum()"),
    ("spaces", "batch", "batch.x.sum()\nbatch.y.sum()"),
    ("outputs", "batch", "batch.y"),
    ("encodings", "batch", "batch.y"),
    ("dicts", "batch", "batch.x.sum()"),
    ("dicts", "batch", "batch = batch.to('cpu')"),
    ("pairs", "batch", "batch.x"),
    ("nested", "x, target", "target.mask"),
]

GOES_ON = [
    ("pairs", "x, m", "if m is not None:\n    m = m.to('cpu')"),
    ("pairs", "x, m", "m = m.to('cpu') if m is not None else None"),
    ("pairs", "x, m", "m = X if m is None else m\nm.sum()"),
    ("pairs", "x, m", "m = m or X\nm.sum()"),
    ("pairs", "x, m", "x.sum()"),
    ("pairs", "x, m", "f(x, mask=m)"),
    ("pairs", "x, m", "has = m is not None\nif has:\n    loss = x * m"),
    ("pairs", "x, m", "m = fill(m)\nm.sum()"),
    ("pairs", "x, m", "if m is None:\n    continue\nm.sum()"),
    ("pairs", "i, (x, m)", "if i:\n    break\nm.sum()"),
    ("pairs", "x, m", "try:\n    m.sum()\nexcept AttributeError:\n    pass"),
    ("pairs", "x, m", "late = lambda: m.sum()"),
    ("pairs", "batch", "x, m = [b.to('cpu') if b is not None else b for b in batch]"),
    ("pairs", "batch", "any(b.shape for b in batch)"),
    ("pairs", "x, m", "'%s' % m"),
    ("pairs", "x, m", "while m is None:\n    m = X\nm.sum()"),
    ("dicts", "batch", "batch = {k: v.to('cpu') for k, v in batch.items() if v is not None}"),
    ("dicts", "batch", "f(**batch)"),
    ("dicts", "batch", "m = batch.get('mask')\nif m is not None:\n    m.sum()"),
    ("dicts", "batch", "batch['mask'] = X\nbatch['mask'].sum()"),
    ("dicts", "batch", "put(batch)\nbatch['mask'].sum()"),
    ("lacking", "batch", "m = batch.get('mask')\nf(batch['x'], mask=m)"),
    ("lacking", "batch", "m = batch.get('mask', X)\nm.sum()"),
    ("lacking", "batch", "if 'mask' in batch:\n    batch['mask'].sum()"),
    ("lacking", "batch", "m = batch.pop('mask', None)\nx = batch['x'].sum()"),
    ("lacking", "batch", "batch.setdefault('mask', X)\nbatch['mask'].sum()"),
    ("nested", "x, target", "m = target['mask'] or X\nm.sum()"),
    ("objects", "batch", "if batch.mask is not None:\n    batch.mask.sum()"),
    ("slotted", "batch", "batch.x.sum()\nf(mask=batch.mask)"),
    ("encodings", "batch", "m = batch.get('mask')\nf(batch['x'], mask=m)"),
    ("wide", "batch", "batch.double.sum()"),
    ("wide", "batch", "batch.fill()\nbatch.y.sum()"),
    ("wide", "batch", "batch.y = X\nbatch.y.sum()"),
    ("wide", "batch", "setattr(batch, 'y', X)\nbatch.y.sum()"),
    ("wide", "batch", "if hasattr(batch, 'y'):\n    batch.y.sum()"),
    ("wide", "batch", "y = batch.y if hasattr(batch, 'y') else X\ny.sum()"),
    ("wide", "batch", "try:\n    batch.y.sum()\nexcept AttributeError:\n    pass"),
    ("answering", "batch", "batch.y.sum()"),
    ("named", "batch", "batch.x.sum()\nbatch._asdict()\nbatch.count(X)"),
    ("spaces", "batch", "batch.x.sum()\nf(mask=batch.mask)"),
    (
        "outputs",
        "batch",
        "batch.x.sum()\nbatch.keys()\nif batch.mask is not None:\n    batch.mask.sum()",
    ),
    ("encodings", "batch", "batch.x.sum()\nbatch.items()"),
    ("pairs", "batch", "batch.count(X)"),
    ("nested", "x, target", "target.get('mask')"),
]


class Quiet:
    """What a `with` may hold."""

    def __enter__(self) -> None:
        """As `torch.no_grad()` has it."""

    def __exit__(self, *_: object) -> None:
        """End of it."""


def put(batch: dict[str, object]) -> None:
    batch["mask"] = X


def run(text: str, batches: list[Any]) -> str:
    """Give what Python raises."""

    def make() -> Iterator[Any]:
        yield from (dict(one) if type(one) is dict else one for one in batches)

    names = {"make": make, "X": X, "held": Quiet(), "put": put, "i": 1}
    names |= {"f": lambda *_a, **_k: 1, "fill": lambda m: X if m is None else m}
    try:
        exec(text, names)
    except (AttributeError, TypeError, KeyError) as error:
        return type(error).__name__
    return ""


def told(
    taken: str, batches: str, body: str, functions: str = "", **more: bool
) -> tuple[list[Finding], str]:
    """Give what is said of a loop, and what really becomes of it."""
    over = "enumerate(make())" if taken.startswith("i,") else "make()"
    text = f"{functions}for {taken} in {over}:\n    " + body.replace("\n", "\n    ")
    source = f"def make(): ...\n{text}\n"
    loops = [*batch_loops(bodies(ast.parse(source)), "train.py")]
    assert may_loop(source.encode()) or not any(one.uses for one in loops)
    uses = tuple(
        TakenFor(takes=one.takes, file=one.file, asks=one.asks, uses=one.uses, **more)
        for one in loops
    )
    given = tuple(map(structure_of, BATCHES[batches]))
    facts = FirstBatches(name="train:make", ended="enough", batches=given, taken_for=uses)
    return ask("loader-contract", facts), run(text, BATCHES[batches])


@pytest.mark.parametrize(("batches", "taken", "body"), STOPS)
def test_a_loop_that_stops_at_a_part_is_told_with_what_python_says(
    batches: str, taken: str, body: str
) -> None:
    found, raised = told(taken, batches, body)

    (one,) = [each for each in found if each.severity is Severity.ERROR]
    assert str(one.evidence["raises"]).partition(":")[0] == raised
    assert (one.at.file, one.evidence["batch"]) == ("train.py", 2)


@pytest.mark.parametrize(("batches", "taken", "body"), LACK)
def test_an_attribute_that_a_batch_lacks_is_told(batches: str, taken: str, body: str) -> None:
    found, raised = told(taken, batches, body)

    (one,) = [each for each in found if each.severity is Severity.ERROR]
    assert raised == "AttributeError"
    assert str(one.evidence["raises"]).startswith("AttributeError: ")


@pytest.mark.parametrize(("batches", "taken", "body"), GOES_ON)
def test_a_loop_that_goes_on_is_left_alone(batches: str, taken: str, body: str) -> None:
    found, raised = told(taken, batches, body)

    assert raised == ""
    assert [one.message for one in found if one.severity is Severity.ERROR] == []
    if ".get(" in body or ".pop(" in body:
        assert found == []


def test_a_loop_behind_a_test_is_a_warning() -> None:
    found, _ = told("x, m", "pairs", "m.sum()", is_sure=False)

    assert [one.severity for one in found] == [Severity.WARNING]


def test_a_part_that_no_loop_is_known_to_use_is_left_alone() -> None:
    given = tuple(map(structure_of, BATCHES["pairs"]))

    assert ask("loader-contract", FirstBatches(name="a:b", ended="enough", batches=given)) == []


def test_what_a_loop_does_with_parts_is_known_where_the_settings_say_how_it_takes_them() -> None:
    """Of how it takes a batch apart, the settings alone are believed."""
    loop = "for x, {}m in make():\n    {}\n"
    source = "def make(): ...\n" + loop.format("y, ", "x = 1") + loop.format("", "m.sum()")
    loops = [*batch_loops(bodies(ast.parse(source)), "train.py")]
    given = tuple(map(structure_of, BATCHES["pairs"]))
    facts = FirstBatches(name="train:make", ended="enough", batches=given)
    job = Job(root="", loader=(Factory(call="train:make", unpack="x, m"),))
    taken = taken_for(facts, Built(spec="train:make"), loops, job)

    (found,) = ask("loader-contract", replace(facts, taken_for=taken))
    assert (found.at.line, found.evidence["batch"]) == (5, 2)


class Taken(Batch):
    """One that a loop may take apart, and ask for its parts."""

    def __iter__(self) -> Iterator[object]:
        yield from (self.x, self.mask)

    def __getitem__(self, key: str) -> object:
        return getattr(self, key)


BATCHES |= {"bare": [Batch(X, X), Batch(X, X)], "taken": [Taken(X, X), Taken(X, X)]}


@pytest.mark.parametrize(
    ("taken", "body"),
    [("x, m", "x.sum()"), ("batch", "x, m = batch"), ("batch", "batch['x'].sum()")],
)
def test_a_batch_that_has_attributes_only_cannot_be_taken_apart(taken: str, body: str) -> None:
    found, raised = told(taken, "bare", body)

    assert [str(one.evidence["raises"]).partition(":")[0] for one in found] == [raised]
    assert raised == "TypeError"
    assert told(taken, "taken", body) == ([], "")


IN_FUNCTIONS = [
    ("def step(a): return a.sum()\n", "step(m)", True),
    ("def step(x, *, a):\n    'Adds.'\n    y = a\n    return y.sum()\n", "step(x, a=m)", True),
    ("class T:\n    def step(self, a): a.sum()\nt = T()\n", "t.step(m)", False),
    ("def step(a):\n    if a is not None:\n        a.sum()\n", "step(m)", False),
    ("def step(a):\n    a = X\n    a.sum()\n", "step(m)", False),
    ("def step(a):\n    yield a.sum()\n", "step(m)", False),
    ("def step(a): return a.sum()\n", "if m: step(m)", False),
    ("def step(a): return a.sum()\n", "m is None or step(m)", False),
    ("def step(a):\n    if not a: return\n    a.sum()\n", "step(m)", False),
    ("def step(a): return 1\ndef other(a): return a.sum()\n", "step(m)", False),
    (
        "def step(f):\n    def step(a): return 1\n    return step\nstep = step(1)\n",
        "step(m)",
        False,
    ),
    ("@staticmethod\ndef step(a): return a.sum()\nstep = len\n", "step([m])", False),
]


@pytest.mark.parametrize(("functions", "body", "stops"), IN_FUNCTIONS)
def test_what_a_function_of_the_file_does_with_a_part_counts_as_what_the_loop_does(
    functions: str, body: str, *, stops: bool
) -> None:
    found, raised = told("x, m", "pairs", body, functions)

    errors = [one for one in found if one.severity is Severity.ERROR]
    assert raised in ("", "AttributeError")
    assert bool(errors) == stops
    assert bool(raised) == stops or "class T" in functions


METHODS = """\
class Trainer:
    def fit(self):
        for x, m in make():
            self.step(m)

    def step(self, a):
        return a.sum()
"""


@pytest.mark.parametrize(
    ("more", "number"), [("", 1), ("\nclass Own(Trainer):\n    def step(self, a): ...\n", 0)]
)
def test_a_method_that_may_be_another_one_says_nothing(more: str, number: int) -> None:
    loops = [*batch_loops(bodies(ast.parse(f"def make(): ...\n{METHODS}{more}")), "train.py")]

    assert [len(one.uses) for one in loops] == [number]
