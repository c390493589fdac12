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


def dies(text: str) -> bool:
    """Whether the function `f` stops with a name that has no value."""
    names = {"fail": fail, "get": empty, "queue": queue, "log": lambda *_: None, "ok": lambda: 1}
    exec(compile(text, "train.py", "exec"), names)
    try:
        names["f"]()  # type: ignore[operator]
    except UnboundLocalError:
        return True
    except Exception:  # noqa: BLE001  # whatever else it is, the name had a value
        return False
    return False


HEALTHY = {
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
