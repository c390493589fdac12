"""Says of what lies beside images whether a source raises where one is lacking."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from preflight.pairing.beside_images import apart, kinds_in
from preflight.pairing.facts import SideFolder


@dataclass(slots=True)
class NeededBeside:
    """What sources say of folders of masks, depth maps and the like."""

    _each: dict[str, str] = field(default_factory=dict)
    """By what is needed for each image, the first line that raises without."""

    _counts: dict[str, str] = field(default_factory=dict)
    """The same where both folders are to have as many files."""

    _folders: set[str] = field(default_factory=set)
    """Folders that sources name."""

    def hear(self, use: Any, line: str) -> None:
        """Take in what a line of a source does with files."""
        if use.how == "folder":
            self._folders.update(use.names)
        said = {"needs": self._each, "counts": self._counts}.get(use.how)
        for kind in use.names if said is not None else ():
            said.setdefault(kind, line)  # type: ignore[union-attr]

    def said_of(self, sides: Iterable[SideFolder]) -> tuple[SideFolder, ...]:
        """Say of each folder which line needs it; an empty one that none needs may be any."""
        said = (one._replace(needed_by=self._by(one)) for one in sides)
        return tuple(one for one in said if one.pairs or one.needed_by)

    def _by(self, side: SideFolder) -> str:
        """Name the line that raises where a file of this folder is lacking; empty: none does."""
        if not side.lacking or apart(side) not in self._folders:
            return ""
        said = [self._each, self._counts] if side.lacking != side.alone else [self._each]
        kinds = sorted(kinds_in(apart(side)))
        return next((one[kind] for one in said for kind in kinds if kind in one), "")
