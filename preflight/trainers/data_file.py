"""What a trainer's own file says of data and caches, and where in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from preflight.settings.job import CacheSettings, DataSettings
from preflight.values.small_files import OddFileError, read_small

LARGEST = 1 << 20
"""Bytes of such a file: they are written by hand."""

Place: TypeAlias = Callable[[str], str]
"""Spells a path, which a trainer takes from the folder where it starts, as the settings do."""


class NamedEntry(NamedTuple):
    """One data set or cache."""

    settings: DataSettings | CacheSettings
    lines: Mapping[str, int]
    """Where each key of the settings is said."""

    spelled: Mapping[str, str] = {}
    """How the file says it, where that is not as the settings do."""


class Absence(NamedTuple):
    """Something without which the trainer stops at its start."""

    path: str
    holds: str | None = None
    """What is wrong with it, where it is there."""

    file: str | None = None
    """The file that names it."""

    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One such file, as it was understood."""

    path: str
    named_in: str | None = None
    """The file that names it."""

    named_at: int | None = None
    data: tuple[NamedEntry, ...] = ()
    cache: tuple[NamedEntry, ...] = ()
    absent: tuple[Absence, ...] = ()
    left: tuple[str, ...] = ()
    """What it names and nobody looks at, each with the reason."""

    unused: tuple[str, ...] = ()
    """Folders of that which the job does not use."""

    is_part: bool = False
    """Whether the job uses some of that."""


@dataclass(slots=True)
class FoundInFile:
    """What was found of a file so far."""

    data: list[NamedEntry] = field(default_factory=list)
    cache: list[NamedEntry] = field(default_factory=list)
    absent: list[Absence] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    is_part: bool = False

    def leave(self, what: str, *, is_used: bool, folder: str | None = None) -> None:
        """Note what nobody looks at, with the folder in which it lies."""
        self.left.append(what)
        self.unused += [folder] if folder is not None and not is_used else []
        self.is_part |= is_used

    def add(self, one: NamedEntry) -> None:
        """Take it in; several resolutions have the same images, which are looked at once."""
        if isinstance(one.settings, CacheSettings):
            self.cache.append(one)
        elif all(other.settings != one.settings for other in self.data):
            self.data.append(one)

    def file(self, path: str) -> DataFile:
        """Give all of it."""
        return DataFile(
            path=path,
            data=tuple(self.data),
            cache=tuple(self.cache),
            absent=tuple(self.absent),
            left=tuple(self.left),
            unused=tuple(self.unused),
            is_part=self.is_part,
        )


def text_in(path: str, encoding: str = "utf-8") -> str | None:
    """Read a file of settings; None of one that cannot be read, or is none."""
    try:
        if os.path.getsize(path) > LARGEST:
            return None
        return read_small(path).decode(encoding)
    except (OSError, OddFileError, UnicodeDecodeError):
        return None


def path_of(value: Any) -> str | None:
    """Take a value for a path; None where it can be none."""
    return value if isinstance(value, str) and value.strip() and "\0" not in value else None


def broken(path: str, kind: str, error: ValueError | RecursionError) -> DataFile:
    """Give what is known of a file that no trainer can read."""
    line = getattr(error, "lineno", None)  # tomllib has it from Python 3.14 on
    if line is None:
        said = str(error).partition("(at line ")[2].partition(",")[0]
        line = int(said) if said.isdigit() else None
    holds = f"is no valid {kind}: {error}"
    return DataFile(path=path, absent=(Absence(path, holds, path, line),))
