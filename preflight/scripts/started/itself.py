"""Tells a program that is the script itself, once more, or another one of the user's.

So Lightning starts its other ranks.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from preflight.scripts.watch import Watch

# Of Python itself, before what it runs.
_FLAGS = frozenset({"-u", "-B", "-E", "-I", "-O", "-OO", "-s"})


def words_of_itself(args: object) -> tuple[list[str], list[str]] | None:
    """Give the interpreter and the words with which the script itself is run; None: it is not."""
    if not isinstance(args, (list, tuple)) or not all(isinstance(one, str) for one in args):
        return None
    number = next((at for at, one in enumerate(args) if at and one not in _FLAGS), len(args))
    python, rest = [*args[:number]], [*args[number:]]
    if python[:1] != [sys.executable] or not rest:
        return None
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        names = {spec.name, spec.name.removesuffix(".__main__")}
        return (python, rest[2:]) if rest[0] == "-m" and rest[1:2] and rest[1] in names else None
    own = getattr(main, "__file__", None)
    is_own = own is not None and os.path.realpath(rest[0]) == os.path.realpath(own)
    return (python, rest[1:]) if is_own else None


class Other(NamedTuple):
    """Another script of the user's, which this one has run."""

    python: list[str]
    runs: Mapping[str, str | None]
    """`path` or `module`, as the script's own process is told of it."""

    words: list[str]


def other_of(args: object, named: Mapping[str, Any], watch: Watch) -> Other | None:
    """Give what `Popen` tells the same Python to run, where that is one of the user's own files.

    None where nothing is laid over the disk, either.
    """
    layer, is_told = watch.layer, named.get("shell") or named.get("executable")
    if layer is None or not watch.is_here or is_told or not isinstance(args, (list, tuple)):
        return None
    try:
        given = list(map(os.fspath, args))
        home = layer.named(os.path.abspath(named.get("cwd") or os.curdir))
    except TypeError:
        return None
    if not given or not all(isinstance(one, str) for one in (home, *given)):
        return None
    number = next((at for at, one in enumerate(given) if at and one not in _FLAGS), len(given))
    python, rest = given[:number], given[number:]
    if not rest or not _is_same_python(python[0], named.get("env")):
        return None
    if rest[0] == "-m" and len(rest) > 1:
        below = os.path.join(os.fsdecode(home), *rest[1].split("."))
        files = (f"{below}.py", os.path.join(below, "__main__.py"))
        is_own = any(map(watch.own.has, files))
        return Other(python, {"path": None, "module": rest[1]}, rest[2:]) if is_own else None
    file = os.path.join(os.fsdecode(home), rest[0])
    is_own = rest[0].endswith(".py") and watch.own.has(file)
    return Other(python, {"path": rest[0], "module": None}, rest[1:]) if is_own else None


def _is_same_python(word: str, environ: Mapping[str, str] | None) -> bool:
    """Whether a word names the interpreter that runs this script, also by its name alone."""
    if word == sys.executable:
        return True
    if os.path.dirname(word):
        found: str | None = os.path.abspath(word)
    else:
        found = shutil.which(word, path=(os.environ if environ is None else environ).get("PATH"))
    # In another folder, the same file is that of another environment.
    return (
        found is not None
        and os.path.dirname(found) == os.path.dirname(sys.executable)
        and os.path.realpath(found) == os.path.realpath(sys.executable)
    )
