"""How many bytes an element of a numpy array takes, by the type that the array's header tells.

A type is a text, such as `<f4`, or a list of fields, as numpy.lib.format writes and reads them.
"""

from __future__ import annotations

import functools
import math
import re

_PLAIN = re.compile(r"[<>|=]?([a-zA-Z?])(\d{0,9})(\[[^\]]*\])?")

# Types without a size that numpy knows, and the bytes of those that are one byte everywhere.
_LETTERS = frozenset("?bBcdDeEfFgGhHiIlLmMnNOpPqQSTuUVa")
_OF_ONE_BYTE = frozenset("?bB")

# Sizes of the types that have one of a few. `f1` is how float8 of ml_dtypes is written.
_SIZES = {
    "?": frozenset({1}),
    "b": frozenset({1}),
    "c": frozenset({4, 8, 16, 20, 24, 32}),
    "f": frozenset({1, 2, 4, 8, 10, 12, 16}),
    "i": frozenset({1, 2, 4, 8}),
    "m": frozenset({8}),
    "M": frozenset({8}),
    "u": frozenset({1, 2, 4, 8}),
}
_OF_ANY_SIZE = frozenset("OSTUVac")
_UNIT = re.compile(r"\[\d*(?:Y|M|W|D|h|m|s|[munμpfa]s|generic)(?:/\d+)?\]")

# Other spellings that numpy may know, such as `float32`, or `(2,3)f4, i8`.
_SPELLED = r"(?:\d+|\([\d, ]*\))?[<>|=]?[a-zA-Z?]\w*(?:\[[^\]]*\])?"
_OTHER = re.compile(rf"\s*{_SPELLED}(?:\s*,\s*{_SPELLED})*,?\s*", re.ASCII)

# Levels of fields in fields that are followed.
_DEEPEST = 30


class NoTypeError(ValueError):
    """This is no type that numpy knows."""


def bytes_of(descr: object, deep: int = 0) -> int | None:
    """Work out the bytes of an element; None: nobody knows.

    Raises:
        NoTypeError: numpy refuses it.
    """
    if isinstance(descr, str):
        return bytes_of_text(descr)
    if deep > _DEEPEST:
        return None
    if isinstance(descr, tuple):
        if len(descr) < 2:  # a type, and how often it is repeated
            raise NoTypeError
        return _repeated(bytes_of(descr[0], deep + 1), descr[1])
    if not isinstance(descr, list):
        raise NoTypeError
    sizes = [_of_field(field, deep) for field in descr]
    names = [field[0] for field in descr if field[0]]
    if len(set(names)) != len(names):
        raise NoTypeError
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def _of_field(field: object, deep: int) -> int | None:
    """Take a name, or a title and a name; a type; and how often it is repeated, where it is."""
    if not isinstance(field, tuple) or len(field) not in (2, 3):
        raise NoTypeError
    name = field[0]
    titled = isinstance(name, tuple) and len(name) == 2 and isinstance(name[1], str)
    if not isinstance(name, str) and not titled:
        raise NoTypeError
    element = bytes_of(field[1], deep + 1)
    return _repeated(element, field[2]) if len(field) > 2 else element


def _repeated(element: int | None, shape: object) -> int | None:
    sides = shape if isinstance(shape, tuple) else (shape,)
    numbers = [side for side in sides if isinstance(side, int) and side >= 0]
    if len(numbers) != len(sides):
        raise NoTypeError
    return None if element is None else element * math.prod(numbers)


@functools.lru_cache(maxsize=256)
def bytes_of_text(text: str) -> int | None:
    """Work out the bytes of an element of a type that is a text; None: nobody knows.

    Raises:
        NoTypeError: numpy refuses it.
    """
    found = _PLAIN.fullmatch(text)
    if found is None:
        if _OTHER.fullmatch(text) is None:
            raise NoTypeError
        return None
    letter, digits, unit = found.groups()
    if letter not in _LETTERS or (unit and (letter not in "mM" or not _UNIT.fullmatch(unit))):
        raise NoTypeError
    if not digits:
        return 1 if letter in _OF_ONE_BYTE else None
    size = int(digits)
    if size not in _SIZES.get(letter, (size,) if letter in _OF_ANY_SIZE else ()):
        raise NoTypeError
    return None if letter in "OT" else 4 * size if letter == "U" else size
