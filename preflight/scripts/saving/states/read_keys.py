"""Notes which parts of a checkpoint a script asks for that goes on from there.

What says how far training is, or a schedule, and is never asked for, was not gone on from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from preflight.scripts.saving.states.stated_counts import counts_in, is_part, schedules_in
from preflight.values.own_files import passes_on


class LoadedState(dict[Any, Any]):
    """What was loaded; it is copied and saved as the plain dict that it stands for."""

    def __init__(self, state: dict[Any, Any], asked: set[str], within: str = "") -> None:
        super().__init__(state)
        self._asked = asked
        self._within = within

    @passes_on
    def __getitem__(self, key: Any) -> Any:
        self._asked.add(f"{self._within}{key}")
        return super().__getitem__(key)

    @passes_on
    def get(self, key: Any, *otherwise: Any) -> Any:
        """Give a part."""
        self._asked.add(f"{self._within}{key}")
        return super().get(key, *otherwise)

    @passes_on
    def pop(self, key: Any, *otherwise: Any) -> Any:
        """Take a part out."""
        self._asked.add(f"{self._within}{key}")
        return super().pop(key, *otherwise)

    def __iter__(self) -> Iterator[Any]:
        self._all()
        return super().__iter__()

    def keys(self) -> Any:
        """Give all names, by which somebody may ask for each part."""
        self._all()
        return super().keys()

    def items(self) -> Any:
        """Give all parts, by their names."""
        self._all()
        return super().items()

    def values(self) -> Any:
        """Give all parts."""
        self._all()
        return super().values()

    def popitem(self) -> Any:
        """Take any part out."""
        self._all()
        return super().popitem()

    def copy(self) -> dict[Any, Any]:
        """Give a plain copy, of which it is not known what is asked."""
        self._all()
        return dict(super().items())

    def __or__(self, other: Any) -> Any:
        return self.copy() | other

    def __reduce_ex__(self, _: Any) -> Any:
        self._all()
        return dict, (dict(super().items()),)

    def _all(self) -> None:
        self._asked.update(f"{self._within}{one}" for one in dict.keys(self))


class ReadKeys:
    """What was asked of all checkpoints that one process has loaded."""

    def __init__(self) -> None:
        self._asked: set[str] = set()
        self._counts: dict[str, int] = {}
        self._schedules: dict[str, int] = {}

    def noting(self, given: Any) -> Any:
        """Give what was loaded so that it notes what it is asked for, where that may tell."""
        if type(given) is not dict:
            return given
        counts = {name: one for name, one in counts_in(given).items() if _is_in_dicts(given, name)}
        schedules = schedules_in(given)
        schedules = {name: one for name, one in schedules.items() if _is_in_dicts(given, name)}
        if not (counts or schedules):
            return given
        self._counts |= counts
        self._schedules |= schedules
        return self._noting(given, {*counts, *schedules})

    def _noting(self, given: dict[Any, Any], names: Iterable[str], within: str = "") -> LoadedState:
        """Give a part that notes what it is asked for, as do those in it that hold such names."""
        inner = {
            name: self._noting(held, names, f"{within}{name}.")
            for name, held in given.items()
            if type(held) is dict
            and is_part(name, held)
            and any(one.startswith(f"{within}{name}.") for one in names)
        }
        return LoadedState({**given, **inner}, self._asked, within)

    def unread_counts(self) -> dict[str, int]:
        """Give what says how far training is, where other parts were asked for, and none of it."""
        none = self._asked.isdisjoint(self._counts)
        return dict(self._counts) if self._asked and none else {}

    def unread_schedules(self) -> dict[str, int]:
        """Give the states of schedules that nobody asked for, by how often they had moved."""
        return {name: one for name, one in self._schedules.items() if name not in self._asked}


def _is_in_dicts(given: Any, name: str) -> bool:
    """Whether it is seen who asks for it: what lies in an object is read in other ways."""
    for one in name.split(".")[:-1]:
        given = given.get(one)
        if type(given) is not dict:
            return False
    return True
