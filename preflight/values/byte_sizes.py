"""Amounts of memory as people write them: `80GB` is 80 * 10**9 bytes, `80GiB` is 80 * 2**30."""

from __future__ import annotations

import re

_UNITS = {
    **{f"{letter}B": 1000**power for power, letter in enumerate("kMGTP", start=1)},
    **{f"{letter}iB": 1024**power for power, letter in enumerate("KMGTP", start=1)},
    "B": 1,
}
_BY_LOWER = {unit.lower(): factor for unit, factor in _UNITS.items()}
_DIGITS = 30
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)\s*")


def parse_size(text: str) -> int:
    """Read an amount of memory, in bytes.

    Raises:
        ValueError: no number with a unit. A bare number is refused, since nobody knows whether it
            means GB, GiB or MiB.
    """
    match = _SIZE.fullmatch(text)
    factor = _BY_LOWER.get(match[2].lower()) if match else None
    if match is None or factor is None:
        raise ValueError(f"{text!r} is no size; write it with its unit, such as 80GB or 80GiB")
    if len(match[1]) > _DIGITS:
        raise ValueError(f"{text[:_DIGITS]}… is more memory than there is")
    return int(float(match[1]) * factor)


def format_size(number: int) -> str:
    """Say a number of bytes in the decimal unit that fits: `1.2 GB`, `160 kB`, `12 bytes`."""
    for letter in "PTGMk":
        factor = _UNITS[f"{letter}B"]
        if number >= factor:
            return f"{number / factor:.1f} {letter}B"
    return f"{number:,} byte{'' if number == 1 else 's'}"
