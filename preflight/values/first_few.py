"""Keeps the first few of many names."""

from __future__ import annotations

from bisect import insort

NAMED = 20
"""Names that are kept of each kind."""


class First:
    """The first few of many names, in their order."""

    def __init__(self) -> None:
        self.count = 0
        self.names: list[str] = []

    def add(self, name: str) -> None:
        """Count one more."""
        self.count += 1
        if len(self.names) < NAMED or name < self.names[-1]:
            insort(self.names, name)
            del self.names[NAMED:]
