"""Draws a sample: so many things, or a share of them, the same ones in every run."""

from __future__ import annotations

from dataclasses import dataclass

OUTSIDE = "outside the sample"
"""With what the reason begins for which something is not looked at, since nobody wanted it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How many of many things are to be looked at."""

    text: str
    """As it was given: `500` or `10%`."""

    count: int | None = None
    percent: float | None = None

    def of(self, total: int) -> int:
        """Say how many of so many that is: at least one, where there are any."""
        if self.count is not None:
            return min(self.count, total)
        assert self.percent is not None  # noqa: S101  for the type checker
        return min(total, max(1, round(total * self.percent / 100))) if total else 0

    def draw(self, total: int) -> frozenset[int] | None:
        """Draw from so many things by their places; None: all of them.

        Two runs over the same things draw the same, so that the second can remember.
        """
        wanted = self.of(total)
        if wanted == total:
            return None
        import random

        return frozenset(random.Random(total).sample(range(total), wanted))  # noqa: S311


def parse_sample(text: str) -> Sampling:
    """Read `500` or `10%`.

    Raises:
        ValueError: it is neither a number from 1 on nor a percentage above 0 and up to 100.
    """
    bare = text.strip().removesuffix("%")
    try:
        if text.strip().endswith("%"):
            percent = float(bare)
            if 0 < percent <= 100:
                return Sampling(text=text.strip(), percent=percent)
        elif int(bare) > 0:
            return Sampling(text=text.strip(), count=int(bare))
    except ValueError:
        pass
    raise ValueError(f"{text!r} is no number of files, such as 500, and no share, such as 10%")
