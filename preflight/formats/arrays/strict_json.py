r"""JSON read word by word, and as strictly as RFC 8259 has it; nothing of it is kept.

Python's json takes NaN, numbers out of range, and texts that are half of a pair (`\ud800`), and
needs thirty times the memory of what it reads. Readers in other languages refuse the former.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator

from preflight.formats.bytes.blocks import Block
from preflight.formats.bytes.damaged import TooMuchError

MOST_STEPS = 5_000_000
"""Words that are read one by one: some seconds. A text of more is not judged."""

# Bytes of one text that are looked at: it is held beside all of the JSON.
_LONGEST = 1 << 24
_LONGEST_ESCAPED = 1 << 16

_TOKEN = re.compile(
    rb'[ \t\n\r]*([{}\[\]:,]|"[^"\\\x00-\x1f]*"?|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?'
    rb"|true|false|null)"
)
_ESCAPE = re.compile(
    rb'\\(?:["\\/bfnrt]|u(?:[0-9a-ce-fA-CE-F][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2}'
    rb"|[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}))"
    rb'[^"\\\x00-\x1f]*'
)
_SPACE = re.compile(rb"[ \t\n\r]*")


class UnfitError(ValueError):
    """This is no JSON, or not what must stand here."""


class JsonText:
    """A text of JSON, and how far it was read."""

    __slots__ = ("at", "steps", "text")

    def __init__(self, text: Block) -> None:
        self.text = text
        self.at = 0
        self.steps = 0

    def step(self) -> None:
        """Count what is done.

        Raises:
            TooMuchError: it is more than MOST_STEPS.
        """
        self.steps += 1
        if self.steps > MOST_STEPS:
            size = len(self.text)
            raise TooMuchError(f"its {size:,} bytes of JSON take too long to be looked at")

    def token(self) -> bytes:
        """Give the next bracket, comma, colon, text in its quotes, number, or word.

        Raises:
            UnfitError: there is none of these.
            TooMuchError: it is a very long text.
        """
        self.step()
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            raise UnfitError
        self.at = match.end()
        if match.end(1) - match.start(1) > _LONGEST:
            size = match.end(1) - match.start(1)
            raise TooMuchError(f"it holds a text of {size:,} bytes, which is not looked at")
        token: bytes = match[1]
        if token[:1] == b'"' and (len(token) == 1 or token[-1:] != b'"'):
            return self._escaped(match.start(1))
        return token

    def _escaped(self, start: int) -> bytes:
        while self.text[self.at : self.at + 1] == b"\\":
            self.step()
            match = _ESCAPE.match(self.text, self.at)
            if match is None:
                raise UnfitError
            self.at = match.end()
        self.at += 1
        token = bytes(self.text[start : self.at])
        if token[-1:] != b'"' or len(token) == 1:
            raise UnfitError
        return token

    def key(self, token: bytes) -> bytes:
        """Take a name and its colon."""
        if token[:1] != b'"' or self.token() != b":":
            raise UnfitError
        return plain_text(token)

    def fields(self) -> Iterator[bytes]:
        """Give the names of an object behind its brace; the values are for the caller to read."""
        return map(self.key, self.items(b"}"))

    def items(self, end: bytes = b"]") -> Iterator[bytes]:
        """Give the first token of each item up to a bracket; the rest is for the caller to read."""
        token = self.token()
        if token == end:
            return
        while True:
            yield token
            token = self.token()
            if token == end:
                return
            if token != b",":
                raise UnfitError
            token = self.token()

    def skip(self, token: bytes, room: int) -> None:
        """Pass over a value of any kind, which begins with this token and has so many levels."""
        if token not in (b"{", b"["):
            is_number = token[:1] in b"-0123456789"
            if not (math.isfinite(float(token)) if is_number else token[:1] in b'"tfn'):
                raise UnfitError
        elif not room:
            raise UnfitError
        elif token == b"{":
            for _ in self.fields():
                self.skip(self.token(), room - 1)
        else:
            for one in self.items():
                self.skip(one, room - 1)

    def rest_is_space(self) -> bool:
        """Whether nothing comes any more."""
        return _SPACE.fullmatch(self.text, self.at) is not None


def plain_text(token: bytes) -> bytes:
    """Take a text out of its quotes, as UTF-8.

    Raises:
        TooMuchError: it is very long, and has escapes.
    """
    if b"\\" not in token:
        return token[1:-1]
    if len(token) > _LONGEST_ESCAPED:
        raise TooMuchError(f"it holds a name of {len(token):,} bytes, which is not looked at")
    text: str = json.loads(token)
    return text.encode("utf-8")
