"""source-loop-over-tuple is held against what the loop really does."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from preflight.findings.finding import Severity
from tests.asking import of_source
from tests.conftest import Run

found = partial(of_source, "source-loop-over-tuple")


def stops(text: str) -> bool:
    """Whether the function `run` stops at taking something apart."""
    names: dict[str, object] = {}
    exec(compile(text, "train.py", "exec"), names)
    try:
        names["run"]()  # type: ignore[operator]
    except (TypeError, ValueError) as error:
        return "unpack" in str(error)
    return False


LOOP = "def run():\n    for a, b in f():\n        print(a, b)\n"
HEALTHY = {
    "what is handed over": (
        "def f(a, b):\n    return a, b\ndef run():\n    for a, b in f([1, 2], [3, 4]):\n"
        "        print(a, b)\n"
    ),
    "the parts of what is handed over": (
        "def f(t):\n    a, b = t\n    return a, b\ndef run():\n"
        "    for a, b in f(([1, 2], [3, 4])):\n        print(a, b)\n"
    ),
    "a comprehension over pairs": (
        "def f():\n    return [(1, 2)]\ndef run():\n    return [a for a, b in f()]\n"
    ),
    "a comprehension that takes as many": (
        "def run():\n    return {a: b for a, b in zip([1], [2])}\n"
    ),
    "a comprehension with a target of its own": (
        "def run():\n    return [i + a for i, (a, b) in enumerate(zip([1], [2]))]\n"
    ),
    "a generator": f"def f():\n    yield 1, 2\n{LOOP}",
    "a tuple of pairs": f"def f():\n    return (1, 2), (3, 4)\n{LOOP}",
    "a list": f"def f():\n    return [(1, 2)]\n{LOOP}",
    "another return": f"def f(x=1):\n    if x:\n        return [(1, 2)]\n    return 1, 2\n{LOOP}",
    "names that are written out": "def run():\n    for a in (1, 2):\n        print(a)\n",
    "a loop over its parts": (
        "def f():\n    return 1, 2\ndef run():\n    for a in f():\n        print(a)\n"
    ),
    "two texts": f"def f():\n    return 'ab', 'cd'\n{LOOP}",
    "a generator of what is made there": (
        "class A:\n    def f(self):\n        yield 1, 2\ndef run():\n"
        "    for a, b in A().f():\n        print(a, b)\n"
    ),
    "another's method of that name": (
        "class A:\n    def f(self):\n        return 1, 2\n"
        "class B:\n    def f(self):\n        return [(1, 2)]\ndef run():\n"
        "    for a, b in B().f():\n        print(a, b)\n"
    ),
    "a decorator": (
        "def deco(g):\n    return lambda: [g()]\n@deco\ndef f():\n    return 1, 2\n" + LOOP
    ),
    "another function of that name": f"def f():\n    return 1, 2\nf = lambda: [(1, 2)]\n{LOOP}",
    "a parameter of that name": (
        "def f():\n    return 1, 2\ndef g(f):\n    for a, b in f():\n        print(a, b)\n"
        "def run():\n    g(lambda: [(1, 2)])\n"
    ),
    "two slices": f"def f(x=(1, 2, 3, 4)):\n    n = 2\n    return x[:n], x[n:]\n{LOOP}",
    "pairs under names": (
        f"def f():\n    one = (1, 2)\n    two = [3, 4]\n    return one, two\n{LOOP}"
    ),
    "what own calls give": f"def f():\n    return divmod(7, 2), divmod(9, 4)\n{LOOP}",
    "two texts that are split": f"def f(x='a=b'):\n    return x.split('='), x.split('=')\n{LOOP}",
    "sizes": (
        "class A:\n    size = 1, 2\n"
        f"def f(one=A(), two=A()):\n    return one.size, two.size\n{LOOP}"
    ),
}
DAMAGED = {
    "a comprehension": "def f():\n    return 1, 2\ndef run():\n    return [a for a, b in f()]\n",
    "a plain function": f"def f(step=0):\n    step += 1\n    return step, [1]\n{LOOP}",
    "in parentheses": f"def f():\n    return (1, [2])\n{LOOP}",
    "one way gives None": f"def f(x=0):\n    if x:\n        return None\n    return 1, 2\n{LOOP}",
    "a method": (
        "class A:\n    def f(self):\n        return len([1]), 2\n    def run(self):\n"
        "        for a, b in self.f():\n            print(a, b)\ndef run():\n    A().run()\n"
    ),
    "a method of what is made there": (
        "class A:\n    def f(self):\n        return len([1]), 2\ndef run():\n"
        "    for a, b in A().f():\n        print(a, b)\n"
    ),
    "through a name": (
        "def f():\n    return 1, 2\ndef run():\n    it = f()\n"
        "    for a, b in it:\n        print(a, b)\n"
    ),
    "with enumerate": (
        "def f():\n    return 1, 2\ndef run():\n    for i, (a, b) in enumerate(f()):\n"
        "        print(i, a, b)\n"
    ),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_loop_that_runs_is_left_alone(name: str, tmp_path: Path) -> None:
    assert not stops(HEALTHY[name])
    assert found(tmp_path, HEALTHY[name]) == []


@pytest.mark.parametrize("name", DAMAGED)
def test_a_loop_that_stops_is_found(name: str, tmp_path: Path) -> None:
    assert stops(DAMAGED[name])
    (one,) = found(tmp_path, DAMAGED[name])
    assert one.severity is Severity.ERROR
    assert "parts of one tuple" in one.message


ROWS = "def run():\n    one, two = [1, 2], [3, 4]\n"
COUNTED = {
    "more than zip gives": "    for a, b, c in zip(one, two):\n        print(a, b, c)\n",
    "in a comprehension": "    return {a: c for a, b, c in zip(one, two)}\n",
    "fewer": "    for a, b in zip(one, two, one):\n        print(a, b)\n",
    "with a word": "    for a, b, c in zip(one, two, strict=True):\n        print(a, b, c)\n",
    "within enumerate": "    for i, (a, b) in enumerate(zip(one, two, one)):\n        pass\n",
    "enumerate": "    for i, a, b in enumerate(zip(one, two)):\n        print(i, a, b)\n",
    "of calls": "    for a, b in zip(list(one), [*two], sorted(one)):\n        print(a, b)\n",
}
FITTING = {
    "as many": "    for a, b in zip(one, two):\n        print(a, b)\n",
    "with a word": "    for a, b in zip(one, two, strict=True):\n        print(a, b)\n",
    "whole": "    for pair in zip(one, two, one):\n        print(pair)\n",
    "starred": "    for a, *b in zip(one, two, one):\n        print(a, b)\n",
    "of a list": "    for a, b, c in zip(*[one, two, one]):\n        print(a, b, c)\n",
    "within enumerate": "    for i, (a, b) in enumerate(zip(one, two), start=1):\n        pass\n",
    "a trailing comma": "    for a, b in zip(\n        one,\n        two,\n    ):\n        pass\n",
    "their own": (
        "    def zip(*a):\n        return [(1, 2, 3)]\n"
        "    for a, b, c in zip(one, two):\n        print(a, b, c)\n"
    ),
}


@pytest.mark.parametrize("name", COUNTED)
def test_a_loop_that_takes_more_or_fewer_than_zip_gives_stops(name: str, tmp_path: Path) -> None:
    text = ROWS + COUNTED[name]

    assert stops(text)
    (one,) = found(tmp_path, text)
    assert (one.severity, one.at.line) == (Severity.ERROR, 3)
    assert f"gives {one.evidence['gives']}" in one.message


@pytest.mark.parametrize("name", FITTING)
def test_a_loop_that_takes_as_many_as_zip_gives_is_left_alone(name: str, tmp_path: Path) -> None:
    text = ROWS + FITTING[name]

    assert not stops(text)
    assert found(tmp_path, text) == []


def test_whose_parts_nobody_knows_gates_nothing(tmp_path: Path) -> None:
    """They may be pairs."""
    text = f"def f():\n    return first(), second()\n{LOOP}"

    assert [one.severity for one in found(tmp_path, text)] == [Severity.WARNING]


IMPORTED = "from data import f\n" + LOOP
MODULE = "import data\n" + LOOP.replace("f()", "data.f()")


PACKED = "from job.data import (\n    g,\n    f,\n)\n" + LOOP


@pytest.mark.parametrize("path", ["train.py", "."])
@pytest.mark.parametrize("text", [IMPORTED, MODULE])
def test_a_function_of_another_file(text: str, path: str, tmp_path: Path) -> None:
    """The same is said where the script is named and where its folder is."""
    (tmp_path / "data.py").write_text("def f():\n    return 1, 2\n", "utf-8")

    (one,) = found(tmp_path, text, path)

    assert (one.at.line, one.also[0].file, one.also[0].line) == (3, "data.py", 1)


@pytest.mark.parametrize("path", ["train.py", "."])
def test_a_function_of_a_package_behind_an_import_of_many_lines(path: str, tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "data.py").write_text("def f():\n    return 1, 2\n", "utf-8")

    (one,) = found(tmp_path, PACKED, path)

    assert one.also[0].file == "job/data.py"


@pytest.mark.parametrize("path", ["train.py", "."])
def test_a_generator_of_another_file_is_left_alone(path: str, tmp_path: Path) -> None:
    (tmp_path / "data.py").write_text("def f():\n    yield 1, 2\n", "utf-8")

    assert found(tmp_path, IMPORTED, path) == []


def test_which_of_two_files_an_import_names_is_not_guessed(tmp_path: Path) -> None:
    for folder, gives in (("old", "return 1, 2"), ("new", "yield 1, 2")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "data.py").write_text(f"def f():\n    {gives}\n", "utf-8")
    (tmp_path / "other.py").write_text("from old.data import f\n" + LOOP, "utf-8")

    assert {one.at.file for one in found(tmp_path, IMPORTED, ".")} == {"other.py"}


def test_a_file_that_cannot_be_parsed_says_nothing_of_what_it_gives(tmp_path: Path) -> None:
    (tmp_path / "data.py").write_text("def f():\n    return 1, 2\nthis is no Python\n", "utf-8")

    assert found(tmp_path, IMPORTED, ".") == []


def test_a_folder_is_read_so_by_processes_and_remembered(preflight: Run, tmp_path: Path) -> None:
    (tmp_path / "data.py").write_text("def f():\n    return 1, 2\n", "utf-8")
    (tmp_path / "train.py").write_text(IMPORTED, "utf-8")
    words = ("run", "source=.", "--select", "source-loop-over-tuple", "--format", "json")

    first, second = (json.loads(preflight(*words).stdout) for _ in range(2))

    assert [one["at"]["file"] for one in first["findings"]] == ["train.py"]
    assert first["findings"] == second["findings"]


@pytest.mark.parametrize("path", ["train.py", "."])
@pytest.mark.parametrize(
    ("gives", "times"), [("return self.n, len(self.x)", 1), ("yield self.n, 1", 0)]
)
def test_a_method_of_a_class_of_another_file(
    path: str, gives: str, times: int, tmp_path: Path
) -> None:
    (tmp_path / "feed.py").write_text(
        f"class Feed:\n    n = 0\n    def pull(self):\n        {gives}\n", "utf-8"
    )
    text = "from feed import Feed\ndef run():\n    for a, b in Feed().pull():\n        print(a)\n"

    assert len(found(tmp_path, text, path)) == times
