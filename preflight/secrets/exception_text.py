"""Takes out of the text of an exception what its own frames hold under names of secrets.

What was written into a source, or read from a file, stands in no variable of the environment; where
something is raised of it, it stands in a keyword, or in an attribute, of a call on the way there.
"""

from __future__ import annotations

import itertools
import traceback
from collections.abc import Iterator, Mapping
from typing import Any

from preflight.secrets.hiding import Secrets
from preflight.secrets.naming import Says, is_about, is_no_word, looks_random, says

_MOST = 2_000  # things that are looked into

_DEEP = 3
"""Steps from a frame: `self`, what it holds (a loader's data set), and what that holds."""


def hidden_of(text: str, error: BaseException) -> str:
    """Take out of a text what the frames of an exception say is secret."""
    found = {one for one in _held(error) if one in text}
    values = tuple(sorted(found, key=lambda one: (-len(one), one)))
    return Secrets(values=values).bytes_of(text, whole=True) if values else text


def _held(error: BaseException) -> Iterator[str]:
    todo: list[tuple[Mapping[Any, object], int, bool]] = []
    chain: BaseException | None = error
    for _ in range(9):
        if chain is None:
            break
        todo += ((frame.f_locals, 0, False) for frame, _ in traceback.walk_tb(chain.__traceback__))
        chain = chain.__cause__ or chain.__context__
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
