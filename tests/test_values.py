"""Our dataclasses are those of the standard library in all that anybody here asks of them."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import field
from typing import Any

import pytest

from preflight import values

OPTIONS: list[dict[str, bool]] = [
    {"frozen": True, "slots": True, "kw_only": True},
    {"frozen": True, "slots": True, "kw_only": True, "eq": False},
    {"frozen": True, "slots": True},
    {"slots": True},
    {"slots": True, "kw_only": True, "eq": False},
    {},
]


def made(decorator: Callable[..., Any], options: dict[str, bool]) -> Any:
    """Make the same class by either decorator."""

    @decorator(**options)
    class Made:
        """All kinds of fields."""

        name: str
        size: int = 3
        hidden: int = field(default=0, compare=False, repr=False)
        unhashed: dict[str, int] = field(default_factory=dict, hash=False)
        ready: list[int] = field(init=False, default_factory=list, compare=False)

        def __post_init__(self) -> None:
            self.ready.append(self.size)

    return Made


def outcome(work: Callable[[], Any]) -> object:
    """What comes of it: a value, or the type of what it raises."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001  both are to raise the same
        return type(error)


QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "repr": lambda cls: repr(cls(name="a", size=4)),
    "equal": lambda cls: cls(name="a") == cls(name="a", hidden=9),
    "unequal": lambda cls: cls(name="a") == cls(name="b"),
    "equal to another": lambda cls: cls(name="a") == "a",
    "hash": lambda cls: len(set(map(hash, [cls(name="a"), cls(name="a", unhashed={"x": 1})]))),
    "is hashable": lambda cls: isinstance(hash(cls(name="a")), int),
    "set": lambda cls: setattr(cls(name="a"), "size", 5),
    "delete": lambda cls: delattr(cls(name="a"), "size"),
    "by place": lambda cls: cls("a", 5).size,
    "too many": lambda cls: cls("a", 1, 2, {}, 5),
    "twice": lambda cls: cls("a", name="a"),
    "missing": lambda cls: cls(),
    "unknown": lambda cls: cls(name="a", other=1),
    "not to be given": lambda cls: cls(name="a", ready=[1]),
    "made at the end": lambda cls: cls(name="a", size=7).ready,
    "defaults of its own": lambda cls: cls(name="a").unhashed is cls(name="a").unhashed,
    "replace": lambda cls: dataclasses.replace(cls(name="a"), size=8).size,
    "fields": lambda cls: [(one.name, one.init, one.kw_only) for one in dataclasses.fields(cls)],
    "as a dict": lambda cls: dataclasses.asdict(cls(name="a")),
    "is one": dataclasses.is_dataclass,
    "places to match": lambda cls: cls.__match_args__,
    "slots": lambda cls: getattr(cls, "__slots__", None),
    "has a dict": lambda cls: hasattr(cls(name="a"), "__dict__"),
    "copy": lambda cls: repr(copy.copy(cls(name="a", size=6))),
    "deep copy": lambda cls: repr(copy.deepcopy(cls(name="a", size=6))),
    "doc": lambda cls: cls.__doc__,
}


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
@pytest.mark.parametrize("question", QUESTIONS)
def test_both_answer_alike(question: str, options: dict[str, bool]) -> None:
    standard, ours = made(dataclasses.dataclass, options), made(values.dataclass, options)
    ask = QUESTIONS[question]

    assert outcome(lambda: ask(ours)) == outcome(lambda: ask(standard))


@values.dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """One that others are made of."""

    first: int = 1


@values.dataclass(frozen=True, slots=True, kw_only=True)
class Longer(Base):
    """One with a field more, and words of its own."""

    second: int

    def __repr__(self) -> str:
        return f"<{self.first} {self.second}>"


def test_fields_are_inherited_and_own_methods_kept() -> None:
    one = Longer(second=2)

    assert (repr(one), one == Longer(first=1, second=2), one == Base()) == ("<1 2>", True, False)


def test_nothing_is_added_to_what_is_frozen() -> None:
    """The standard one with slots raises TypeError here, by mistake."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(Base(), "other", 5)  # noqa: B010  type checkers would refuse it


def test_one_travels_by_pickle() -> None:
    assert pickle.loads(pickle.dumps(Longer(second=2))) == Longer(second=2)


def test_one_without_options_needs_no_parentheses() -> None:
    @values.dataclass
    class Bare:
        """A field."""

        value: int = 1

    assert Bare(2) == Bare(value=2)
