"""Gives what a function has by which requests are told apart, and holds answers together."""

from __future__ import annotations

import functools
import pathlib
import zlib
from collections.abc import Iterator
from types import FrameType
from typing import Any

from preflight.epochs.sample_numbers import digest

# Values of a function by which requests are told apart, and bytes of one.
_MOST_VALUES, _MOST_BYTES = 24, 1 << 16

_PLAIN = (int, str, pathlib.PosixPath, pathlib.WindowsPath)
SMALL = (*_PLAIN, bool, float, bytes, type(None))


def asked_for(frame: FrameType) -> tuple[Any, Any]:
    """Give the thing whose method it is, and the first value behind it."""
    code, own = frame.f_code, frame.f_locals
    names = code.co_varnames[: code.co_argcount]
    given = [own[name] for name in names if name in own]
    if code.co_flags & 0x04:  # *args
        given += own.get(code.co_varnames[code.co_argcount + code.co_kwonlyargcount], ())
    if not given:
        return None, None
    return (None, given[0]) if isinstance(given[0], _PLAIN) else (given[0], (*given, None)[1])


def differ(one: Any, other: Any) -> bool:
    """Whether both are plain values, and other ones."""
    return isinstance(one, _PLAIN) and isinstance(other, _PLAIN) and one != other


def values_of(function: str, frame: FrameType) -> Iterator[tuple[str, int]]:
    """Give the numbers, texts and paths that a function has, also of the rows that it has."""
    left = _MOST_VALUES
    for name, value in list(frame.f_locals.items()):
        kind = type(value)
        if kind is dict:
            each = [(f"{name}.{key}", one) for key, one in list(value.items())[:8]]
        elif kind is list or issubclass(kind, tuple):
            each = [(f"{name}.{at}", one) for at, one in enumerate(value[:8])]
        else:
            each = [(name, value)]
        for called, one in each:
            number = _plain(one)
            if number is not None and left:
                left -= 1
                yield _short(f"{function}:{called}"), number


@functools.lru_cache(4096)
def _short(name: str) -> str:
    return f"{zlib.crc32(name.encode()):x}"


def _plain(value: Any) -> int | None:
    kind = type(value)
    if kind is bytes:
        return zlib.crc32(value[:_MOST_BYTES])
    if kind in _PLAIN:
        return number_of(value)
    if (
        kind.__module__ == "numpy"
        and getattr(value, "shape", None) == ()
        and value.dtype.kind in "iu"
    ):
        return number_of(int(value))
    return None


def number_of(value: object) -> int:
    """Give a number that is the same for the same plain value, in all processes."""
    return zlib.crc32(repr(value if isinstance(value, (int, str, tuple)) else str(value)).encode())


def is_made_of(one: Any, other: Any) -> bool:
    """Whether it is the same thing, or holds the same ones."""
    if isinstance(one, SMALL):
        return False
    if one is other:
        return True
    parts, others = _parts(one), _parts(other)
    if len(parts) != len(others) or not parts:
        return False
    same = [a is b for a, b in zip(parts, others, strict=True)]
    return all(same) and any(not isinstance(part, SMALL) for part in parts)


def _parts(thing: Any) -> list[Any]:
    if type(thing) is dict:
        return list(thing.values())
    return list(thing) if type(thing) in (list, tuple) else []


def lost_of(answer: Any, several: int) -> int:
    """Count the samples that an answer to a request for several lacks, or has twice."""
    if not isinstance(answer, (list, tuple)):
        return 0
    there = [one for one in answer if one is not None]
    things = [id(one) for one in there if not isinstance(one, SMALL)]
    return max(0, several - len(there)) + len(things) - len({*things})


def digest_of(answer: Any) -> int | None:
    """Give a number that is the same for the same answer; None where nobody can."""
    try:
        return digest(answer)
    except Exception:  # noqa: BLE001  a type of the user's that nobody can make bytes of
        return None
