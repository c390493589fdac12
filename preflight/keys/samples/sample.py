"""What a sample is to whoever holds it against a cache, and where its caption is looked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol, TypeAlias

from preflight.keys.samples.caption_texts import Captions
from preflight.pairing.rules import TEXTS, named_extension
from preflight.targets.targets import CaptionRule, KeyedData

Tell: TypeAlias = Callable[[str], object]

OFTEN = 512
"""Samples after which it is said again that work goes on."""


class Sample(NamedTuple):
    """One sample; a named tuple, since there may be very many."""

    home: Home
    stem: str
    name: str
    """Of its file, without folders."""

    folder: str
    """Below that of the data set; empty for that one itself."""

    ticket: Any
    """By which its home finds its caption."""

    @property
    def relative(self) -> str:
        """Its path below the data set's folder."""
        return f"{self.folder}/{self.name}" if self.folder else self.name


class Home(Protocol):
    """Where samples are."""

    data: KeyedData

    def samples(self) -> Iterator[Sample]:
        """Give all of them, each time in the same order."""

    def captions(self, one: Sample) -> Captions:
        """Read the captions of one; empty: it has none."""

    def modified(self, one: Sample) -> float | None:
        """Say when one was last written; None where it is gone."""

    def caption_modified(self, one: Sample) -> float | None:
        """Say when its caption was last written; None where that has no file of its own."""

    def shown(self, one: Sample) -> str:
        """Name one, as reports do."""

    def identity(self, one: Sample) -> object:
        """Tell one from another: the same for one file, whatever data set has it."""

    def is_mask(self, one: Sample, /) -> bool:
        """Whether it is a mask or the like, of another image."""


def caption_suffixes(rule: CaptionRule) -> tuple[str, ...]:
    """Give the suffixes of caption files, in small letters, the likeliest first."""
    texts = named_extension(rule, small=True) or TEXTS
    if rule.rule == "json":
        return ("json",)
    return {"auto": (*texts, "json"), "textfile": texts}.get(rule.rule, ())
