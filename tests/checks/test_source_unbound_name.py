"""source-unbound-name is held against what happens when the handler is really come to."""

from __future__ import annotations

import queue
from functools import partial
from pathlib import Path

import pytest

from preflight.findings.finding import Severity
from tests.asking import of_source

found = partial(of_source, "source-unbound-name")


def fail(*_: object) -> object:
    raise ValueError("as on purpose")


def empty(*_: object, **__: object) -> object:
    raise queue.Empty


def late(*given: object) -> object:
    if given:
        raise TimeoutError
    return ()


def dies(text: str) -> bool:
    """Whether the function `f` stops with a name that has no value."""
    names = {"fail": fail, "get": empty, "queue": queue, "log": lambda *_: None, "ok": lambda: 1}
    names["ask"] = late
    exec(compile(text, "train.py", "exec"), names)
    try:
        names["f"]()  # type: ignore[operator]
    except UnboundLocalError:
        return True
    except Exception:  # noqa: BLE001  # whatever else it is, the name had a value
        return False
    return False


HEALTHY = {
    "what raises before is caught before": (
        "try:\n        x = get(timeout=1)\n        log(x)\n    except queue.Empty:\n        pass\n"
        "    except Exception:\n        log(x)"
    ),
    "a test of the error, which a later line may raise": (
        "try:\n        x = 1\n        fail()\n"
        "    except ValueError as e:\n        if 'memory' in str(e):\n            log(x)"
    ),
    "bound before the try": (
        "x = None\n    try:\n        x = fail()\n    except ValueError:\n        log(x)"
    ),
    "bound in both branches before": (
        "if ok():\n        x = 1\n    else:\n        x = 2\n"
        "    try:\n        x = fail()\n    except ValueError:\n        log(x)"
    ),
    "bound first in the try": (
        "try:\n        x = 1\n        fail()\n    except ValueError:\n        log(x)"
    ),
    "bound first after a log": (
        "try:\n        print('a')\n        x = str(1)\n        x += fail()\n"
        "    except ValueError:\n        log(x)"
    ),
    "bound by the handler": (
        "try:\n        x = fail()\n    except ValueError:\n        x = 1\n        log(x)"
    ),
    "read in else": (
        "try:\n        x = ok()\n    except ValueError:\n        log()\n    else:\n        log(x)"
    ),
    "bound by with": (
        "import io\n    with io.StringIO() as x:\n        try:\n            x = fail()\n"
        "        except ValueError:\n            log(x)"
    ),
    "bound by a loop around": (
        "for x in range(2):\n        try:\n            x = fail()\n"
        "        except ValueError:\n            log(x)"
    ),
    "a name of a comprehension": (
        "try:\n        y = [x for x in fail()]\n    except ValueError:\n"
        "        log([x for x in (1, 2)])"
    ),
    "global": (
        "global x\n    x = 0\n    try:\n        x = fail()\n    except ValueError:\n        log(x)"
    ),
    "nonlocal": (
        "x = 0\n    def g():\n        nonlocal x\n        try:\n            x = fail()\n"
        "        except ValueError:\n            log(x)\n    g()"
    ),
    "walrus before": (
        "if (x := ok()):\n        log()\n    try:\n        x = fail()\n"
        "    except ValueError:\n        log(x)"
    ),
    "match before": (
        "match ok():\n        case x:\n            log()\n    try:\n        x = fail()\n"
        "    except ValueError:\n        log(x)"
    ),
    "a test of how far it came": (
        "done = False\n    try:\n        x = fail()\n        done = True\n        log(x)\n"
        "    except ValueError:\n        if done:\n            log(x)"
    ),
    "a test of locals()": (
        "try:\n        x = fail()\n    except ValueError:\n"
        "        if 'x' in locals():\n            log(x)"
    ),
    "a handler that leaves before": (
        "try:\n        x = fail()\n    except ValueError:\n        return\n        log(x)"
    ),
    "a try of its own": (
        "try:\n        x = fail()\n    except ValueError:\n        try:\n            log(x)\n"
        "        except NameError:\n            log()"
    ),
    "only in a lambda": "try:\n        x = fail()\n    except ValueError:\n        log(lambda: x)",
    "a place that was looked for before": (
        "d = {1: 2}\n    if 1 in d:\n        try:\n            x = d[1]\n            fail(x)\n"
        "        except Exception:\n            log(x)"
    ),
    "a conversion before": (
        "def ensure_tuple(y):\n        return tuple(y)\n    try:\n        x = ensure_tuple('ab')\n"
        "        fail(x)\n    except Exception:\n        log(x)"
    ),
    "a class of the handler": (
        "d = {}\n    try:\n        x = d[1]\n    except KeyError:\n        class x:\n"
        "            y = 1\n        x.z = 2\n        log(x)"
    ),
    "a function of the handler": (
        "try:\n        x = fail()\n    except ValueError:\n        def x():\n            log()\n"
        "        x()"
    ),
    "a loop over a list that was filled later": (
        "done = []\n    try:\n        x = fail()\n        done.append(1)\n        fail(x)\n"
        "    except Exception:\n        for one in done:\n            log(one, x)"
    ),
    "an exception of a later line": (
        "import json\n    try:\n        x = ok()\n        json.loads('{')\n"
        "    except json.JSONDecodeError:\n        log(x)"
    ),
}

DAMAGED = {
    "the first statement": "try:\n        x = fail()\n    except ValueError:\n        log(x)",
    "bare": "try:\n        x = fail()\n    except:\n        log(x)",
    "with others before": (
        "try:\n        fail()\n        x = 1\n    except Exception:\n        log(x)"
    ),
    "behind a test of the error": (
        "try:\n        x = fail()\n    except ValueError as e:\n"
        "        if 'memory' not in str(e):\n            del x"
    ),
    "once the error was tested": (
        "try:\n        x = fail()\n    except ValueError as e:\n"
        "        if 'memory' in str(e):\n            raise\n        log(x)"
    ),
    "deleted": "try:\n        x = fail()\n    except ValueError:\n        del x",
    "added to": "try:\n        x = fail()\n    except ValueError:\n        x += 1",
    "in a with": (
        "import contextlib\n    try:\n        with contextlib.nullcontext():\n"
        "            x = fail()\n"
        "    except ValueError:\n        log(x)"
    ),
    "of a loop": (
        "try:\n        for x in fail():\n            log()\n    except Exception:\n        log(x)"
    ),
    "an import": "try:\n        import there_is_none as x\n    except ImportError:\n        log(x)",
    "a queue, asked with a time": (
        "try:\n        x = [get(timeout=1)]\n    except queue.Empty:\n        if len(x) > 0:\n"
        "            log()"
    ),
    "in a loop over another list": (
        "done = [1]\n    try:\n        x = fail()\n    except ValueError:\n"
        "        for one in done:\n            log(one, x)"
    ),
    "in a test of itself": (
        "try:\n        x = fail()\n    except ValueError:\n"
        "        if x is not None:\n            log()"
    ),
}


# What the functions of a file raise, by what stands in them.
OWN = """
import json, queue
class Late(OSError): ...
class Odd(Late): ...
def fetch(u):
    if u is None: return u
    raise {raised}(u)
def through(u): return [fetch(u)]
def coped(u):
    try: return fetch(u)
    except OSError: return u
def told(u):
    try: return fetch(u)
    except OSError: raise
def items(u):
    yield fetch(u)
def decode(r): return r
def parse(r): return int(r)
"""

OWN_HEALTHY = {
    "another exception": (
        "KeyError",
        "try:\n        r = fetch(1)\n        x = parse(r)\n    except OSError:\n        log(x)",
    ),
    "coped with there": (
        "OSError",
        (
            "try:\n        r = coped('a')\n        x = decode(r)\n        json.load(open(x))\n"
            "    except OSError:\n        log(x)"
        ),
    ),
    "made, and gone over later": (
        "OSError",
        (
            "try:\n        x = items(1)\n        json.load(open('none'))\n"
            "    except OSError:\n        log(x)"
        ),
    ),
    "by a name that is another's": (
        "OSError",
        (
            "fetch = str\n    try:\n        x = fetch(1)\n        json.load(open('none'))\n"
            "    except OSError:\n        log(x)"
        ),
    ),
    "behind the value": (
        "OSError",
        "try:\n        x = decode(1)\n        fetch(x)\n    except OSError:\n        log(x)",
    ),
    "by what nobody knows, and something behind": (
        "OSError",
        (
            "try:\n        x = list(ask())\n        for y in open('none'):\n            log(y)\n"
            "    except OSError:\n        log(x)"
        ),
    ),
    "a queue that is waited for": (
        "OSError",
        (
            "q = queue.Queue()\n    q.put(1)\n    try:\n        x = q.get()\n"
            "        q.get(timeout=0.01)\n    except queue.Empty:\n        log(x)"
        ),
    ),
    "a queue that is waited for, as is written": (
        "OSError",
        (
            "q = queue.Queue()\n    q.put(1)\n    try:\n        x = q.get(True, None)\n"
            "        q.get(block=False)\n    except queue.Empty:\n        log(x)"
        ),
    ),
    "a full queue that is waited for": (
        "OSError",
        (
            "q = queue.Queue(1)\n    try:\n        x = q.put(1)\n        q.put(1, False)\n"
            "    except queue.Full:\n        log(x)"
        ),
    ),
}

OWN_DAMAGED = {
    "raised there": ("IOError", "r = fetch(1)\n        x = decode(r)"),
    "raised there, by its first name": ("OSError", "r = fetch(1)\n        x = decode(r)"),
    "a narrower one": ("FileNotFoundError", "x = decode(fetch(1))\n        queue.put(x)"),
    "one of the file's own": ("Odd", "x = fetch(1)\n        queue.put(x)"),
    "further in": ("OSError", "r = through(1)\n        x = decode(r)"),
    "further on": ("OSError", "r = told(1)\n        x = decode(r)"),
    "with more behind": ("OSError", "x = fetch(1)\n        open(x).read()"),
    "by what nobody knows": ("OSError", "r = ask(1)\n        x = decode(r)\n        done.put(x)"),
    "at once": ("OSError", "raise Odd\n        x = fetch(1)"),
}


def of_file(raised: str, text: str) -> str:
    return f"{OWN.format(raised=raised)}\ndef f():\n    {text}\n"


@pytest.mark.parametrize("name", OWN_HEALTHY)
def test_what_a_call_cannot_raise_is_left_alone(name: str, tmp_path: Path) -> None:
    text = of_file(*OWN_HEALTHY[name])

    assert not dies(text)
    assert found(tmp_path, text) == []


@pytest.mark.parametrize("name", OWN_DAMAGED)
def test_what_a_function_of_the_file_raises_is_known(name: str, tmp_path: Path) -> None:
    raised, block = OWN_DAMAGED[name]
    text = of_file(raised, f"try:\n        {block}\n    except OSError:\n        log(x)")

    assert dies(text)
    (one,) = found(tmp_path, text)
    assert one.at.line == len(text.splitlines())


METHOD = """
class Feed:
    def get(self, u):
        raise {}
    def f(self):
        try:
            raw = self.get(1)
            x = str(raw)
            open(x)
        except OSError:
            log(x)
"""


def test_a_method_of_the_same_class_is_followed(tmp_path: Path) -> None:
    (one,) = found(tmp_path, METHOD.format("IOError"))

    assert "`self.get(1)` raises (line 7)" in one.message
    assert "`open(x)` raises" not in str(found(tmp_path, METHOD.format("KeyError")))


MODEL = """
def f(model, loader, torch):
    for batch in loader:
        try:
            {}
        except {}:
            log(loss)
"""


@pytest.mark.parametrize(
    ("block", "caught", "times"),
    [
        ("loss = sum(batch)\n            loss.backward()", "RuntimeError", 0),
        ("loss = batch.mean()\n            model(batch).backward()", "RuntimeError", 0),
        ("loss = model(batch)\n            loss.backward()", "KeyError", 0),
        ("loss = model(batch)\n            int(loss)", "ValueError", 0),
        ("loss = model(batch)\n            loss.backward()", "RuntimeError", 1),
        ("loss = self.net.forward(batch)\n            log(loss)", "(KeyError, RuntimeError)", 1),
        ("x = model.to(0)\n            loss = x(batch)", "torch.cuda.OutOfMemoryError", 1),
    ],
)
def test_a_model_may_run_out_of_memory(block: str, caught: str, times: int, tmp_path: Path) -> None:
    assert len(found(tmp_path, MODEL.format(block, caught))) == times


def test_each_name_that_has_no_value_is_told(tmp_path: Path) -> None:
    text = (
        "import json\ndef f():\n    try:\n        with open('none') as fh:\n"
        "            x = json.load(fh)\n    except (OSError, ValueError):\n"
        "        raise RuntimeError(f'{fh.name}, {x}')\n"
    )

    assert dies(text)
    assert {one.evidence["name"] for one in found(tmp_path, text)} == {"fh", "x"}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_handler_that_works_is_left_alone(name: str, tmp_path: Path) -> None:
    text = f"def f():\n    {HEALTHY[name]}\n"

    assert not dies(text)
    assert found(tmp_path, text) == []


@pytest.mark.parametrize("name", DAMAGED)
def test_a_handler_that_dies_is_found(name: str, tmp_path: Path) -> None:
    text = f"def f():\n    {DAMAGED[name]}\n"

    assert dies(text)
    (one,) = found(tmp_path, text)
    assert "x is read" in one.message


BESIDE = "def g():\n    try:\n        z = fail()\n    except ValueError:\n        log(z)\n"
"""By whose text the file is known to be worth parsing."""

GIVEN_OTHERWISE = {
    "a pattern before": (
        "match [open]:\n            case [x, *_]:\n                x('none')",
        False,
    ),
    "a name in a pattern before": (
        "match {1: 2}:\n            case {1: _, **x}:\n                open('none')",
        False,
    ),
    "a pattern behind": (
        "y = open('none')\n        match y:\n            case [x]:\n                y",
        True,
    ),
    "the name of an error behind": (
        "open('none')\n        try:\n            1\n        except KeyError as x:\n            y",
        True,
    ),
}


@pytest.mark.parametrize("name", GIVEN_OTHERWISE)
def test_patterns_and_errors_give_names_their_values(name: str, tmp_path: Path) -> None:
    body, is_told = GIVEN_OTHERWISE[name]
    text = f"{BESIDE}def f():\n    try:\n        {body}\n    except OSError:\n        log(x)\n"

    assert dies(text) is is_told
    assert {one.evidence["name"] for one in found(tmp_path, text)} == {"z", *["x"] * is_told}


WRITER = """
import queue, threading

class Cache:
    def start(self):
        self.queue = queue.Queue()
        self.thread = threading.Thread(target=self.write, daemon=True)
        self.thread.start()

    def write(self):
        while True:
            try:
                first = self.queue.get(timeout=1)
                batch = [first]
                self.save(batch)
            except queue.Empty:
                if not self.running:
                    if len(batch) > 0:
                        self.save(batch)
                    break
            except Exception:
                log()

    def close(self):
        while self.queue.qsize() > 0:
            pass
        self.thread.join()
"""


@pytest.mark.parametrize("path", ["train.py", "."])
def test_the_thread_and_those_who_wait_for_it_are_told(path: str, tmp_path: Path) -> None:
    (one,) = found(tmp_path, WRITER, path)

    assert (one.at.line, one.severity) == (18, Severity.ERROR)
    assert "Cache.write runs in a thread (line 7" in (one.why or "")
    assert "`self.thread.join()` (line 27)" in (one.why or "")


def test_of_a_folder_a_mere_handler_gates_nothing(tmp_path: Path) -> None:
    """Not every file of it need be part of the job."""
    text = f"def f():\n    {DAMAGED['the first statement']}\n"

    assert [one.severity for one in found(tmp_path, text)] == [Severity.ERROR]
    assert [one.severity for one in found(tmp_path, text, ".")] == [Severity.WARNING]


def test_a_file_of_tests_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    text = f"def f():\n    {DAMAGED['the first statement']}\n"
    (tmp_path / "tests" / "test_it.py").write_text(text, "utf-8")

    assert found(tmp_path, "", ".") == []


def test_what_a_key_raises_behind_the_first_value_leaves_it_unsure(tmp_path: Path) -> None:
    text = (
        "import json\ndef f():\n    try:\n        with open('a.json') as file:\n"
        "            x = json.load(file)\n        {}\n    except FileNotFoundError:\n"
        "        return\n    except Exception:\n        log(x)\n"
    )

    (sure,), (unsure,) = (found(tmp_path, text.format(one)) for one in ("pass", "y = x['a']"))
    assert (sure.severity, unsure.severity) == (Severity.ERROR, Severity.WARNING)


def test_what_a_queue_gives_may_not_be_what_is_taken_apart(tmp_path: Path) -> None:
    """Where the one thing that it raises is caught before."""
    text = (
        "import queue\ndef f(q):\n    try:\n        item = q.get(timeout=1)\n        {}\n"
        "    except queue.Empty:\n        pass\n    except Exception:\n        log(x)\n"
    )

    (told,) = found(tmp_path, text.format("y, x = item"))
    assert "has no value yet where `y, x = item` raises (line 5)" in told.message
    assert found(tmp_path, text.format("x = item")) == []
