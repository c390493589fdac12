"""What a sample is to whoever holds it against a cache, and where its caption is looked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from preflight.targets.targets import CaptionRule

if TYPE_CHECKING:
    from preflight.keys.folder_samples import FolderHome
    from preflight.keys.shard_samples import ShardHome

Tell: TypeAlias = Callable[[str], object]

OFTEN = 512
"""Samples after which it is said again that work goes on."""

_TEXTS = ("txt", "caption")


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


Home: TypeAlias = "FolderHome | ShardHome"
"""Where samples are."""


def caption_suffixes(rule: CaptionRule) -> tuple[str, ...]:
    """Give the suffixes of caption files, in small letters, the likeliest first."""
    named = (rule.extension or "").lstrip(".").lower()
    texts = (named,) if named else _TEXTS
    if rule.rule == "json":
        return ("json",)
    return {"auto": (*texts, "json"), "textfile": texts}.get(rule.rule, ())
