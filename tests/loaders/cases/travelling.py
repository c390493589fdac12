"""Classes and functions of a user that reach a worker as they are."""

# ruff: noqa: D101, D102, D106, N818, PYI034, RUF012  these stand for a user's code

from __future__ import annotations

import abc
import collections
import contextlib
import copyreg
import ctypes
import dataclasses
import enum
import functools
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, NewType, Protocol, TypedDict, TypeVar

import numpy
import torch

Item = TypeVar("Item")
Name = NewType("Name", str)
Pair = collections.namedtuple("Pair", "left right")  # noqa: PYI024  this kind of them
Named = type("Named", (), {"tone": 3})


class Size(NamedTuple):
    height: int
    width: int


class Options(TypedDict):
    seed: int


@dataclasses.dataclass(frozen=True)
class Frozen:
    path: str
    sizes: list[int] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(slots=True)
class Slotted:
    path: str


@dataclasses.dataclass(frozen=True, slots=True)
class FrozenSlotted:
    path: str


class Split(enum.Enum):
    TRAIN = "train"
    TEST = "test"

    def folder(self) -> str:
        return self.value


class Flags(enum.IntFlag):
    FLIP = 1
    CROP = 2


class Augment:
    """Is called, and has every kind of method."""

    class Inner:
        pass

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale

    def __call__(self, x: Any) -> Any:
        return x

    def method(self, x: Any) -> Any:
        return x

    @classmethod
    def of_class(cls, x: Any) -> Any:
        return x

    @staticmethod
    def static(x: Any) -> Any:
        return x

    @functools.cached_property
    def slow(self) -> list[int]:
        return [1, 2]


def traced(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate as one should."""

    @functools.wraps(function)
    def around(*args: Any) -> Any:
        return function(*args)

    return around


@traced
def decorated(x: Any) -> Any:
    return x


@functools.lru_cache
def remembered(x: Any) -> Any:
    return x


@functools.singledispatch
def dispatched(x: Any) -> Any:
    return x


@contextlib.contextmanager
def managed() -> Iterator[None]:
    yield


@torch.no_grad()
def without_gradients(x: Any) -> Any:
    return x


def redefined() -> int:
    return 1


redefined_first = redefined


def redefined() -> int:
    return 2


class DropsItsLock:
    """Leaves out what cannot travel, and makes it anew."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.parse = lambda x: x
        self.index = [1, 2]

    def __getstate__(self) -> dict[str, Any]:
        return {"index": self.index}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()
        self.__dict__.update(state)


class OpensAgain:
    """Keeps a path, and opens the file where it arrives."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.file = open(path, "rb")  # noqa: SIM115  it is kept open

    def __reduce__(self) -> Any:
        return (type(self), (self.path,))


class ByProtocol:
    def __reduce_ex__(self, protocol: int) -> Any:
        return (ByProtocol, ()) if protocol >= 2 else NotImplemented


class NewArguments:
    def __new__(cls, *, seed: int) -> NewArguments:
        made = super().__new__(cls)
        made.seed = seed
        return made

    def __getnewargs_ex__(self) -> Any:
        return (), {"seed": self.seed}


class Registered:
    """Pickled by what its module tells copyreg."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.lock = threading.Lock()


def _registered(one: Registered) -> Any:
    return Registered, (one.key,)


copyreg.pickle(Registered, _registered)


class OnlyOne:
    """A singleton."""

    _made: OnlyOne | None = None

    def __new__(cls) -> OnlyOne:
        cls._made = cls._made or super().__new__(cls)
        return cls._made


class ByName:
    """Pickled as a name of this module."""

    def __reduce__(self) -> str:
        return "BY_NAME"


BY_NAME = ByName()


class Reader(abc.ABC):
    @abc.abstractmethod
    def read(self) -> int: ...


class Files(Reader):
    def read(self) -> int:
        return 1


class Reads(Protocol):
    def read(self) -> int: ...


class Box(Generic[Item]):
    def __init__(self, item: Item) -> None:
        self.item = item


class Registry(type):
    """A metaclass that keeps a list of its classes, as registries do."""

    known: list[type] = []

    def __init__(cls, *args: Any) -> None:
        super().__init__(*args)
        Registry.known.append(cls)


class Known(metaclass=Registry):
    pass


class Odd:
    """Does what most code does not expect of an object."""

    def __init__(self) -> None:
        self.here = 1

    def __eq__(self, other: object) -> Any:
        return numpy.array([True, False])

    def __hash__(self) -> int:
        raise TypeError("unhashable")

    def __bool__(self) -> bool:
        raise ValueError("ambiguous")

    def __len__(self) -> int:
        raise ValueError("unknown")

    def __repr__(self) -> str:
        raise RuntimeError("no text")

    @property
    def never(self) -> int:
        raise RuntimeError("looked at")


class Forwards:
    """Hands unknown names on, and does it right."""

    def __init__(self, inner: object) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)


class ChecksItself:
    """Asserts when made, and brings its arguments along."""

    def __new__(cls, path: str) -> ChecksItself:
        assert path
        made = super().__new__(cls)
        made.path = path
        return made

    def __getnewargs__(self) -> tuple[str]:
        return (self.path,)


class Refusal(Exception):
    """Its arguments are those that it was made of."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(code, reason)


class Slots:
    __slots__ = ("__weakref__", "first", "second")

    def __init__(self) -> None:
        self.first = 1


class Parent:
    """Part of a cycle, with a weak way back that is dropped on the way."""

    def __init__(self) -> None:
        self.children = [Child(self)]
        self.itself = self


class Child:
    def __init__(self, parent: Parent) -> None:
        self.parent = weakref.ref(parent)
        self.owner = parent

    def __getstate__(self) -> dict[str, Any]:
        return {"owner": self.owner}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.owner = state["owner"]
        self.parent = weakref.ref(self.owner)


class Defaults(collections.defaultdict):
    """Needs no argument to be made."""


class Attributes(dict):
    """A dict with attributes, as configs often are, done right."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Config(dict):
    """The same as everybody writes it once: KeyError in place of AttributeError."""

    __getattr__ = dict.__getitem__


class Header(ctypes.Structure):
    _fields_ = [("magic", ctypes.c_uint32), ("size", ctypes.c_double)]


class Tagged(torch.Tensor):
    """A tensor of a class of its own."""


class Marked(numpy.ndarray):
    """An array of a class of its own."""
