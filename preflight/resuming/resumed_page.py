"""Says in words what came of starting a script again, for a page."""

from __future__ import annotations

from collections.abc import Sequence

from preflight.resuming.facts import Resumed
from preflight.values.names import counted, shown


def in_words(found: Sequence[Resumed]) -> str | None:
    """Say how each was resumed, or why not."""
    return "; ".join(_one(each) for each in found) or None


def _one(seen: Resumed) -> str:
    if seen.unasked:
        return f"resume not rehearsed: {shown(seen.unasked)}"
    line = f"resumed with {shown(seen.words)}: {counted(seen.steps, 'step')}"
    if seen.later:
        line += f", not rehearsed for its average of the weights ({seen.later}), which begins later"
    return line
