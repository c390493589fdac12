"""Counts how long captions are, in bounded memory."""

from __future__ import annotations

from operator import neg, pos

from preflight.pairing.facts import CaptionLengths, Length
from preflight.pairing.rules import TEXTS, named_extension
from preflight.targets.targets import CaptionRule
from preflight.values.tally import Counted, Tally

LONGEST = 1 << 20
"""Bytes of one caption that are read."""


class Lengths:
    """Captions of one shard or table."""

    def __init__(self) -> None:
        self._bytes = 0
        self._lengths = Tally[int](neg, pos)
        self._undecodable = Tally[int](int)
        self._empty = 0
        self.unread = 0
        """Captions of more bytes than are read."""

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
        )


def fields_of_text(rule: CaptionRule) -> frozenset[str]:
    """Give the fields of samples that are captions of plain text, if there are such."""
    if rule.rule not in ("auto", "textfile"):
        return frozenset()
    return frozenset(named_extension(rule, small=True) or TEXTS) - {"json"}
