"""The header of safetensors, read as the format's own reader reads it: JSON of one shape only.

It knows what must stand where, and so keeps no more of a tensor than its name and three numbers:
whatever is in a header, little more memory is needed than for its bytes.
"""

from __future__ import annotations

import codecs
import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from preflight.formats.arrays.safetensors_usual import BITS, METADATA, TENSOR
from preflight.formats.arrays.strict_json import JsonText, UnfitError, plain_text
from preflight.formats.bytes.blocks import BLOCK, Block
from preflight.formats.bytes.damaged import DamagedError, TooMuchError
from preflight.values.names import shown, text_of

MOST_TENSORS = 200_000
"""Tensors that are held. A header of more is not judged."""

UNKNOWN, TOO_LARGE, NO_BYTES, MISNAMED = -1, -2, -3, -4
"""Instead of a length: of a type that is not known, of more than 64 bits, of no whole bytes, of a
type whose name has one wrong character."""

# Levels of what else a tensor's description may hold. The reader's JSON library goes down to 127,
# and the header and the description are two of them.
_ROOM = 125

# A type as formats name them, later ones as well: what its number counts are its bits.
_NAMED = re.compile(rb"(?:B|BF|C|F|I|Q|TF|U)([0-9]+)(?:_[A-Z0-9]+)?")

# A tensor as usual, read in one step and not in twenty, and what stands behind it.
_USUAL = re.compile(TENSOR + rb"([,}])")


class Tensors:
    """Where each tensor lies, by name; of two that share a name, the later one."""

    __slots__ = ("begins", "lengths", "names", "stops")

    def __init__(self) -> None:
        self.names: dict[bytes, int] = {}
        self.begins = array("Q")
        self.stops = array("Q")
        self.lengths = array("q")

    def put(self, name: bytes, begin: int, stop: int, length: int) -> None:
        """Add a tensor; its length is that of its shape, in bytes."""
        at = self.names.setdefault(name, len(self.names))
        if at == len(self.begins):
            if at == MOST_TENSORS:
                raise TooMuchError(f"it names more than {MOST_TENSORS:,} tensors: not looked at")
            self.begins.append(begin)
            self.stops.append(stop)
            self.lengths.append(length)
        else:
            self.begins[at], self.stops[at], self.lengths[at] = begin, stop, length

    def in_order(self) -> Iterator[tuple[int, int, int, int]]:
        """Give (begin, stop, length, number) of each, as they lie in the file."""
        numbers = sorted(range(len(self.begins)), key=self.stops.__getitem__)
        numbers.sort(key=self.begins.__getitem__)
        for number in numbers:
            yield self.begins[number], self.stops[number], self.lengths[number], number

    def name(self, number: int) -> bytes:
        """Name a tensor by its number."""
        return next(name for name, at in self.names.items() if at == number)


def read_header(text: Block) -> Tensors:
    """Read a header.

    Raises:
        DamagedError: `structure`, where the format's own reader refuses it.
        TooMuchError: there is more in it than is looked at.
    """
    try:
        _check_utf8(text)
        return _read(JsonText(text))
    except UnfitError:
        raise DamagedError(
            "structure", f"has a header of {len(text):,} bytes that is no JSON object", offset=8
        ) from None


def _check_utf8(text: Block) -> None:
    pieces = (bytes(text[at : at + BLOCK]) for at in range(0, len(text), BLOCK))
    try:
        for _ in codecs.iterdecode(pieces, "utf-8"):
            pass
    except UnicodeDecodeError as error:
        raise UnfitError from error


def _read(text: JsonText) -> Tensors:
    tensors = Tensors()
    described = False
    if text.token() != b"{":
        raise UnfitError
    token = b","
    first = True
    while token == b",":
        usual = _usual(text, tensors)
        if usual is None:
            token = text.token()
            if first and token == b"}":
                break
            name = text.key(token)
            if name != METADATA:
                _tensor(text, tensors, name)
            elif described:
                raise DamagedError("structure", "has a header with two __metadata__", offset=8)
            else:
                _metadata(text)
                described = True
        token = usual or text.token()
        first = False
    if token != b"}" or not text.rest_is_space():
        raise UnfitError
    return tensors


def _usual(text: JsonText, tensors: Tensors) -> bytes | None:
    """Take a tensor that is described as usual, and what stands behind it; None: it is not."""
    match = _USUAL.match(text.text, text.at)
    if match is None or match[1] == METADATA:
        return None
    text.step()
    text.at = match.end()
    sides = match[3].split(b",") if match[3] else ()
    elements = _product(map(int, sides))
    begin, stop = int(match[4]), int(match[5])
    tensors.put(match[1], begin, stop, _length(match[2], elements, stop - begin))
    return match[6]


def _metadata(text: JsonText) -> None:
    try:
        _texts(text)
    except UnfitError:
        raise DamagedError(
            "structure", "has a header whose __metadata__ is no map of texts", offset=8
        ) from None


def _texts(text: JsonText) -> None:
    """Pass over a map of texts, or null."""
    token = text.token()
    if token == b"null":
        return
    if token != b"{":
        raise UnfitError
    for _ in text.fields():
        if text.token()[:1] != b'"':
            raise UnfitError


def _tensor(text: JsonText, tensors: Tensors, name: bytes) -> None:
    try:
        found = _description(text)
    except UnfitError:
        raise bad_tensor(name, "is not described as the format has it") from None
    begin, stop = found[b"data_offsets"]
    tensors.put(name, begin, stop, _length(found[b"dtype"], found[b"shape"], stop - begin))


def _description(text: JsonText) -> dict[bytes, Any]:
    """Read an object that has the three fields, or a list of the three."""
    found: dict[bytes, Any] = {}
    token = text.token()
    if token == b"{":
        for field in text.fields():
            token = text.token()
            if field not in _FIELDS:
                text.skip(token, _ROOM)
            elif field in found:
                raise UnfitError
            else:
                found[field] = _FIELDS[field](text, token)
    elif token == b"[":
        for field, token in zip([*_FIELDS, b""], text.items(), strict=False):
            if not field:
                raise UnfitError
            found[field] = _FIELDS[field](text, token)
    if len(found) != len(_FIELDS):
        raise UnfitError
    return found


def _dtype(text: JsonText, token: bytes) -> bytes:
    """Read the name of a type, or an object of that name and null."""
    if token[:1] == b'"':
        return plain_text(token)
    if token != b"{":
        raise UnfitError
    name = text.key(text.token())
    if (text.token(), text.token()) != (b"null", b"}"):
        raise UnfitError
    return name


def _shape(text: JsonText, token: bytes) -> int:
    """Read a list of sizes, and give their product."""
    if token != b"[":
        raise UnfitError
    return _product(map(_size, text.items()))


def _offsets(text: JsonText, token: bytes) -> tuple[int, int]:
    if token != b"[":
        raise UnfitError
    begin, comma, stop, bracket = (text.token() for _ in range(4))
    if (comma, bracket) != (b",", b"]"):
        raise UnfitError
    return _size(begin), _size(stop)


_FIELDS: dict[bytes, Callable[[JsonText, bytes], Any]] = {
    b"dtype": _dtype,
    b"shape": _shape,
    b"data_offsets": _offsets,
}


def _size(token: bytes) -> int:
    """Take a number that is whole and has 64 bits."""
    if not token.isdigit() or len(token) > 20 or int(token) >= 1 << 64:
        raise UnfitError
    return int(token)


def _product(sides: Iterable[int]) -> int:
    """Multiply as the reader does, which stops at 64 bits even where a zero follows."""
    product = 1
    for side in sides:
        if product != TOO_LARGE:
            product *= side
        if product >= 1 << 64:
            product = TOO_LARGE
    return product


def _length(kind: bytes, elements: int, taken: int) -> int:
    """Work out the bytes of so many elements, which take these in the file."""
    bits = BITS.get(kind)
    if bits is None:
        return MISNAMED if _is_misnamed(kind, elements, taken) else UNKNOWN
    if elements == TOO_LARGE or elements * bits >= 1 << 64:
        return TOO_LARGE
    return NO_BYTES if elements * bits % 8 else elements * bits // 8


def _is_misnamed(kind: bytes, elements: int, taken: int) -> bool:
    """Whether a type is none of a later version, but a known one with one wrong character.

    That one fits the bytes which are taken, and what the name says of its bits does not.
    """
    named = _NAMED.fullmatch(kind)
    if named is not None and len(named[1]) < 5 and elements * int(named[1]) == 8 * taken:
        return False
    return any(
        len(known) == len(kind)
        and sum(one != other for one, other in zip(known, kind, strict=True)) == 1
        and elements * bits == 8 * taken
        for known, bits in BITS.items()
    )


def bad_tensor(name: bytes, text: str) -> DamagedError:
    """Say of a tensor what is wrong with it."""
    named = shown(text_of(name[:120]))
    text = f"names a tensor, {named}, that {text}"
    return DamagedError("structure", text, offset=8, member=named)
