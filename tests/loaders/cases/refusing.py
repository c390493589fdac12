"""Classes and functions of a user that pickle refuses."""

# ruff: noqa: D101, D102  these stand for a user's code

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import pickle
import threading
from collections.abc import Callable, Iterator
from typing import Any


def changes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate without functools.wraps, and take the function's name for the new one."""

    def around(*args: Any) -> Any:
        return function(*args)

    around.__qualname__ = around.__name__ = function.__name__
    return around


def decorated_plainly(x: Any) -> Any:
    return x


def bare(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate without functools.wraps."""

    def around(*args: Any) -> Any:
        return function(*args)

    return around


@bare
def decorated(x: Any) -> Any:
    return x


def counts(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate with functools.wraps, and hold what was decorated as well."""

    @functools.wraps(function)
    def around(*args: Any) -> Any:
        return function(*args)

    return around


@counts
def counted(x: Any) -> Any:
    return x


def redefined() -> int:
    return 1


first_of_its_name = redefined


def redefined() -> int:
    return 2


def register(_: type) -> None:
    """Decorate a class, and forget to give it back."""


class Registered:
    """Is kept by `registered`, and not by its name."""


registered = Registered()
Registered = register(Registered)  # type: ignore[assignment,misc]


class Shadowed:
    pass


shadowed = Shadowed()


@dataclasses.dataclass
class Shadowed:
    size: int = 0


Renamed = collections.namedtuple("Pair", "left right")  # noqa: PYI024  this kind of them
Colour = enum.Enum("Color", "RED")


def inner_class() -> type:
    class Inner:
        pass

    return Inner


def inner_function() -> Callable[..., Any]:
    def inner() -> None:
        pass

    return inner


def inner_values() -> list[Any]:
    """Give values of classes that are defined in here."""

    @dataclasses.dataclass
    class Config:
        size: int = 0

    class Mode(enum.Enum):
        FAST = 1

    Point = collections.namedtuple("Point", "x y")  # noqa: PYI024  this kind of them
    return [Config(), Mode.FAST, Point(1, 2), type("Made", (), {})()]


def closing_over(thing: object) -> Callable[..., Any]:
    """Make a function that holds this."""
    return lambda x: (x, thing)


class Raises:
    """Raises what it was given while it is pickled."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __reduce__(self) -> Any:
        raise self.error


class Reduces:
    """Says that it is pickled as what it was given."""

    def __init__(self, reduction: object) -> None:
        self.reduction = reduction

    def __reduce__(self) -> Any:
        return self.reduction


class StateRaises:
    def __getstate__(self) -> Any:
        raise KeyError("index")


class StateHolds:
    """Drops one lock, and keeps another one."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.others = {"a": [threading.Lock()]}

    def __getstate__(self) -> Any:
        return {**self.__dict__, "lock": None}


class ByProtocol:
    """Only an old protocol would take it."""

    def __reduce_ex__(self, protocol: int) -> Any:
        if protocol >= 2:
            raise pickle.PicklingError("too new")
        return (ByProtocol, ())


class Lies:
    """Says that it is of another class."""

    @property
    def __class__(self) -> type:
        return dict


class Slots:
    __slots__ = ("lock",)

    def __init__(self) -> None:
        self.lock = threading.Lock()


class Cycle:
    """Leads to itself, and to a lock."""

    def __init__(self) -> None:
        self.itself = self
        self.items = [self, (self, {"lock": threading.Lock()})]


class Dataset:
    """Makes a generator when it is made."""

    def __init__(self) -> None:
        self.stream = self.read()

    def read(self) -> Iterator[int]:
        yield 1


class Trainer:
    """Has a method that a loader uses, and all that a trainer has."""

    def __init__(self) -> None:
        self.log = open(__file__, encoding="utf-8")  # noqa: SIM115  it is kept open

    def collate(self, batch: Any) -> Any:
        return batch
