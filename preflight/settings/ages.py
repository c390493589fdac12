"""Lengths of time as people write and say them: `30d` is 30 days."""

from __future__ import annotations

import re

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_NOUNS = {"d": "day", "h": "hour", "m": "minute", "s": "second"}
_AGE = re.compile(r"\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*([smhdw])\s*")


def parse_age(text: str) -> float:
    """Read a length of time, in seconds.

    Raises:
        ValueError: no number with a unit. Only 0 needs none.
    """
    if text.strip() == "0":
        return 0.0
    match = _AGE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no age; write it with its unit, such as 30d, 12h or 0")
    return float(match[1]) * _UNITS[match[2]]


def format_age(seconds: float) -> str:
    """Say a length of time in the largest unit of which it holds one: `3 hours`, `1 day`."""
    for letter, noun in _NOUNS.items():
        number = int(seconds // _UNITS[letter])
        if number:
            return f"{number:,} {noun}{'' if number == 1 else 's'}"
    return "less than a second"
