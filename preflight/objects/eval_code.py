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


# By the identity of the code, which is kept: what two files hold alike is equal.
_noted: dict[int, tuple[types.CodeType, Evaluated]] = {}
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
    if event not in {"exec", "compile"} or not _listening:
        return
    caller = sys._getframe(1)  # noqa: SLF001  the one way to see who calls
    if caller.f_code.co_filename.startswith("<frozen importlib"):
        return  # of a file, as its name says
    if event == "compile":
        source, name = args
        is_kept = name in _compiled or len(_compiled) < _MOST
        if type(source) in (str, bytes) and type(name) is str and is_kept:
            _compiled[name] = source if type(source) is str else source.decode("utf-8", "replace")
        return
    name = args[0].co_filename
    text = _compiled.pop(name, None)
    if len(_noted) < _MOST and not _is_of_file(name, text):
        frame = _of_users(caller)
        if frame is not None:
            made = Evaluated(frame.f_code.co_filename, frame.f_lineno, text)
            _noted.update({id(one): (one, made) for one in codes_of(args[0])})


def _is_of_file(name: str, text: str | None) -> bool:
    """Whether code stands in the file that it names, and not only below its name."""
    if name.startswith("<") or not os.path.isfile(name):
        return False
    return text is None or text.split() == source_of(name).split()


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
    known = _noted.get(id(code))
    if known is not None:
        return known[1]
    name = code.co_filename
    if not name.startswith("<") or name.startswith("<frozen "):
        return None
    # Python 3.13 keeps what `python -c` runs, as our processes are started, as `<string>`.
    if name != "<string>" and linecache.getlines(name):
        return None
    return _searched((variables or {}).get("__file__"))


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
