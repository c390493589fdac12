"""What an instance holds, without calling any code of its class."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

# What a type that is written in C has in place of a property.
_OF_C = (types.GetSetDescriptorType, types.MemberDescriptorType)


def classes(module: str, name: str) -> tuple[type, ...]:
    """Give a class of a module, where somebody has imported it; else none."""
    kind = getattr(sys.modules.get(module), name, None)
    return (kind,) if isinstance(kind, type) else ()


def subclasses(kind: type) -> Iterator[type]:
    """Give all classes that are made of this one: to look for in a set is quicker than to ask."""
    below: list[type] = type.__subclasses__(kind)
    for one in below:
        yield one
        yield from subclasses(one)


def own_attributes(thing: object) -> Mapping[str, Any]:
    """Give an instance's own attributes, though its class have a property called `__dict__`."""
    for cls in type.__dict__["__mro__"].__get__(type(thing)):
        found = type.__dict__["__dict__"].__get__(cls).get("__dict__")
        if found is not None:
            held = found.__get__(thing) if type(found) in _OF_C else None
            return held if type(held) is dict else {}
    return {}


def slots(thing: object, *, of_c: bool = False) -> Iterator[tuple[str, object]]:
    """Give what an instance holds in slots; also in the members of types in C, if wanted."""
    for cls in type.__dict__["__mro__"].__get__(type(thing)):
        members = type.__dict__["__dict__"].__get__(cls)
        for name, member in members.items() if of_c or "__slots__" in members else ():
            if type(member) is types.MemberDescriptorType:
                try:
                    yield name, member.__get__(thing)
                except AttributeError:  # a slot that is empty
                    continue
