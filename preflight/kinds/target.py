"""What every target is: a frozen value that can say what reports call it."""

from __future__ import annotations

from dataclasses import dataclass

from preflight.findings.finding import Location
from preflight.values.names import name_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One thing that the job is made of."""

    @property
    def part(self) -> str | None:
        """The part of the job that it stands for; None: its kind says so."""
        return None

    def name_in(self, _root: str) -> str:
        """Name it for a report, given the job's folder."""
        raise NotImplementedError

    def place(self, root: str) -> Location:
        """Say where it is, for a report."""
        return Location(name=self.name_in(root))


@dataclass(frozen=True, slots=True, kw_only=True)
class PathTarget(Target):
    """A file, or a folder with all below it."""

    path: str

    @property
    def is_whole(self) -> bool:
        """Whether all below it is read."""
        return True

    def name_in(self, _root: str) -> str:
        """Name it by its path."""
        return name_of(self.path, _root)

    def place(self, root: str) -> Location:
        """Say where it is: at its path."""
        return Location(file=self.name_in(root))
