"""Where something was defined."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """Where something in the user's process was defined."""

    file: str | None = None
    """As reports name files; in an installed package `package version: path`."""

    line: int | None = None
    line_text: str | None = None
    qualname: str | None = None
