"""Dataclasses whose methods are made when somebody first needs them.

The standard decorator writes and compiles the methods of a class while its module is imported, a
third of a millisecond for each. There are two hundred classes of values here, and a run makes use
of some fifty of them: to make the others would take longer than to look again at ten thousand files
that have not changed.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

_FIELDS = "__dataclass_fields__"

# Two threads may be the first to need a class; and to make one, those above it may have to be made.
_lock = threading.RLock()


class _Later:
    """Stands in a class for its fields until they are asked for, and then has its methods made."""

    def __init__(self, cls: type, defaults: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        self._cls = cls
        self._defaults = defaults
        self._options = options

    def __get__(self, value: object, owner: type) -> Any:
        """Give the fields, as `dataclasses.fields` and `is_dataclass` ask for them."""
        self.make()
        return getattr(owner, _FIELDS)

    def make(self) -> None:
        """Have the standard decorator make the methods, unless it has done so."""
        cls = self._cls
        with _lock:
            if vars(cls).get(_FIELDS) is not self:
                return
            slots = {name: vars(cls).get(name) for name in self._defaults}
            delattr(cls, _FIELDS)
            delattr(cls, "__init__")
            # The decorator looks for a default where a class with slots has the slot.
            for name, default in self._defaults.items():
                setattr(cls, name, default)
            dataclasses.dataclass(**self._options)(cls)
            for name, slot in slots.items():
                if slot is not None:
                    setattr(cls, name, slot)
                elif name in vars(cls):
                    delattr(cls, name)  # a class above has the slot


def _deferred(*, slots: bool, **options: Any) -> Callable[[type], type]:
    """Make a dataclass with slots of a class, as the standard decorator does with these options.

    Raises:
        TypeError: without slots nothing is gained: attributes would hide what stands in for them.
    """
    if not slots:
        raise TypeError("a class of values is declared with slots=True")

    def declare(cls: type) -> type:
        names = [name for name, kind in cls.__annotations__.items() if not _is_for_class(kind)]
        defaults = {name: vars(cls)[name] for name in names if name in vars(cls)}
        slotted = _with_slots(cls, names)
        later = _Later(slotted, defaults, options)

        def make_and_begin(self: object, *args: Any, **kwargs: Any) -> None:
            later.make()
            slotted.__init__(self, *args, **kwargs)  # type: ignore[misc]

        members = {_FIELDS: later, "__init__": make_and_begin}
        for name, member in {**members, "__getstate__": _state, "__setstate__": _restore}.items():
            setattr(slotted, name, member)
        return slotted

    return declare


def _is_for_class(annotation: object) -> bool:
    return str(annotation).startswith(("ClassVar", "typing.ClassVar"))


def _with_slots(cls: type, names: Sequence[str]) -> type:
    """Give the same class with slots, which can only be given to a new one."""
    above = {slot for one in cls.__mro__[1:] for slot in vars(one).get("__slots__", ())}
    members = {name: value for name, value in vars(cls).items() if name not in names}
    for name in ("__dict__", "__weakref__"):
        members.pop(name, None)  # of the class that is replaced
    members["__annotations__"] = dict(cls.__annotations__)
    members["__slots__"] = tuple(name for name in names if name not in above)
    slotted = type(cls)(cls.__name__, cls.__bases__, members)
    slotted.__qualname__ = cls.__qualname__
    return slotted


def _state(value: Any) -> list[object]:
    """Give what pickle and copy keep of a value; a frozen one could not be restored by default."""
    return [getattr(value, one.name) for one in dataclasses.fields(value)]


def _restore(value: Any, state: Sequence[object]) -> None:
    for field, member in zip(dataclasses.fields(value), state, strict=True):
        object.__setattr__(value, field.name, member)


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _deferred
