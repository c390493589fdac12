"""How the fields of a value are set where the methods of its class are not made yet.

What is known of the fields is read from the declaration, by the rules of PEP 557; where one of the
rarer ones would be needed, there is no such way.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MemberDescriptorType
from typing import Any, cast

_RARE = ("InitVar", "dataclasses.InitVar", "KW_ONLY", "dataclasses.KW_ONLY")


class Filling:
    """What the fields of a class are called, and what they hold where nothing is given."""

    __slots__ = ("defaults", "factories", "names", "order")

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.order: list[str] = []
        self.defaults: dict[str, object] = {}
        self.factories: dict[str, Callable[[], object]] = {}

    def fill(self, value: object, places: Sequence[object], given: Mapping[str, object]) -> bool:
        """Set all fields of a value, and have it complete itself.

        Args:
            value: with slots; it may be frozen.
            places: what is given for its first fields.
            given: what is given by name.

        Returns:
            whether it was done: not where what is given does not fit, and nothing is set then.
        """
        members = {**self.defaults, **given}
        if places:
            placed = dict(zip(self.order, places, strict=False))
            if len(placed) < len(places) or not placed.keys().isdisjoint(given):
                return False
            members.update(placed)
        for name, make in self.factories.items():
            if name not in members:
                members[name] = make()
        if members.keys() != self.names:
            return False
        for name, member in members.items():
            object.__setattr__(value, name, member)
        return True

    def inherit(self, other: Filling) -> None:
        """Take over the fields of a class above."""
        for name in other.names:
            self._forget(name)
        self.names |= other.names
        self.order += [name for name in other.order if name not in self.order]
        self.defaults |= other.defaults
        self.factories |= other.factories

    def declare(self, name: str, default: Any, *, kw_only: bool) -> bool:
        """Take in a field as a class declares it; False where only the methods know how.

        Args:
            name: of the field.
            default: what stands behind it: a value, a `dataclasses.field()`, or MISSING.
            kw_only: what holds for the whole class.

        Raises:
            TypeError: a field that is never given has a default, which would have to be found in
                the class; one with slots has none.
        """
        missing = dataclasses.MISSING
        init, factory = True, cast(Any, missing)
        if isinstance(default, dataclasses.Field):
            init, factory, own = default.init, default.default_factory, default.kw_only
            kw_only, default = kw_only if own is missing else own, default.default
        self._forget(name)
        if not init:
            if default is not missing:
                raise TypeError(f"{name} is never given: its default is to be a default_factory")
            return factory is missing
        self.names.add(name)
        if kw_only:
            self.order = [one for one in self.order if one != name]
        elif name not in self.order:
            self.order.append(name)
        if factory is not missing:
            self.factories[name] = factory
        elif default is not missing:
            self.defaults[name] = default
        return True

    def _forget(self, name: str) -> None:
        self.names.discard(name)
        self.defaults.pop(name, None)
        self.factories.pop(name, None)


def filling_of(
    cls: type, above: Iterable[Filling | None], *, names: Iterable[str], kw_only: bool
) -> Filling | None:
    """Say how the fields of a class are set; None where that takes the methods themselves.

    Args:
        cls: as it was declared, before any decorator has changed it.
        above: of the classes above that have fields, from the farthest on.
        names: of what is annotated in the class itself, but for what belongs to the class.
        kw_only: whether its own fields are given by name.
    """
    filling = Filling()
    for one in above:
        if one is None:
            return None
        filling.inherit(one)
    for name in names:
        default = getattr(cls, name, dataclasses.MISSING)
        if isinstance(default, MemberDescriptorType):  # of a class above that has slots
            default = dataclasses.MISSING
        if str(cls.__annotations__[name]).startswith(_RARE):
            return None
        if not filling.declare(name, default, kw_only=kw_only):
            return None
    return filling


def fields_of(cls: type, *, kw_only: bool) -> Mapping[str, dataclasses.Field[Any]]:
    """Have the standard decorator read the fields of a class, and make no method.

    Args:
        cls: as it was declared, with no fields above it.
        kw_only: whether its fields are given by name.
    """
    members = {name: one for name, one in vars(cls).items() if name in cls.__annotations__}
    members["__annotations__"] = dict(cls.__annotations__)
    members["__module__"] = cls.__module__
    members["__doc__"] = cls.__doc__ or cls.__name__  # it would write one, and look at much for it
    decorate = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)
    read: Any = decorate(type(cls.__name__, (), members))
    found: Mapping[str, dataclasses.Field[Any]] = read.__dataclass_fields__
    return found
