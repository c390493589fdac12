"""Says what options of a script are given on its command line."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from preflight.syntax.running import is_none, text_of


class StartOfScript(NamedTuple):
    """How a script is started."""

    folders: Sequence[str] = ()
    """In which that may be, the job's own first."""

    words: Sequence[str] = ()
    """What it is given, as far as that is known."""


ANYHOW = StartOfScript()

# They give an object with the options of a command line; the second one with what is left over.
PARSES = frozenset({"parse_args", "parse_known_args"})

# No options but those of the command line, or none at all.
_NO_OTHERS = frozenset({"sys.argv[1:]", "[]", "()"})


def is_told(call: ast.Call) -> bool:
    """Whether options are read from another list than that of the command line."""
    given = [*call.args, *(one.value for one in call.keywords)]
    return any(not is_none(one) and ast.unparse(one) not in _NO_OTHERS for one in given)


def given_in_words(
    option: ast.Call, options: Iterable[ast.Call], words: Sequence[str]
) -> ast.expr | None:
    """Give what one of these options is given, or the only argument that has no name."""
    names = [*filter(None, map(text_of, option.args))]
    if not any(one.startswith("-") for one in names):
        first = [text_of(one.args[0]) or "" for one in options if one.args]
        is_only = sum(not one.startswith("-") for one in first) == 1
        return ast.Constant(words[0]) if is_only and words and words[0][:1] != "-" else None
    for place, word in enumerate(words):
        name, has_value, value = word.partition("=")
        if name in names and (has_value or place + 1 < len(words)):
            return ast.Constant(value if has_value else words[place + 1])
        is_short = any(one.startswith(name) for one in names if name.startswith("-"))
        is_joined = any(name.startswith(one) for one in names if len(one) == len("-c"))
        if is_short or is_joined:  # `--conf` is short for what depends on the others
            return ast.Constant(...)
    return None
