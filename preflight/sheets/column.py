"""What a sheet shows of one part of a batch: the first samples, copied, and figures of all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MOST = 16
"""Samples that are shown."""


@dataclass(slots=True, kw_only=True)
class Stats:
    """Figures of numbers, of those that are finite."""

    low: float | None = None
    """None: there is none that is finite."""

    high: float | None = None
    mean: float | None = None
    nan: int = 0
    inf: int = 0
    means: tuple[float, ...] = ()
    """Of each channel of pictures."""

    @property
    def odd(self) -> str:
        """Say how many are not finite; empty: all are."""
        said = [f"{self.nan:,} NaN"] if self.nan else []
        return ", ".join([*said, f"{self.inf:,} inf"] if self.inf else said)


@dataclass(slots=True, kw_only=True)
class ShownPicture:
    """One picture, as values with the channels first, and what they were."""

    data: Any
    """A tensor of 1 or 3 channels."""

    stats: Stats
    width: int
    height: int


@dataclass(slots=True, kw_only=True)
class Column:
    """One part of a batch, such as `image`, over its samples."""

    name: str
    about: str
    """Its type and shape, in words."""

    total: int = 0
    """Samples that it has; 0: it is not divided into samples."""

    stats: Stats | None = None
    """Of all its numbers."""

    note: str = ""
    """What is left out of each picture: `frame 1 of 8`."""

    pictures: list[ShownPicture] = field(default_factory=list)
    is_mask: bool = False
    """Whether its pictures are of whole numbers and have no channels."""

    is_latent: bool = False
    """Whether its pictures are no colours, but some channels of numbers of any range."""

    texts: list[str] = field(default_factory=list)
    ids: list[list[int]] = field(default_factory=list)
    """Token ids of each sample."""


def in_words(stats: Stats, *, by_channel: bool = False) -> str:
    """Say range and mean: `-2.12 to 2.64, mean -0.03`."""
    if stats.low is None or stats.high is None or stats.mean is None:
        return "nothing finite"
    if stats.low == stats.high:
        return f"all {number(stats.low)}"
    said = f"{number(stats.low)} to {number(stats.high)}, mean {number(stats.mean)}"
    if by_channel and len(stats.means) > 1:
        said += f"; by channel {', '.join(map(number, stats.means[:_CHANNELS]))}"
        said += ", …" if len(stats.means) > _CHANNELS else ""
    return said


_CHANNELS = 16

# Beyond these, digits are counted from the first that is not 0.
_TINY, _HUGE = 0.01, 1e5


def number(value: float) -> str:
    """Write a number with as many digits as a reader compares."""
    if value == int(value) and abs(value) < _HUGE:
        return f"{int(value)}"
    if _TINY <= abs(value) < _HUGE:
        return f"{value:.2f}"
    return f"{value:.3g}"
