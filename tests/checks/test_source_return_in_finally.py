"""source-return-in-finally is held against what really comes out of a function."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from preflight.findings.finding import Severity
from tests.asking import of_source

found = partial(of_source, "source-return-in-finally")


def comes_out(text: str) -> object:
    """Give what the function `f` returns or raises."""
    names: dict[str, object] = {}
    exec(compile(text, "train.py", "exec"), names)
    try:
        return names["f"]()  # type: ignore[operator]
    except KeyError as error:
        return error


HEALTHY = {
    "nothing leaves it": ("try:\n        return 1\n    finally:\n        x = 2", 1),
    "a function that is defined there": (
        "try:\n        return 1\n    finally:\n        def g():\n            return 2",
        1,
    ),
    "a loop of its own": (
        "try:\n        return 1\n    finally:\n        for x in (1, 2):\n            break",
        1,
    ),
    "behind it": ("try:\n        x = 1\n    finally:\n        y = 2\n    return x", 1),
    "no value in place of None, and all is caught": (
        "try:\n        return None\n    except:\n        x = 1\n    finally:\n        return",
        None,
    ),
    "a try that gives names plain values": (
        "ok = False\n    try:\n        ok = True\n    finally:\n        return ok",
        True,
    ),
    "the same value, and all is caught": (
        (
            "x = 1\n    try:\n        return x\n    except:\n        x = 1\n"
            "    finally:\n        return x"
        ),
        1,
    ),
}
DAMAGED = {
    "a value": ("try:\n        return 1\n    finally:\n        return 2", 2),
    "no value": ("try:\n        return 1\n    finally:\n        return", None),
    "under a test": (
        "try:\n        return 1\n    finally:\n        if True:\n            return 2",
        2,
    ),
    "a value of a handler": (
        (
            "try:\n        {}[1]\n    except KeyError:\n        return 1\n"
            "    finally:\n        return 2"
        ),
        2,
    ),
    "an exception of what a name is given": (
        "ok = False\n    try:\n        ok = {}[1]\n    finally:\n        return ok",
        False,
    ),
    "an exception": ("try:\n        {}[1]\n    finally:\n        return 2", 2),
    "one that is raised again": (
        "try:\n        {}[1]\n    except KeyError:\n        raise\n    finally:\n        return 2",
        2,
    ),
    "one that no handler catches": (
        "try:\n        {}[1]\n    except ValueError:\n        pass\n    finally:\n        return 2",
        2,
    ),
    "by break": (
        (
            "for x in (1, 2):\n        try:\n            {}[1]\n        finally:\n"
            "            break\n    return 2"
        ),
        2,
    ),
    "by continue": (
        (
            "for x in (1, 2):\n        try:\n            return 1\n"
            "        finally:\n            continue\n"
            "    return 2"
        ),
        2,
    ),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_where_nothing_is_lost_nothing_is_said(name: str, tmp_path: Path) -> None:
    code, out = HEALTHY[name]
    text = f"def f():\n    {code}\n"

    assert comes_out(text) == out
    assert found(tmp_path, text) == []


@pytest.mark.parametrize("name", DAMAGED)
def test_what_is_lost_is_told(name: str, tmp_path: Path) -> None:
    code, out = DAMAGED[name]
    text = f"def f():\n    {code}\n"

    assert comes_out(text) == out
    (one,) = found(tmp_path, text)
    assert one.severity >= Severity.WARNING
    word = "may take" if name == "under a test" else "takes"
    assert f"in a `finally` {word} the place of" in one.message


def test_where_only_ctrl_c_is_lost_it_is_a_note(tmp_path: Path) -> None:
    text = (
        "def f():\n    try:\n        g()\n    except Exception:\n        log()\n    finally:\n"
        "        return 1\n"
    )

    assert [one.severity for one in found(tmp_path, text)] == [Severity.NOTE]


def test_of_a_folder_it_gates_nothing(tmp_path: Path) -> None:
    text = f"def f():\n    {DAMAGED['a value'][0]}\n"

    assert [one.severity for one in found(tmp_path, text)] == [Severity.ERROR]
    assert [one.severity for one in found(tmp_path, text, ".")] == [Severity.WARNING]


@pytest.mark.parametrize(
    ("block", "is_sure"),
    [
        ("return 2", True),
        ("with lock:\n            return 2", True),
        ("if last():\n            return 2\n        return 3", True),
        ("if last():\n            return 2", False),
        ("with lock:\n            if last():\n                return 2", False),
        ("for one in left():\n            return 2", False),
        ("try:\n            close()\n        except OSError:\n            return 2", False),
    ],
)
def test_what_a_test_decides_is_not_told_as_sure(
    block: str, tmp_path: Path, *, is_sure: bool
) -> None:
    text = f"def f():\n    try:\n        return g()\n    finally:\n        {block}\n"

    (one,) = found(tmp_path, text)

    line = 5 + block.partition("return")[0].count("\n")
    if is_sure:
        expected = "What line 3 returns never comes out. Every exception in the `try` is dropped"
    else:
        when = f"Where line {line} is come to, "
        expected = (
            f"{when}what line 3 returns does not come out. {when}every exception in the `try`"
        )
    assert (one.why or "").startswith(expected)
