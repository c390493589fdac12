"""Dataclasses whose methods are made when somebody first needs them.

The standard decorator writes and compiles the methods of a class while its module is imported, half
a millisecond for each. There are two hundred classes of values here, and a run makes use of some
fifty of them, mostly of one or two values that nobody compares: to make the methods of all would
take longer than to look again at ten thousand files that have not changed. The first values of a
class are filled in without them.
"""

from __future__ import annotations

import dataclasses
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from preflight.filling import Filling, fields_of, filling_of

__all__ = ["dataclass"]

_FIELDS = "__dataclass_fields__"
_SIGNATURE = "__signature__"

# Where a class keeps what makes its methods.
_LATER = "__made_later__"

# What shows that a class was made: whoever meets one of these meets all others, too.
_LAST = ("__init__", _FIELDS)

# A class with other options has its methods made for its first value: what puts values in order,
# say, is not among what can be asked for later.
_OPTIONS = frozenset({"frozen", "kw_only", "eq"})

# Values of a class that are filled in without methods. Each takes some microseconds longer, and so
# many about as long as to make the methods.
_WITHOUT = 100

# Two threads may be the first to need a class; and to make one, those above it may have to be made.
_lock = threading.RLock()


class _Later:
    """A class whose methods are still to be made."""

    def __init__(self, cls: type, plain: type, options: Mapping[str, Any]) -> None:
        self._cls = cls
        self._plain = plain
        self._options = options
        self._is_made = False
        self._is_read = False
        self._has_fields = False
        self._filling: Filling | None = None
        self._left = _WITHOUT if options.keys() <= _OPTIONS else 0

    def fill(self, value: Any, places: Sequence[object], given: Mapping[str, object]) -> bool:
        """Set the fields of a value without methods.

        Returns:
            whether it was done: not for a class that needs them or has many values, nor where what
            is given does not fit, of which the methods complain.
        """
        self._left -= 1
        if self._left < 0 or (filling := self.filling()) is None:
            return False
        if not filling.fill(value, places, given):
            return False
        if hasattr(self._cls, "__post_init__"):
            value.__post_init__()
        return True

    def filling(self) -> Filling | None:
        """Say how the fields of a value are set; None where only the methods know."""
        with _lock:
            if not self._is_read:
                self._filling = self._read()
                self._is_read = True
            return self._filling

    def read_fields(self) -> None:
        """Have the fields read, and with them all else made where that takes others' fields."""
        with _lock:
            if self._is_made or self._has_fields:
                return
            if self._above():
                self.make()
                return
            kw_only = bool(self._options.get("kw_only"))
            setattr(self._cls, _FIELDS, fields_of(self._plain, kw_only=kw_only))
            self._has_fields = True

    def _above(self) -> list[Mapping[str, Any]]:
        """Give what classes above it consist of that have fields, from the farthest on."""
        return [vars(one) for one in reversed(self._cls.__mro__[1:]) if _FIELDS in vars(one)]

    def _read(self) -> Filling | None:
        above = self._above()
        if any(_LATER not in one for one in above) or "__setattr__" in vars(self._plain):
            return None
        for name, one in self._on_demand():
            if name not in vars(self._plain):
                setattr(self._cls, name, one)
        return filling_of(
            self._plain,
            [one[_LATER].filling() for one in above],
            names=_own_fields(self._plain),
            kw_only=bool(self._options.get("kw_only")),
        )

    def _on_demand(self) -> Iterator[tuple[str, object]]:
        """Give what stands for the methods that a value may be asked for."""
        names = ["__repr__", "__match_args__", "__dataclass_params__"]
        names += ["__replace__"] if sys.version_info >= (3, 13) else []
        if self._options.get("eq", True):
            names.append("__eq__")
            if self._options.get("frozen"):
                names.append("__hash__")
            else:
                yield "__hash__", None
        for name in names:
            yield name, _Asked(self, name)

    def make(self) -> None:
        """Have the standard decorator make the methods, unless it has done so.

        It makes them for the class as it was declared, which has no slots; and none of them, but
        for those that protect a frozen value, knows of which class it is.
        """
        with _lock:
            if self._is_made:
                return
            self.filling()  # the decorator takes apart what was declared
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
        """Give what the class has now, or what a value of it has."""
        if self._name == _FIELDS:
            self._later.read_fields()
        else:
            self._later.make()
        return getattr(owner if value is None else value, self._name)


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

        def begin(self: object, *args: Any, **kwargs: Any) -> None:
            if not later.fill(self, args, kwargs):
                later.make()
                cls.__init__(self, *args, **kwargs)  # type: ignore[misc]

        members: dict[str, Any] = {name: _Asked(later, name) for name in (_FIELDS, _SIGNATURE)}
        members |= {"__init__": begin, _LATER: later}
        members |= {"__getstate__": _state, "__setstate__": _restore}
        members |= _GUARDS if options.get("frozen") else {}
        for name, member in members.items():
            setattr(cls, name, member)
        return cls

    return declare


def _with_slots(plain: type) -> type:
    """Give the same class with slots, which can only be given to a new one."""
    names = _own_fields(plain)
    above = {slot for one in plain.__mro__[1:] for slot in vars(one).get("__slots__", ())}
    members = {name: value for name, value in vars(plain).items() if name not in names}
    for name in ("__dict__", "__weakref__"):
        members.pop(name, None)
    members["__annotations__"] = dict(plain.__annotations__)
    members["__slots__"] = tuple(name for name in names if name not in above)
    cls = type(plain)(plain.__name__, plain.__bases__, members)
    cls.__qualname__ = plain.__qualname__
    return cls


def _own_fields(plain: type) -> list[str]:
    return [name for name, kind in plain.__annotations__.items() if not _is_for_class(kind)]


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
