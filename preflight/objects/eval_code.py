"""Where the code of `eval` and `exec` was run, and what it was: of itself it says `<string>:1`.

In a process of ours each such call is noted while it is made. Of code that was run before, or where
nobody listens, the module is searched that the code belongs to.
"""

from __future__ import annotations

import ast
import functools
import linecache
import os
import sys
import types
from collections.abc import Mapping
from typing import Any, NamedTuple

from preflight.objects.source_trees import codes_of, parsed, source_of

_MOST = 10_000
_CALLS = frozenset({"eval", "exec"})


class Evaluated(NamedTuple):
    """A call of `eval` or `exec`."""

    file: str
    line: int
    text: str | None
    """What was evaluated, where that is known."""


_noted: dict[types.CodeType, Evaluated] = {}
_compiled: dict[str, str] = {}  # by the name that the code is given, the last one only
_listening = False


def listen() -> None:
    """Note from now on where code is evaluated."""
    global _listening  # noqa: PLW0603  as lasting as the hook, which the interpreter keeps for good
    _listening = True
    _hook()


@functools.cache
def _hook() -> None:
    sys.addaudithook(_note)


def _note(event: str, args: tuple[Any, ...]) -> None:
    if not _listening:
        return
    if event == "compile":
        source, name = args
        if type(source) in (str, bytes) and type(name) is str and name.startswith("<"):
            _compiled[name] = source if type(source) is str else source.decode("utf-8", "replace")
    elif event == "exec" and args[0].co_filename.startswith("<") and len(_noted) < _MOST:
        frame = _of_users(sys._getframe(1))  # noqa: SLF001  the one way to see who calls
        if frame is not None:
            text = _compiled.pop(args[0].co_filename, None)
            made = Evaluated(frame.f_code.co_filename, frame.f_lineno, text)
            _noted.update(dict.fromkeys(codes_of(args[0]), made))


def _of_users(frame: types.FrameType | None) -> types.FrameType | None:
    """Give the innermost frame of a file that is neither Python's own nor an installed package's.

    Within one that evaluates for somebody else, such as `dataclasses`, that one asked for it.
    """
    library = os.path.dirname(os.__file__) + os.sep
    while frame is not None:
        file = frame.f_code.co_filename
        if not (file.startswith(("<", library)) or "site-packages" in file):
            return frame
        frame = frame.f_back
    return None


def evaluated(
    code: types.CodeType, variables: Mapping[str, object] | None = None
) -> Evaluated | None:
    """Say where this code was evaluated; None of code that a file or a notebook holds."""
    name = code.co_filename
    if not name.startswith("<") or name.startswith("<frozen "):
        return None
    # Python 3.13 keeps what `python -c` runs, as our processes are started, as `<string>`.
    if name != "<string>" and linecache.getlines(name):
        return None
    known = _noted.get(code)
    return known or _searched((variables or {}).get("__file__"))


def _searched(file: object) -> Evaluated | None:
    """Find the one call in a module that could have been it."""
    if type(file) is not str or not file.endswith(".py"):
        return None
    tree = parsed(source_of(file))
    calls = [
        node
        for node in (ast.walk(tree) if tree is not None else ())
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in _CALLS
        and node.args
    ]
    if len(calls) != 1:
        return None
    given = calls[0].args[0]
    text = given.value if isinstance(given, ast.Constant) and type(given.value) is str else None
    return Evaluated(file, calls[0].lineno, text)
