"""What a finding about a function says to do is done: what is given then reaches a real worker."""

from __future__ import annotations

import importlib
import json
import linecache
import multiprocessing
import re
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from torch.utils.data import DataLoader

from preflight.findings.finding import Finding
from preflight.loaders.sent import Known, walk_loader
from preflight.objects import eval_code
from preflight.testing import ask

pytestmark = pytest.mark.usefixtures("at_hand")

SOURCE = '''\
import functools
import operator

def f(*args, **named):
    return args

class Stage:
    scale = 2
    def __call__(self, x):
        return x
    def work(self, x):
        return x
    @staticmethod
    def still(x):
        return x

STAGE = Stage()

def of_top_level():
    return lambda x: f(x)

def of_all_arguments():
    return lambda *args, **named: f(*args, **named)

def of_two():
    return lambda sample, key: f(sample, key)

def of_a_local_name():
    g = f
    return lambda x: g(x)

def of_a_local_partial():
    g = functools.partial(f, 1)
    return lambda x: g(x)

def of_a_method():
    stage = Stage()
    return lambda x: stage.work(x)

def of_a_callable_object():
    stage = Stage()
    return lambda x: stage(x)

def of_a_method_of_the_module():
    return lambda x: STAGE.work(x)

def of_a_static_method():
    return lambda x: Stage.still(x)

def of_another_module():
    return lambda a, b: operator.add(a, b)

def of_a_class():
    return lambda x: Stage()

def of_a_class_of_one():
    return lambda x: list(x)

def of_a_def():
    g = f
    def inner(x):
        """Say nothing."""
        return g(x)
    return inner
'''

GIVEN = {
    "of_top_level": "f",
    "of_all_arguments": "f",
    "of_two": "f",
    "of_a_local_name": "g",
    "of_a_local_partial": "g",
    "of_a_method": "stage.work",
    "of_a_callable_object": "stage",
    "of_a_method_of_the_module": "STAGE.work",
    "of_a_static_method": "Stage.still",
    "of_another_module": "operator.add",
    "of_a_class_of_one": "list",
    "of_a_def": "g",
}

# These do more than to call another one, or not just with what they are given.
MORE = """\
def f(*args, **named):
    return args

wrapped = lambda x: f(x)
wrapped.__qualname__ = "nothing"

def with_a_value():
    return lambda x: f(x, 2)

def in_another_order():
    return lambda a, b: f(b, a)

def with_a_default():
    return lambda x, n=3: f(x, n)

def by_a_name():
    return lambda x: f(key=x)

def of_what_it_is_given():
    return lambda x: x.lower()

def called_twice():
    return lambda x: f(f(x))

def of_a_lambda_of_the_module():
    return lambda x: wrapped(x)

def with_a_star():
    return lambda x: f(*x)

def only_named():
    return lambda *, x: f(x)

def of_two_in_a_line():
    return [lambda x: f(x), lambda x: f(x, 1)][1]
"""


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def module(folder: Path, name: str, text: str) -> ModuleType:
    (folder / f"{name}.py").write_text(text, encoding="utf-8")
    importlib.invalidate_caches()
    return importlib.import_module(name)


def found(thing: object, folder: Path) -> list[Finding]:
    loader = DataLoader([thing], num_workers=1, multiprocessing_context="spawn")  # type: ignore[arg-type]
    return ask("loader-unpicklable", walk_loader(loader, Known("train:make", str(folder))))


def reach_a_worker(things: list[Any]) -> bool:
    """Send things to a worker that is really spawned."""
    worker = multiprocessing.get_context("spawn").Process(target=print, args=things)
    worker.start()
    worker.join(60)
    return worker.exitcode == 0


def test_what_only_passes_on_is_given_by_itself(folder: Path) -> None:
    """No partial is needed; written as it is said, each of them comes to a worker."""
    functions = module(folder, "passing", SOURCE)
    said = {}
    for name in GIVEN:
        (one,) = found(getattr(functions, name)(), folder)
        match = re.match(r"Give it ([\w.]+) itself: ", one.fix or "")
        assert match, (name, one.fix)
        said[name] = match[1]
    assert said == GIVEN

    mended = SOURCE
    for name, callee in said.items():
        pattern = rf"(def {name}\(\):\n(?:    .*\n)*?    return )(lambda .*|inner)\n"
        mended = re.sub(pattern, rf"\g<1>{callee}\n", mended)
    after = module(folder, "mended", mended)
    things = [getattr(after, name)() for name in GIVEN]
    assert "lambda" not in "".join(map(repr, things))
    assert reach_a_worker(things)


def test_a_thread_is_left_out_and_its_inner_function_is_not_to_be_moved(folder: Path) -> None:
    told = found([threading.Thread(target=print)], folder)

    functions = [one for one in told if "function invoke_excepthook" in one.message]
    assert functions
    assert all((one.fix or "").startswith("Leave it out of what is sent") for one in functions)


OF_MODULES = """\
import random
def seed():
    return lambda number: random.seed(number)
def draw():
    return lambda below: random.randrange(below)
"""


@pytest.mark.parametrize("name", ["seed", "draw"])
def test_a_function_of_an_object_that_a_module_hides_is_not_given_by_itself(
    folder: Path, name: str
) -> None:
    """A copy of that object is sent, and the worker's own one is never seeded."""
    (one,) = found(getattr(module(folder, "of_modules", OF_MODULES), name)(), folder)

    assert "itself" not in (one.fix or "")
    assert "Make it a function with a name (def) at the top level of its module" in (one.fix or "")


OF_ITS_OWN = """\
class Set:
    def __init__(self):
        self.load = lambda x: self.read(x)
    def read(self, x):
        return x
"""


def test_a_method_of_the_object_that_holds_the_function_is_given_by_itself(folder: Path) -> None:
    holder = module(folder, "of_its_own", OF_ITS_OWN).Set()
    (one,) = found(holder, folder)
    assert (one.fix or "").startswith("Give it self.read itself: ")

    mended = OF_ITS_OWN.replace("lambda x: self.read(x)", "self.read")
    assert reach_a_worker([module(folder, "of_its_own_mended", mended).Set()])


@pytest.mark.parametrize("name", re.findall(r"def (\w+)\(\)", MORE))
def test_what_does_more_is_not_given_away(folder: Path, name: str) -> None:
    functions = module(folder, f"more_{name}", MORE)
    (one,) = found(getattr(functions, name)(), folder)

    assert "itself" not in (one.fix or "")


DECORATED = """\
import functools

def logged(function):
    {wraps}
    def inner(x):
        print(x)
        return function(x)
    return inner

@logged
def decode(x):
    return x

class Decoders:
    @staticmethod
    @logged
    def png(x):
        return x

{cache}
def cached(x):
    return x

def make():
    {local}
    def inner(x):
        return x
    return inner
"""


def test_what_a_decorator_has_made_is_mended_in_the_decorator(folder: Path) -> None:
    """It stands at the top level already, under the name of what was decorated."""
    odd = module(folder, "odd", DECORATED.format(wraps="", cache="@functools.cache", local=""))
    for made in (odd.decode, odd.Decoders.png):
        (one,) = found(made, folder)
        assert one.evidence["kind"] == "decorated"
        assert (one.fix or "").startswith("Put functools.wraps on it in its decorator")
    assert found(odd.cached, folder) == []

    mended = DECORATED.format(
        wraps="@functools.wraps(function)", cache="@functools.cache", local=""
    )
    after = module(folder, "decorated", mended)
    assert found(after.decode, folder) == found(after.Decoders.png, folder) == []
    assert reach_a_worker([after.decode, after.Decoders.png, after.cached])


@pytest.mark.parametrize("cache", ["cache", "lru_cache", "lru_cache(maxsize=9)"])
def test_what_is_cached_is_told_as_the_function_that_it_is(folder: Path, cache: str) -> None:
    text = DECORATED.format(wraps="", cache="", local=f"@functools.{cache}")
    (one,) = found(module(folder, f"local_{len(cache)}", text).make(), folder)

    line = text.splitlines().index("    def inner(x):\n        return x".splitlines()[0], 25) + 1
    assert (one.evidence["kind"], one.at.line) == ("local-function", line)
    assert (one.fix or "").startswith("Make it a function with a name (def) at the top level")


LOCAL = """\
import threading

def local_identity():
    def identity(x):
        return x
    return lambda x: identity(x)

def with_more():
    lock, n = threading.Lock(), 3
    def identity(x):
        return x
    return lambda x: identity(x) + n if lock else n

def both():
    def identity(x):
        return x
    return [identity, lambda x: identity(x) + 1]
"""


def test_what_a_function_holds_is_named_as_it_is_written(folder: Path) -> None:
    functions = module(folder, "local", LOCAL)
    (one,) = found(functions.local_identity(), folder)
    (more,) = found(functions.with_more(), folder)

    assert (one.fix or "").startswith("Define identity, local.py:4, at the top level of its module")
    assert "functools.partial" not in (one.fix or "")
    assert "takes n as an argument" in (more.fix or "")  # neither the lock nor the function
    assert (more.fix or "").endswith("there: identity, local.py:10; lock, _thread.lock.")
    assert not re.search("closure|builtins", (one.fix or "") + (more.fix or ""))


def test_what_is_told_by_itself_is_not_told_again(folder: Path) -> None:
    told = found(module(folder, "both", LOCAL).both(), folder)

    assert len(told) == 2
    assert not [one for one in told if "cannot be sent either" in (one.fix or "")]


EVALUATED = """\
import collections
import dataclasses
import json
import pathlib

CONFIG = json.loads(pathlib.Path(__file__).with_suffix(".json").read_text())

def of_a_config():
    return eval(CONFIG["keep"])

def of_text():
    scope = {}
    exec("def scaled(x):\\n    return x * 2\\n", scope)
    return scope["scaled"]

def of_code():
    return eval(compile("lambda x: x - 1", "<string>", "eval"))
"""


def test_what_was_evaluated_is_placed_where_it_was(folder: Path) -> None:
    """With the code, which stands in a file of settings, say."""
    eval_code.listen()
    (folder / "stages.json").write_text(json.dumps({"keep": "lambda x: x > 7"}), encoding="utf-8")
    stages = module(folder, "stages", EVALUATED)
    told = {}
    for name in ("of_a_config", "of_text", "of_code"):
        (one,) = found(getattr(stages, name)(), folder)
        told[name] = (one.at.file, one.at.line, one.message)

    assert [one[:2] for one in told.values()] == [
        ("stages.py", 9),
        ("stages.py", 13),
        ("stages.py", 17),
    ]
    assert "`lambda x: x > 7`" in told["of_a_config"][2]
    assert "`def scaled(x): return x * 2`" in told["of_text"][2]
    assert "`lambda x: x - 1`" in told["of_code"][2]


def test_what_was_evaluated_before_anybody_listened_is_searched_for(folder: Path) -> None:
    """In a live process the module is known, and the one call in it."""
    text = 'CODE = "lambda x: x"\n\n\ndef make():\n    return eval(CODE)\n'
    thing = module(folder, "earlier", text).make()
    eval_code._noted.pop(id(thing.__code__), None)
    (one,) = found(thing, folder)

    assert (one.at.file, one.at.line) == ("earlier.py", 5)


def test_what_python_keeps_of_its_own_command_hides_no_place(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python 3.13 keeps what `python -c` runs under the name that all evaluated code has."""
    lines = ["import sys\n", "run()\n"]
    monkeypatch.setitem(linecache.cache, "<string>", (20, None, lines, "<string>"))
    text = 'CODE = "lambda x: x - 7"\n\n\ndef make():\n    return eval(CODE)\n'
    (one,) = found(module(folder, "beside", text).make(), folder)

    assert (one.at.file, one.at.line) == ("beside.py", 5)


def test_what_a_notebook_keeps_is_in_its_own_place(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, text = "<cell 3>", "make = lambda x: x - 8\n"
    monkeypatch.setitem(linecache.cache, name, (len(text), None, [text], name))
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, name, "exec"), scope)
    (one,) = found(scope["make"], folder)

    assert (one.at.file, one.at.line) == (name, 1)


def test_where_two_calls_could_have_been_it_none_is_named(folder: Path) -> None:
    text = (
        'CODE = "lambda x: x * 5"\n\n\ndef make():\n    return eval(CODE)\n\n\nother = eval("1")\n'
    )
    thing = module(folder, "twice", text).make()
    eval_code._noted.pop(id(thing.__code__), None)
    (one,) = found(thing, folder)

    assert one.at.file == "<string>"


class Part:
    """Keeps a lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


def test_many_locks_are_one_finding(folder: Path) -> None:
    """In under a second, as `tests/benchmarks/test_copies.py` measures."""
    (one,) = found([Part() for _ in range(300)], folder)

    assert "one of 300 that are kept alike" in one.message
    assert len(one.also) == 299


def multiplies(number: int) -> Callable[[int], int]:
    return lambda x: x * number


def test_two_functions_of_one_line_stay_two(folder: Path) -> None:
    assert len(found([lambda x: x, lambda x: x + 1], folder)) == 2


def test_a_function_that_is_made_again_and_again_is_one(folder: Path) -> None:
    (one,) = found([multiplies(number) for number in range(9)], folder)

    assert len(one.also) == 8


EVALUATED_OTHERWISE = """\
import collections

def of_a_name_that_is_no_file():
    scope = {}
    exec(compile("\\n\\nf = lambda x: x - 2", "rules.cfg", "exec"), scope)
    return scope["f"]

def of_many_lines():
    scope = {}
    exec("# rules\\nf = lambda x: x - 3\\n\\n\\ng = lambda x: x - 4\\n", scope)
    return scope["g"]

def of_code_in_code():
    scope = {}
    exec("exec('f = lambda x: x - 5')", scope)
    return scope["f"]

def of_a_class():
    scope = {}
    exec("class Rule:\\n    def __call__(self, x):\\n        return x - 6\\n", scope)
    return scope["Rule"]

def of_a_tuple():
    return collections.namedtuple("Point", "x y")

def of_what_was_put_together():
    scope = {}
    exec("def apply(self, x):\\n    return x - 8\\n", scope)
    return type("Scale", (), {"apply": scope["apply"]})
"""


@pytest.mark.parametrize(
    ("name", "line", "said"),
    [
        ("of_a_name_that_is_no_file", 5, "`lambda x: x - 2`"),
        ("of_many_lines", 10, "`lambda x: x - 4`"),
        ("of_code_in_code", 15, "`lambda x: x - 5`"),
        ("of_a_class", 20, "`class Rule: def __call__(self, x): return x - 6`"),
        ("of_a_tuple", 24, "class Point, which other_ways does not hold"),
        ("of_what_was_put_together", 28, "class Scale, which other_ways does not hold"),
    ],
)
def test_whatever_was_evaluated_is_placed_where_it_was(
    folder: Path, name: str, line: int, said: str
) -> None:
    """Of many lines the function's own are told, and of a class its own."""
    eval_code.listen()
    (one,) = found(getattr(module(folder, "other_ways", EVALUATED_OTHERWISE), name)(), folder)

    assert (one.at.file, one.at.line) == ("other_ways.py", line)
    assert said in one.message


def test_what_stands_in_the_file_that_it_names_is_placed_there(folder: Path) -> None:
    """A healthy neighbour: the text is that of the file, so that its lines are right."""
    eval_code.listen()
    (folder / "rules.txt").write_text("# rules\n\nf = lambda x: x - 9\n", encoding="utf-8")
    text = (
        "import pathlib\n\nPATH = pathlib.Path(__file__).with_name('rules.txt')\n\n\n"
        "def make(change=''):\n    scope = {}\n"
        "    exec(compile(change + PATH.read_text(), str(PATH), 'exec'), scope)\n"
        "    return scope['f']\n"
    )
    made = module(folder, "reads", text)
    (one,) = found(made.make(), folder)
    (other,) = found(made.make("import os\n\n"), folder)

    assert (one.at.file, one.at.line) == ("rules.txt", 3)
    assert (other.at.file, other.at.line) == ("reads.py", 8)
    assert "`lambda x: x - 9`" in other.message


def test_code_of_a_file_is_not_taken_for_the_same_that_was_evaluated(folder: Path) -> None:
    """Python calls code equal that does the same in a line of the same number."""
    eval_code.listen()
    text = "f = lambda x: x - 10\n\n\ndef make():\n    return eval('lambda x: x - 10')\n"
    both = module(folder, "alike", text)
    (evaluated,) = found(both.make(), folder)
    (written,) = found(both.f, folder)

    assert (evaluated.at.line, written.at.line) == (5, 1)
    assert "evaluated" not in written.message
