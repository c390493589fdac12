"""What became of the picture of a first batch that somebody asked for."""

from __future__ import annotations

from typing import NamedTuple


class Sheet(NamedTuple):
    """The contact sheet of one batch, or why there is none."""

    samples: int = 0
    """Those that are shown."""

    of: int = 0
    """Samples of the batch, as far as that can be said."""

    reason: str = ""
    """Why it was not drawn or not written; empty: it was."""
