"""Tells a program that is the script itself, once more: so Lightning starts its other ranks."""

from __future__ import annotations

import os
import sys

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
