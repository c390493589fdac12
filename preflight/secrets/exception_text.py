"""Takes out of the text of an exception what its own frames hold under names of secrets.

What was written into a source, or read from a file, stands in no variable of the environment; where
something is raised of it, it stands in a keyword, or in an attribute, of a call on the way there.
After that call has returned, only the source of the job says under which name it was given.
"""

from __future__ import annotations

import ast
import functools
import itertools
import linecache
import os
import traceback
import types
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from preflight.secrets.hiding import Secrets
from preflight.secrets.naming import Says, is_about, is_no_word, looks_random, says

_MOST = 2_000  # things that are looked into

_LINES = 20_000  # of a source that are read

_LIBRARY = os.path.dirname(os.__file__) + os.sep

_DEEP = 3
"""Steps from a frame: `self`, what it holds (a loader's data set), and what that holds."""


def hidden_of(text: str, error: BaseException) -> str:
    """Take out of a text what the frames of an exception say is secret, and what it says itself.

    Its own lines are gone once it is told in one.
    """
    found = {one for one in (*_held(error), *_written(error)) if one in text}
    values = tuple(sorted(found, key=lambda one: (-len(one), one)))
    text = Secrets(values=values).bytes_of(text, whole=True) if values else text
    return Secrets().text(text) if "\n" in text else text


def _frames(error: BaseException) -> Iterator[types.FrameType]:
    chain: BaseException | None = error
    for _ in range(9):
        if chain is None:
            break
        yield from (frame for frame, _ in traceback.walk_tb(chain.__traceback__))
        chain = chain.__cause__ or chain.__context__


def _written(error: BaseException) -> Iterator[str]:
    """Give what the sources of an exception's frames have written under such a name."""
    for file in {frame.f_code.co_filename for frame in _frames(error)}:
        if not (file.startswith(_LIBRARY) or "site-packages" in file):
            yield from _literals("".join(linecache.getlines(file)[:_LINES]))


@functools.lru_cache(maxsize=32)
def _literals(source: str) -> tuple[str, ...]:
    """Give the texts that stand in a source under a name that says that they are secret."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the user's escape sequences
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(
        text
        for node in ast.walk(tree)
        for name, value in _named(node)
        if name is not None
        and isinstance(value, ast.Constant)
        and isinstance(text := value.value, str)
        and _is_secret(name, text, inside=False)
    )


def _named(node: ast.AST) -> Iterator[tuple[str | None, ast.AST | None]]:
    """Give what is given in a call, assigned, or kept under a key, with its name."""
    if isinstance(node, ast.keyword):
        yield node.arg, node.value
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            yield _name_of(target), node.value
    elif isinstance(node, ast.Dict):
        yield from (
            (_name_of(key), value) for key, value in zip(node.keys, node.values, strict=True)
        )
    elif isinstance(node, ast.arguments):
        usual = [*node.posonlyargs, *node.args]
        yield from zip([one.arg for one in usual[::-1]], node.defaults[::-1], strict=False)
        yield from zip([one.arg for one in node.kwonlyargs], node.kw_defaults, strict=True)


def _name_of(node: ast.AST | None) -> str | None:
    if isinstance(node, ast.Subscript):
        node = node.slice
    name = getattr(node, "id", getattr(node, "attr", getattr(node, "value", None)))
    return name if isinstance(name, str) else None


def _held(error: BaseException) -> Iterator[str]:
    todo: list[tuple[Mapping[Any, object], int, bool]] = [
        (frame.f_locals, 0, False) for frame in _frames(error)
    ]
    seen: set[tuple[int, bool]] = set()
    for names, deep, inside in todo:
        for name, value in list(names.items())[:_MOST]:
            if type(value) is bytes:
                value = value.decode("ascii", "replace")  # noqa: PLW2901
            named = inside or (type(name) is str and says(name) is Says.SECRET)
            if type(value) is str:
                if _is_secret(name, value, inside=inside):
                    yield value
            elif deep < _DEEP and len(seen) < _MOST and (id(value), named) not in seen:
                seen.add((id(value), named))
                below = _below(value, named=named)
                todo += [(below, deep + 1, named)] if below else []


def _is_secret(name: object, value: str, *, inside: bool) -> bool:
    """Whether it is one; a token may be of a text, too, and then is a word of it."""
    if type(name) is str and says(name) is Says.SECRET:
        drawn = name.lower().endswith(("token", "key"))
        return (looks_random if drawn else is_no_word)(value)
    return inside and not (type(name) is str and is_about(name)) and looks_random(value)


def _below(thing: object, *, named: bool) -> Mapping[Any, object]:
    """Give what something holds, by its names; of rows, only of those whose name says so."""
    if type(thing) is dict:
        return thing
    if named and type(thing) in (list, tuple, set, frozenset):
        return dict(enumerate(itertools.islice(thing, _MOST)))  # type: ignore[call-overload]
    return _attributes(thing)


def _attributes(thing: object) -> dict[str, object]:
    """Give what an object keeps, and run nothing of its class."""
    try:
        held = object.__getattribute__(thing, "__dict__")
    except AttributeError:
        return {}
    return held if type(held) is dict else {}
