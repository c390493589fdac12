"""What a trainer's own file names, as entries of settings, each with the line that names it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Entry = TypeVar("Entry")

Keys = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerEntry(Generic[Entry]):
    """One entry."""

    settings: Entry
    line: int
    """Where it is named, counted from 1."""

    flat: bool = False
    """Whether the trainer takes no image of the folders below."""


def tables(value: object) -> list[Keys]:
    """Give the tables of a list; of anything else none."""
    every = value if isinstance(value, list) else []
    return [one for one in every if isinstance(one, dict)]


def text(table: Keys, key: str) -> str | None:
    """Give a text that is not empty."""
    value = table.get(key)
    return value if isinstance(value, str) and value.strip() else None


def number(table: Keys, key: str) -> int | None:
    """Give a whole number."""
    value = table.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def line_of(content: str, key: str, value: str) -> int:
    """Find the line on which a key of TOML or JSON has this text, only to name a place for people.

    Where several have it, it is the first; where it is written in another way, the file's first.
    """
    written = "|".join(map(re.escape, {json.dumps(value), f'"{value}"', f"'{value}'"}))
    found = re.search(rf"""["']?{re.escape(key)}["']?\s*[=:]\s*(?:{written})""", content)
    return content.count("\n", 0, found.start()) + 1 if found else 1
