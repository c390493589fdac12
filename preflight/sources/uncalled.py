"""Finds functions that nothing speaks of: no job comes to what stands in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from preflight.syntax.parsing import UnparsableError


class _Source(Protocol):
    def content(self) -> bytes:
        """Give its text."""


def uncalled(
    sources: Iterable[_Source], functions: Iterable[str], alive: Callable[[], None]
) -> Iterator[str]:
    """Name functions whose names stand in no source but where each is defined, once.

    Whoever is in doubt is believed: a word in a text or a comment counts as a call, a decorator
    may hand the function on, and methods are called by what a class inherits.
    """
    names = dict.fromkeys(functions, 0)
    words = {one: re.compile(rf"\b{re.escape(one)}\b".encode()) for one in names}
    plain = {
        one: re.compile(
            rf"(?:\A|^\n|^[^@)\s#].*\n|^[ \t].*\n)(?:async )?def {one}\b".encode(), re.MULTILINE
        )
        for one in names
    }
    defined: set[str] = set()
    for source in sources:
        alive()
        try:
            content = source.content()
        except (OSError, UnparsableError):
            return  # which may call any
        for one, word in words.items():
            if one.encode() in content:
                names[one] += len(word.findall(content))
                defined |= {one} if plain[one].search(content) else set()
    yield from (one for one, count in names.items() if count == 1 and one in defined)
