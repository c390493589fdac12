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
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["dataclass"]

_FIELDS = "__dataclass_fields__"
_SIGNATURE = "__signature__"

# What shows that a class was made: whoever meets one of these meets all others, too.
_LAST = ("__init__", _FIELDS)

# Two threads may be the first to need a class; and to make one, those above it may have to be made.
_lock = threading.RLock()


class _Later:
    """A class whose methods are still to be made."""

    def __init__(self, cls: type, plain: type, options: Mapping[str, Any]) -> None:
        self._cls = cls
        self._plain = plain
        self._options = options
        self._is_made = False

    def make(self) -> None:
        """Have the standard decorator make the methods, unless it has done so.

        It makes them for the class as it was declared, which has no slots; and none of them, but
        for those that protect a frozen value, knows of which class it is.
        """
        with _lock:
            if self._is_made:
                return
            before = {"__dict__", "__weakref__", *_GUARDS, *vars(self._plain)}
            dataclasses.dataclass(**self._options)(self._plain)
            made = {name: one for name, one in vars(self._plain).items() if name not in before}
            for name in sorted(made, key=_LAST.__contains__):
                setattr(self._cls, name, made[name])
            delattr(self._cls, _SIGNATURE)
            self._is_made = True


class _Asked:
    """Stands in a class for what it will have, and has its methods made when it is asked for that.

    `dataclasses.fields` and `is_dataclass` ask for the fields. `inspect.signature` asks every class
    for a signature of its own, finds none, and then looks at the methods.
    """

    def __init__(self, later: _Later, name: str) -> None:
        self._later = later
        self._name = name

    def __get__(self, value: object, owner: type) -> Any:
        """Give what the class has now."""
        self._later.make()
        return getattr(owner, self._name)


def _deferred(*, slots: bool, **options: Any) -> Callable[[type], type]:
    """Make a dataclass with slots of a class, as the standard decorator does with these options.

    Raises:
        TypeError: without slots; a default would be found in the class before its methods are made.
    """
    if not slots:
        raise TypeError("a class of values is declared with slots=True")

    def declare(plain: type) -> type:
        cls = _with_slots(plain)
        later = _Later(cls, plain, options)

        def make_and_begin(self: object, *args: Any, **kwargs: Any) -> None:
            later.make()
            cls.__init__(self, *args, **kwargs)  # type: ignore[misc]

        members: dict[str, Any] = {name: _Asked(later, name) for name in (_FIELDS, _SIGNATURE)}
        members |= {"__init__": make_and_begin}
        members |= {"__getstate__": _state, "__setstate__": _restore}
        members |= _GUARDS if options.get("frozen") else {}
        for name, member in members.items():
            setattr(cls, name, member)
        return cls

    return declare


def _with_slots(plain: type) -> type:
    """Give the same class with slots, which can only be given to a new one."""
    names = [name for name, kind in plain.__annotations__.items() if not _is_for_class(kind)]
    above = {slot for one in plain.__mro__[1:] for slot in vars(one).get("__slots__", ())}
    members = {name: value for name, value in vars(plain).items() if name not in names}
    for name in ("__dict__", "__weakref__"):
        members.pop(name, None)
    members["__annotations__"] = dict(plain.__annotations__)
    members["__slots__"] = tuple(name for name in names if name not in above)
    cls = type(plain)(plain.__name__, plain.__bases__, members)
    cls.__qualname__ = plain.__qualname__
    return cls


def _is_for_class(annotation: object) -> bool:
    return str(annotation).startswith(("ClassVar", "typing.ClassVar"))


# --- what all values have -------------------------------------------------------------------------


def _state(value: Any) -> list[object]:
    """Give what pickle and copy keep of a value; a frozen one could not be restored by default."""
    return [getattr(value, one.name) for one in dataclasses.fields(value)]


def _restore(value: Any, state: Sequence[object]) -> None:
    for field, member in zip(dataclasses.fields(value), state, strict=True):
        object.__setattr__(value, field.name, member)


def _refuse_to_set(_: object, name: str, __: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_: object, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


_GUARDS: Mapping[str, Any] = {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _deferred
