"""Brace ranges of shards, `{000..009}` and `{a,b}`, as webdataset expands them, counted first."""

from __future__ import annotations

import re
from collections.abc import Iterator

LIMIT = 10**6
"""How many names a pattern may give."""

# Characters of all names together, none longer than its pattern. Names come to a hundred each.
_MOST_CHARACTERS = 1 << 29

# Braces are expanded by recursion.
_NESTED = 64

# Digits of a number in a range, beyond which it names more than can be looked at.
_DIGITS = 18

_RANGE = r"(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?"


class TooManyError(ValueError):
    """A pattern that gives more names than can be looked at."""


def expand(pattern: str) -> Iterator[str]:
    """Split at `::` and expand braces, as `webdataset.WebDataset(pattern)` does.

    The names are made one by one: most of a million may lead nowhere.

    Raises:
        TooManyError: it would give more than LIMIT names; said before any is made.
    """
    parts = pattern.split("::")
    if pattern.count("{") > _NESTED:
        raise TooManyError(f"a pattern with more than {_NESTED} braces is not expanded")
    total = sum(count(part) for part in parts)
    if total > LIMIT:
        raise TooManyError(f"{pattern!r} names {total:,} files; at most {LIMIT:,} are looked at")
    if total * len(pattern) > _MOST_CHARACTERS:
        raise TooManyError(
            f"a pattern of {len(pattern):,} characters that names {total:,} files is not expanded"
        )
    return _expanded(parts)


def _expanded(parts: list[str]) -> Iterator[str]:
    from braceexpand import braceexpand

    for part in parts:
        try:
            names = braceexpand(part)
        except ValueError:  # braces without their partner
            names = iter((part,))
        yield from names


def count(pattern: str) -> int:
    """Count the names that a pattern gives, without making one."""
    total, position = _count(pattern, 0, nested=False)
    return total if position >= len(pattern) else 1


def _count(text: str, position: int, *, nested: bool) -> tuple[int, int]:
    """Count alternatives from here to the closing brace, or to the end of the text."""
    total, product, begun, commas = 0, 1, position, False
    while position < len(text):
        character = text[position]
        if character == "\\":
            position += 2
        elif character == "{":
            inner, position = _count(text, position + 1, nested=True)
            product *= inner
        elif character == "," and nested:
            total, product, commas = total + product, 1, True
            position += 1
        elif character == "}" and nested:
            inside = text[begun:position]
            return (total + product if commas else _range_size(inside, product)), position + 1
        else:
            position += 1
    return (1 if nested else product), position


def _range_size(inside: str, product: int) -> int:
    """Count `000..009` or `a..e..2`; other text in braces stays as it is."""
    match = re.fullmatch(_RANGE, inside)
    if match is None:
        return product
    if max(map(len, match.groups(""))) > _DIGITS:
        return LIMIT + 1
    first, last = (int(end) if _is_number(end) else ord(end) for end in match.group(1, 2))
    step = abs(int(match[3])) if match[3] else 1
    return abs(last - first) // (step or 1) + 1


def _is_number(text: str) -> bool:
    return text.lstrip("-").isdigit()
