"""Counts how long captions are and what is wrong with them, in bounded memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from operator import neg, pos

from preflight.pairing.facts import CaptionFlaw, CaptionLengths, Length
from preflight.pairing.rules import TEXTS, named_extension
from preflight.targets.targets import CaptionRule
from preflight.values.tally import NAMES, Counted, Tally

LONGEST = 1 << 20
"""Bytes of one caption that are read."""

MARK = "\ufeff"
"""What a byte-order mark is once it is decoded; Python's `strip` leaves it."""

_POINTER = "version https://git-lfs.github.com/spec/"

_PAGE = re.compile(r"\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE).match

_NUMBERS = re.compile(r"[-+.,\deE\s]+").fullmatch

_BYTE_ORDER = (b"\xff\xfe", b"\xfe\xff")


class Lengths:
    """Captions of one shard, table or folder."""

    def __init__(self, *, flawed: int = NAMES) -> None:
        """Count nothing yet; so many captions of each flaw will be named."""
        self._bytes = 0
        self._lengths = Tally[int](neg, pos)
        self._undecodable = Tally[int](int)
        self._flaws = Tally[str](str, names=flawed)
        self._empty = self._numbers = 0
        self.unread = 0
        """Captions of more bytes than are read."""

    def read(self, content: bytes, name: str) -> bool:
        """Count one more caption by its bytes, and say whether they are UTF-8."""
        try:
            text = content.decode()
        except UnicodeDecodeError:
            self.add(None, len(content), name)
            self._flaws.add("utf-16" if content.startswith(_BYTE_ORDER) else "encoding", name)
            return False
        self.add(text, len(content), name)
        if not text[:1].isalpha() or "\0" in text or text.startswith(_POINTER):
            kind = _flaw_in(text)
            if kind is not None:
                self._flaws.add(kind, name)
            elif _NUMBERS(text):
                self._numbers += 1
        return True

    def merge(self, parts: Iterable[CaptionLengths], inside: Callable[[str], str] = str) -> None:
        """Count what others have counted, who name other captions; each is called as it says."""

        def named(rows: Iterable[Length | CaptionFlaw]) -> Iterator[Counted]:
            return (Counted(key, many, tuple(map(inside, names))) for key, many, names in rows)

        for one in parts:
            self._bytes += one.bytes
            self._lengths.merge(named(one.lengths), one.others)
            undecodable = tuple(map(inside, one.undecodable_names))
            self._undecodable.merge([Counted(0, one.undecodable, undecodable)])
            self._flaws.merge(named(one.flaws))
            self._empty += one.empty
            self._numbers += one.numbers
            self.unread += one.unread

    def add(self, text: str | None, size: int, name: str) -> None:
        """Count one more caption by its bytes and its file; None: it is no UTF-8."""
        self._bytes += size
        if text is None:
            self._undecodable.add(0, name)
            return
        characters = len(text.strip())
        self._empty += not characters
        self._lengths.add(characters, name)

    def told(self) -> CaptionLengths:
        """Give what was counted."""
        undecodable = next(self._undecodable.counted(), Counted(0, 0, ()))
        lengths = tuple(Length(*one) for one in self._lengths.counted())
        others = self._lengths.others
        return CaptionLengths(
            captions=sum(one.captions for one in lengths) + others + undecodable.things,
            bytes=self._bytes,
            lengths=lengths,
            others=others,
            empty=self._empty,
            undecodable=undecodable.things,
            undecodable_names=undecodable.names,
            unread=self.unread,
            flaws=tuple(CaptionFlaw(*one) for one in self._flaws.counted()),
            numbers=self._numbers,
        )


def _flaw_in(text: str) -> str | None:
    """Say what is wrong with a text that could be decoded; None where nothing is."""
    if text.startswith(MARK):
        return "mark"
    if "\0" in text:
        ends = text.strip("\0 \t\r\n")
        if not ends:
            return "zeros"
        if "\0" not in ends and not text.startswith("\0"):
            return "padding"
        odd, even = text[1::2].count("\0"), text[::2].count("\0")
        # Of letters below 256 one byte of two is zero, always the same.
        in_pairs = not len(text) % 2 and not min(odd, even)
        return "utf-16" if in_pairs and 4 * (odd + even) > len(text) else "nul"
    if text.startswith(_POINTER):
        return "not-fetched"
    if _PAGE(text):
        return "page"
    return None if text.strip() else "empty"


def fields_of_text(rule: CaptionRule) -> frozenset[str]:
    """Give the fields of samples that are captions of plain text, if there are such."""
    if rule.rule not in ("auto", "textfile"):
        return frozenset()
    return frozenset(named_extension(rule, small=True) or TEXTS) - {"json"}
