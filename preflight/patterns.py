"""Regular expressions that are compiled when somebody first matches with them.

To compile those at the tops of our modules takes each process some milliseconds, and a run uses few
of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

__all__ = ["pattern"]


class _Pattern:
    """Has the methods of a compiled pattern, and keeps each once it was asked for."""

    def __init__(self, pattern: Any, flags: int = 0) -> None:
        """Keep a pattern, of characters or of bytes."""
        self._source = pattern, flags

    def __getattr__(self, name: str) -> Any:
        """Give what the compiled pattern has under this name."""
        found = getattr(re.compile(*self._source), name)
        setattr(self, name, found)
        return found


if TYPE_CHECKING:
    from re import compile as pattern
else:
    pattern = _Pattern
