"""Matches paths with patterns as git does: `*`, `?`, `[a-z]` and `**`, in time that is bounded.

Whatever a pattern is, a byte of a path is looked at once: all places of the pattern that may come
next are held as the bits of one number.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable

_SPECIAL = re.compile(rb"[*?\[\\]")

_CLASSES = {
    b"alnum": string.ascii_letters + string.digits,
    b"alpha": string.ascii_letters,
    b"blank": " \t",
    b"cntrl": "".join(map(chr, (*range(0x20), 0x7F))),
    b"digit": string.digits,
    b"graph": string.ascii_letters + string.digits + string.punctuation,
    b"lower": string.ascii_lowercase,
    b"print": string.ascii_letters + string.digits + string.punctuation + " ",
    b"punct": string.punctuation,
    b"space": string.whitespace,
    b"upper": string.ascii_uppercase,
    b"xdigit": string.hexdigits,
}
_SETS = {name: frozenset(those.encode()) for name, those in _CLASSES.items()}

_SLASH = 0x2F


class _NeverError(Exception):
    """This pattern matches nothing."""


def plain_length(pattern: bytes) -> int:
    """Count the bytes before the first that means more than itself."""
    special = _SPECIAL.search(pattern)
    return len(pattern) if special is None else special.start()


def matcher(pattern: bytes, *, folded: bool) -> Callable[[bytes], bool]:
    """Make what says whether a whole text matches, by the rules of git's `wildmatch`.

    Args:
        pattern: slashes in a text are matched by slashes and by `**` only.
        folded: whether the case of ASCII letters does not matter.
    """
    try:
        return _Places(pattern, folded=folded).match
    except _NeverError:
        return lambda _: False


class _Places:
    """A pattern as steps, each a bit: which byte leads over it, and which can be left out."""

    def __init__(self, pattern: bytes, *, folded: bool) -> None:
        self._folded = folded
        self._bytes = [0] * 256
        """By byte: the steps that it leads over."""

        self._any = 0
        """Steps that any byte but a slash leads over."""

        self._stays = 0
        """Steps that any byte but a slash leaves in place, and that can be left out."""

        self._stays_at_slash = 0
        self._skips = 0
        """Steps before `**/`: that is left out, or begun."""

        self._count = 0
        at = 0
        while at < len(pattern):
            at = self._add(pattern, at)

    def match(self, text: bytes) -> bool:
        """Whether the whole text matches."""
        text = text.lower() if self._folded else text
        places = self._on(1)
        for byte in text:
            if byte == _SLASH:
                leads, stays = self._bytes[byte], self._stays_at_slash
            else:
                leads, stays = self._bytes[byte] | self._any, self._stays
            places = self._on((places & leads) << 1 | (places & stays))
            if not places:
                return False
        return bool(places >> self._count & 1)

    def _on(self, places: int) -> int:
        """Add the places that are reached without a byte."""
        while True:
            skips = places & self._skips
            more = places | (places & self._stays) << 1 | skips << 1 | skips << 3
            if more == places:
                return places
            places = more

    def _add(self, pattern: bytes, at: int) -> int:
        """Take the next part of the pattern, and give where it ends."""
        byte = pattern[at]
        if byte == 0x2A:  # *
            return self._add_stars(pattern, at)
        if byte == 0x3F:  # ?
            self._any |= 1 << self._count
            self._count += 1
            return at + 1
        if byte == 0x5B:  # [
            allowed, end = self._one_of(pattern, at + 1)
            self._step(allowed)
            return end
        if byte == 0x5C:  # a backslash
            if at + 1 == len(pattern):
                raise _NeverError
            self._step(pattern[at + 1 : at + 2])
            return at + 2
        self._step(bytes([byte]).lower() if self._folded else bytes([byte]))
        return at + 1

    def _step(self, allowed: Iterable[int]) -> None:
        bit = 1 << self._count
        for byte in allowed:
            self._bytes[byte] |= bit
        self._count += 1

    def _add_stars(self, pattern: bytes, at: int) -> int:
        end = at
        while pattern[end : end + 1] == b"*":
            end += 1
        rest = pattern[end : end + 2]
        deep = end - at > 1 and (at == 0 or pattern[at - 1] == _SLASH)
        deep = deep and (rest[:1] in (b"", b"/") or rest == b"\\/")
        if deep and rest[:1] == b"/":
            self._skips |= 1 << self._count
            self._count += 1
        self._stays |= 1 << self._count
        if deep:
            self._stays_at_slash |= 1 << self._count
        self._count += 1
        return end

    def _one_of(self, pattern: bytes, at: int) -> tuple[set[int], int]:
        """Read the inside of brackets; give the bytes that they allow, and where they end."""
        negated = pattern[at : at + 1] in (b"!", b"^")
        at += negated
        held: set[int] = set()
        before = 0
        first = True
        while first or pattern[at : at + 1] != b"]":
            first = False
            part, before, at = self._part(pattern, at, before)
            held |= part
        allowed = set(range(256)) - held if negated else held
        return allowed - {_SLASH}, at + 1

    def _part(self, pattern: bytes, at: int, before: int) -> tuple[set[int], int, int]:
        """Read a byte, a range or a named class in brackets.

        Gives what it holds, the byte from which a range could go on, and where it ends.
        """
        byte = _byte(pattern, at)
        if byte == 0x5C:
            byte = _byte(pattern, at + 1)
            return self._met({byte}), byte, at + 2
        behind = pattern[at + 1 : at + 2]
        if byte == 0x2D and before and behind not in (b"", b"]"):
            at += 1 + (behind == b"\\")
            last = _byte(pattern, at)
            held = set(range(before, last + 1))
            if self._folded:
                held |= {one + 32 for one in held if 0x41 <= one <= 0x5A}
            return self._met(held), 0, at + 1
        if byte == 0x5B and behind == b":":
            end = pattern.find(b"]", at + 2)
            if end < 0:
                raise _NeverError
            if end > at + 2 and pattern[end - 1] == 0x3A:
                return self._named(pattern[at + 2 : end - 1]), 0, end + 1
        return self._met({byte}), byte, at + 1

    def _met(self, held: set[int]) -> set[int]:
        """Leave out what no text holds: where case does not matter, capitals have become small."""
        return {one for one in held if not 0x41 <= one <= 0x5A} if self._folded else held

    def _named(self, name: bytes) -> set[int]:
        if name not in _SETS:
            raise _NeverError
        held = set(_SETS[name])
        return held | _SETS[b"lower"] if self._folded and name == b"upper" else held


def _byte(pattern: bytes, at: int) -> int:
    if at >= len(pattern):
        raise _NeverError
    return pattern[at]
