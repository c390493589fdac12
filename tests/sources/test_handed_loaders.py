"""A loader is followed from the call that hands it on to the loop over it, in any file."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from preflight.sources.batch_loops.handed import handed_on, over_loaders
from preflight.sources.batch_loops.loops import batch_loops, may_loop
from preflight.sources.flaws.facts import BatchLoop
from preflight.syntax.bodies import bodies
from preflight.targets.targets import Source
from tests.read_sources import read_source

ENGINE = """
def train(model, loader, *, valid=None):
    for x, y in loader: pass
    for p, q in valid: pass

def outer(loader):
    train(None, loader)

class Trainer:
    def __init__(self, model, loader):
        self.loader = loader
    def run(self):
        for a, b, c in self.loader: pass
    def fit(self, batches):
        self.once(batches)
    def once(self, given):
        for d, e in given: pass
    @staticmethod
    def still(given):
        for f, g in given: pass

def twice(loader):
    for x, y in loader: pass

def twice(loader):
    for x, y, z in loader: pass
"""
HEAD = """
from data import make, both
import engine
from engine import Trainer, outer, train, twice
from other import train as others
"""


def loops(text: str, **more: str) -> list[BatchLoop]:
    """Put together the loops of a script, of what it calls, and of other files."""
    files = {"job/main.py": HEAD + text, "job/engine.py": ENGINE}
    files |= {f"job/{name}.py": each for name, each in more.items()}
    every = {name: bodies(ast.parse(each)) for name, each in files.items()}
    own = {name: [*batch_loops(each, name)] for name, each in every.items()}
    handed = [call for name, each in every.items() for call in handed_on(each, name, own[name])]
    return list(over_loaders([loop for each in own.values() for loop in each], handed))


def apart(found: list[BatchLoop]) -> list[tuple[str, str, str, str]]:
    return [(one.takes, one.module, one.maker, one.pick) for one in found]


TRAINED = ("x, y", "data", "make", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("train(None, make())", [TRAINED]),
        ("def main():\n    loader = make()\n    engine.train(None, loader=loader)", [TRAINED]),
        ("def main():\n    loader = make()\n    train(None, tqdm(loader))", [TRAINED]),
        ("def main():\n    a, b = both()\n    train(None, iter(a), valid=iter(b))", [
            ("x, y", "data", "both", "[0]"), ("p, q", "data", "both", "[1]")
        ]),
        ("outer(make())", [TRAINED]),
        ("def own(): ...\nouter(own())", [("x, y", "./job/main", "own", "")]),
        ("Trainer(None, make()).run()", [("a, b, c", "data", "make", "")]),
        ("t = Trainer(None, None)\nt.fit(make())", [("d, e", "data", "make", "")]),
        ("t = engine.Trainer(None, None)\nt.still(make())", [("f, g", "data", "make", "")]),
        ("class Own:\n    def go(self, dl):\n        train(None, dl)\nOwn().go(make())", [TRAINED]),
    ],
)  # fmt: skip
def test_a_loader_is_followed_into_what_it_is_handed_to(
    text: str, expected: list[tuple[str, str, str, str]]
) -> None:
    assert apart(loops(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "train(None, unknown())",
        "train(make(), None)",
        "others(None, make())",
        "twice(make())",
        "def train(a, b): ...\ntrain(None, make())",
        "def main(train):\n    train(None, make())",
        "def main(loader):\n    train(None, loader)",
        "both_of = make(), 1\ntrain(*both_of)",
        "try:\n    train(None, make())\nexcept ValueError:\n    pass",
        "loader = make()\nloader = [1]\ntrain(None, loader)",
        "Other(None, make()).run()",
    ],
)
def test_what_is_not_known_to_be_handed_there_is_passed_over(text: str) -> None:
    assert loops(text) == []


def test_a_call_behind_a_test_makes_the_loop_unsure() -> None:
    text = "def main(c):\n    if c:\n        train(None, make())"

    assert [one.is_sure for one in loops(text)] == [False]


def test_functions_that_call_each_other_come_to_an_end() -> None:
    around = "def f(dl):\n    g(dl)\n    for x, y in dl: pass\ndef g(dl):\n    f(dl)\ng(make())"

    assert apart(loops(around)) == [TRAINED]


def test_a_module_is_told_from_another_one_of_its_name() -> None:
    """Beside the job's own `engine` stands one in a package, which is not meant."""
    other = "def train(model, loader):\n    for r, s, t in loader: pass"

    assert apart(loops("train(None, make())", **{"lib/engine_too": other})) == [TRAINED]


FIT = "def fit(loader):\n    for x, y in loader: pass"


@pytest.mark.parametrize(
    ("text", "files", "is_found"),
    [
        ("from pkg import fit\nfit(make())", {"pkg/engine": FIT}, True),
        ("import pkg\npkg.fit(make())", {"pkg/deep/engine": FIT}, True),
        ("from pkg import fit\nfit(make())", {"pkg/one": FIT, "pkg/two": FIT}, False),
        ("from pkg import fit\nfit(make())", {"other/engine": FIT}, False),
        ("from pkg.two import fit\nfit(make())", {"pkg/one": FIT}, False),
    ],
)
def test_what_a_package_hands_on_is_found_where_it_alone_has_the_name_below(
    text: str, files: dict[str, str], *, is_found: bool
) -> None:
    found = loops(text, **files)

    assert apart(found) == ([TRAINED] if is_found else [])
    assert not any(one.is_sure for one in found)


def test_what_a_package_itself_has_is_meant() -> None:
    own = {"pkg/__init__": FIT, "pkg/engine": FIT.replace("x, y", "x, y, z")}
    found = loops("from pkg import fit\nfit(make())", **own)

    assert (apart(found), [one.is_sure for one in found]) == ([TRAINED], [True])


def test_a_package_that_hands_on_is_read_with_the_file_of_a_factory(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("from .engine import fit\n", "utf-8")
    (tmp_path / "pkg" / "engine.py").write_text(FIT, "utf-8")
    text = (
        "from pkg import fit\ndef make(): ...\ndef main():\n    loader = make()\n    fit(loader)\n"
    )
    (tmp_path / "train.py").write_text(text, "utf-8")

    facts = read_source(Source(path="train.py", implied=True), str(tmp_path), {})

    assert apart([*facts.loops]) == [("x, y", "./train", "make", "")]


def test_the_file_of_a_factory_is_read_with_what_it_hands_loaders_to(tmp_path: Path) -> None:
    """Nobody has named the files in which these loops stand."""
    (tmp_path / "engine.py").write_text(ENGINE, "utf-8")
    (tmp_path / "train.py").write_text(
        "from engine import outer\ndef make(): ...\n"
        "def main():\n    loader = make()\n    outer(loader)\n",
        "utf-8",
    )

    facts = read_source(Source(path="train.py", implied=True), str(tmp_path), {})

    assert apart([*facts.loops]) == [("x, y", "./train", "make", "")]
    assert facts.files == 1


@pytest.mark.parametrize("module", ["import loop", "from loop import fit, Trainer"])
@pytest.mark.parametrize("call", ["fit(build(), None)", "Trainer(build()).run()"])
@pytest.mark.parametrize("inside", [False, True], ids=["above", "in the function"])
def test_a_loader_that_is_made_as_an_argument_is_followed_by_whatever_name(
    tmp_path: Path, module: str, call: str, *, inside: bool
) -> None:
    (tmp_path / "loop.py").write_text(
        "def fit(rows, model):\n    for x, y in rows: pass\n"
        "class Trainer:\n"
        "    def __init__(self, rows):\n        self.rows = rows\n"
        "    def run(self):\n        for step, (x, y) in enumerate(self.rows): pass\n",
        "utf-8",
    )
    call = call if module.startswith("from") else f"loop.{call}"
    above, within = ("", f"    {module}\n") if inside else (f"{module}\n", "")
    (tmp_path / "train.py").write_text(
        f"{above}def build(): ...\ndef main():\n{within}    {call}\nmain()\n", "utf-8"
    )

    for implied in (True, False):
        facts = read_source(Source(path="train.py", implied=implied), str(tmp_path), {})
        assert apart([*facts.loops]) == [("x, y", "./train", "build", "")]


@pytest.mark.parametrize(
    ("call", "may"),
    [
        ("train(model, loader)", True),
        ("train(\n    model,\n    loader=self.loaders['train'],\n)", True),
        ("fit(train_dl)", True),
        ("fit(make_loader(), model)", True),
        ("loop.fit(model, loader=data.train_loader('a.tar', workers=2))", True),
        ("Trainer(\n    build_dataloader(config), model\n).fit()", True),
        ("loader = make_loader()", False),
        ("print(len(loader))", True),
        ("yaml_load(path)", False),
    ],
)
def test_a_file_that_may_hand_on_a_loader_is_known_by_its_text(call: str, *, may: bool) -> None:
    assert may_loop(call.encode()) == may
