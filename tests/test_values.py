"""What stands in for the standard decorator behaves as that does, and makes methods late."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import field
from pathlib import Path
from typing import Any, ClassVar

import pytest

from preflight.finding import Location
from preflight.values import dataclass

ROOT = Path(__file__).parents[1]

OURS: Any = dataclass
STANDARD: Any = dataclasses.dataclass


def classes(decorate: Any) -> dict[str, Any]:
    """Give the same classes, each declared by this decorator."""

    @decorate(frozen=True, slots=True, kw_only=True)
    class Point:
        """Where something is."""

        x: int
        y: int = 2
        tags: tuple[str, ...] = ()
        counts: dict[str, int] = field(default_factory=dict, compare=False)
        dimensions: ClassVar[int] = 2

        @property
        def sum(self) -> int:
            """Both together."""
            return self.x + self.y

    @decorate(frozen=True, slots=True, kw_only=True)
    class Named(Point):
        """A point that has a name, and begins elsewhere."""

        name: str
        y: int = 7

    @decorate(frozen=True, slots=True)
    class Pair:
        """Two, by their places."""

        first: int
        second: int = field(default=5, repr=False)

    @decorate(slots=True, kw_only=True)
    class Tally:
        """What is counted."""

        limit: int
        seen: list[int] = field(default_factory=list)
        total: int = field(init=False)
        _kept: int = 0

        def __post_init__(self) -> None:
            self.total = self.limit * 10

    @decorate(frozen=True, slots=True, eq=False)
    class Thing:
        """One that is like no other."""

        size: int

        def __repr__(self) -> str:
            return f"thing of {self.size}"

    @decorate(frozen=True, slots=True, kw_only=True, order=True)
    class Rank:
        """One that is before others."""

        number: int

    return {one.__name__: one for one in (Point, Named, Pair, Tally, Thing, Rank)}


NAMES = tuple(classes(STANDARD))

MADE: dict[str, Callable[[dict[str, Any]], object]] = {
    "a value with defaults": lambda all_: all_["Point"](x=1),
    "a value without defaults": lambda all_: all_["Point"](x=1, y=0, tags=("a",), counts={"a": 1}),
    "a class below another": lambda all_: all_["Named"](x=1, name="home"),
    "by places": lambda all_: all_["Pair"](3),
    "one that changes": lambda all_: all_["Tally"](limit=3),
    "one with its own words": lambda all_: all_["Thing"](3),
    "one with an order": lambda all_: all_["Rank"](number=3),
}


def outcome(ask: Callable[[], object]) -> object:
    try:
        return ask()
    except Exception as error:  # noqa: BLE001  the same one is expected of both
        return type(error)


# Values made before the one that is asked: none has methods then, or all have.
@pytest.mark.parametrize("before", [0, 150])
@pytest.mark.parametrize("what", MADE)
@pytest.mark.parametrize(
    "ask",
    [
        lambda make: (repr(make()).rpartition(".")[2], repr(make()).partition("(")[2]),
        lambda make: make() == make(),
        lambda make: make() != object(),
        lambda make: isinstance(hash(make()), int),
        lambda make: {one.name: getattr(make(), one.name) for one in dataclasses.fields(make())},
        lambda make: dataclasses.asdict(make()),
        lambda make: type(make()).__slots__,
        lambda make: type(make()).__match_args__,
        lambda make: type(make()).__doc__,
        lambda make: type(make()).__qualname__,
        lambda make: setattr(make(), dataclasses.fields(make())[0].name, 9),
        lambda make: delattr(make(), dataclasses.fields(make())[0].name),
        lambda make: make() < make(),
        lambda make: repr(dataclasses.replace(make(), **{dataclasses.fields(make())[0].name: 4})),
        lambda make: copy.copy(make()) == make(),
        lambda make: repr(copy.deepcopy(make())),
        lambda make: hasattr(make(), "__dict__"),
        lambda make: make().sum,
        lambda make: make().dimensions,
        lambda make: make().nothing,
    ],
)
def test_values_are_as_the_standard_decorator_makes_them(
    what: str, before: int, ask: Callable[[Callable[[], Any]], object]
) -> None:
    """Equal, printed, copied, held against one another, and protected in the same way."""

    def make(decorate: Any) -> object:
        among = classes(decorate)
        for _ in range(before):
            MADE[what](among)
        return MADE[what](among)

    ours, standard = (
        outcome(lambda decorate=decorate: ask(lambda: make(decorate)))
        for decorate in (OURS, STANDARD)
    )
    assert ours == standard


@pytest.mark.parametrize("what", MADE)
def test_two_values_of_one_class_are_equal_or_not_as_the_standard_has_it(what: str) -> None:
    of_ours, of_standard = classes(OURS), classes(STANDARD)

    ours = MADE[what](of_ours), MADE[what](of_ours)
    standard = MADE[what](of_standard), MADE[what](of_standard)

    assert (ours[0] == ours[1]) == (standard[0] == standard[1])
    assert outcome(lambda: hash(ours[0]) == hash(ours[1])) == outcome(
        lambda: hash(standard[0]) == hash(standard[1])
    )


@pytest.mark.parametrize("arguments", [{}, {"x": 1, "z": 2}, {"y": 1}, {"x": 1, "y": 2, "sum": 3}])
def test_wrong_arguments_raise_what_the_standard_raises(arguments: dict[str, int]) -> None:
    with pytest.raises(TypeError) as ours:
        classes(OURS)["Point"](**arguments)
    with pytest.raises(TypeError) as standard:
        classes(STANDARD)["Point"](**arguments)
    assert str(ours.value) == str(standard.value)


@pytest.mark.parametrize("arguments", [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)])
@pytest.mark.parametrize("names", [{}, {"first": 1}, {"last": 1}, {"first": 1, "last": 2}])
@pytest.mark.parametrize("above", [False, True])
def test_places_and_names_are_taken_as_the_standard_takes_them(
    arguments: tuple[int, ...], names: dict[str, int], *, above: bool
) -> None:
    """Too few, too many, one by both, and those of a class above first."""

    def made(decorate: Any) -> object:
        @decorate(frozen=True, slots=True)
        class Pair:
            first: int
            second: int = 5
            last: int = field(default=7, kw_only=True)

        @decorate(frozen=True, slots=True)
        class Three(Pair):
            third: int = 6
            first: int = 8

        try:
            value = (Three if above else Pair)(*arguments, **names)
        except TypeError as error:
            return str(error)
        return {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}

    assert made(OURS) == made(STANDARD)


def rare(decorate: Any) -> dict[str, Callable[[], object]]:
    """Give makers of values of classes that are declared in rarer ways."""

    @decorate(slots=True)
    class Given:
        size: int
        scale: dataclasses.InitVar[int]

        def __post_init__(self, scale: int) -> None:
            self.size *= scale

    @decorate(slots=True)
    class Split:
        first: int
        _: dataclasses.KW_ONLY
        second: int = 3

    @decorate(slots=True)
    class Counter:
        limit: int
        seen: list[int] = field(init=False, default_factory=list)

    @decorate(slots=True)
    class Strict:
        size: int

        def __setattr__(self, name: str, value: object) -> None:
            object.__setattr__(self, name, -1)

    @dataclasses.dataclass(frozen=True, slots=True)
    class Standard:
        first: int = 1

    @decorate(frozen=True, slots=True)
    class Below(Standard):
        second: int = 2

    @decorate(slots=True)
    class Failing:
        size: int

        def __post_init__(self) -> None:
            raise ValueError("too small")

    return {
        "given": lambda: Given(2, 3),
        "split": lambda: Split(2, second=4),
        "split, by places": lambda: Split(2, 4),  # type: ignore[misc]
        "counter": lambda: Counter(3),
        "counter, given": lambda: Counter(3, seen=[]),  # type: ignore[call-arg]
        "strict": lambda: Strict(3),
        "below": lambda: Below(3, 4),
        "failing": lambda: Failing(1),
    }


@pytest.mark.parametrize("what", rare(STANDARD))
def test_rarer_declarations_mean_what_they_mean_to_the_standard(what: str) -> None:
    def made(decorate: Any) -> object:
        try:
            return repr(rare(decorate)[what]()).rpartition(".")[2]
        except (TypeError, ValueError) as error:
            return str(error).rpartition(".")[2]

    assert made(OURS) == made(STANDARD)


def test_a_value_without_methods_equals_one_that_has_them() -> None:
    point = classes(OURS)["Point"]

    values = [point(x=1, tags=("a",)) for _ in range(300)]

    assert values[0] == values[-1]
    assert hash(values[0]) == hash(values[-1])
    assert repr(values[0]) == repr(values[-1])
    assert len(set(values)) == 1
    assert values[0] != point(x=2, tags=("a",))


@pytest.mark.parametrize("name", NAMES)
def test_whoever_asks_a_class_before_there_is_a_value_gets_its_fields(name: str) -> None:
    ours, standard = classes(OURS)[name], classes(STANDARD)[name]

    assert dataclasses.is_dataclass(ours)
    assert [(one.name, one.type, one.init, one.default) for one in dataclasses.fields(ours)] == [
        (one.name, one.type, one.init, one.default) for one in dataclasses.fields(standard)
    ]
    assert ours.__module__ == standard.__module__


@pytest.mark.parametrize("name", NAMES)
def test_a_class_says_how_it_is_called_before_there_is_a_value(name: str) -> None:
    """Editors and `help` ask."""
    assert inspect.signature(classes(OURS)[name]) == inspect.signature(classes(STANDARD)[name])


def test_no_method_is_made_for_the_first_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody compares them, or looks at their fields."""
    made = classes(OURS)

    with monkeypatch.context() as patched:
        patched.setattr(dataclasses, "dataclass", None)
        values = [made["Named"](x=x, name="home") for x in range(20)]

    assert [one.x for one in values] == list(range(20))
    assert values[3] == made["Named"](x=3, name="home")


def test_methods_are_made_where_there_are_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """To fill them all in by hand would take longer."""
    point, calls = classes(OURS)["Point"], list[object]()
    real: Any = dataclasses.dataclass

    def noted(**options: Any) -> Any:
        calls.append(options)
        return real(**options)

    monkeypatch.setattr(dataclasses, "dataclass", noted)
    for x in range(1_000):
        point(x=x)

    assert len(calls) == 1


def test_no_method_is_made_while_a_class_is_declared() -> None:
    """That is what it is for."""
    made = classes(OURS)

    assert "__eq__" not in vars(made["Named"])
    made["Named"](x=1, name="home")
    assert "__eq__" in vars(made["Named"])
    assert "__eq__" in vars(made["Point"])  # whose fields it has
    assert "__lt__" not in vars(made["Rank"])


@pytest.fixture
def restless() -> Iterator[None]:
    """Let threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("restless")
@pytest.mark.parametrize(
    "need",
    [
        lambda one: one(x=1, name="home"),
        lambda one: [field.name for field in dataclasses.fields(one)],
        lambda one: str(inspect.signature(one)),
        lambda one: hash(one(x=1, name="home")),
        lambda one: repr(one(x=1, name="home")),
    ],
    ids=["a value", "the fields", "how it is called", "a hash", "a text"],
)
def test_threads_that_need_a_class_at_the_same_time_all_get_it(need: Callable[[Any], Any]) -> None:
    """However far another of them has come with making it."""
    for _ in range(40):
        one = classes(OURS)["Named"]
        ready, made = threading.Barrier(6), list[object]()

        def make(one: Any = one, ready: Any = ready, made: Any = made) -> None:
            ready.wait()
            made.append(outcome(lambda: need(one)))

        threads = [threading.Thread(target=make) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert made == [need(one)] * 6


def test_a_value_survives_a_pickle_in_a_process_that_has_made_none() -> None:
    """As ranks exchange reports: the class is whole there, too, and the value stays frozen."""
    there = (
        "import pickle, sys, dataclasses\n"
        "one = pickle.load(sys.stdin.buffer)\n"
        "print(one == type(one)(file='a.pt', line=3), repr(one), hash(one) == hash(one))\n"
        "try: one.line = 4\n"
        "except dataclasses.FrozenInstanceError: print('frozen')\n"
    )
    sent = pickle.dumps(Location(file="a.pt", line=3))
    said = subprocess.run(
        [sys.executable, "-c", there], input=sent, capture_output=True, check=True
    ).stdout.decode()

    assert said.splitlines() == [f"True {Location(file='a.pt', line=3)!r} True", "frozen"]


def test_a_class_without_slots_is_refused() -> None:
    with pytest.raises(TypeError, match="slots=True"):
        OURS(frozen=True, slots=False)


def test_a_default_that_no_value_would_find_is_refused() -> None:
    @OURS(slots=True)
    class Counter:
        begun: int = field(init=False, default=4)

    with pytest.raises(TypeError, match="begun is never given"):
        Counter()


def modules() -> Iterator[str]:
    for path in sorted([*ROOT.glob("preflight/**/*.py"), *ROOT.glob("checks/*.py")]):
        words = path.relative_to(ROOT).with_suffix("").parts
        if "demo" not in words and words[-1] not in ("__init__", "__main__"):
            yield ".".join(words if words[0] == "preflight" else ("preflight", *words))


def test_the_methods_of_every_class_of_ours_can_be_made() -> None:
    """What is wrong with a declaration would otherwise show when somebody first needs it."""
    found = {
        value
        for name in modules()
        for value in vars(importlib.import_module(name)).values()
        if isinstance(value, type) and dataclasses.is_dataclass(value)
    }

    assert len(found) > 150
    for one in found:
        assert one.__init__ is not object.__init__
        assert {field.name for field in dataclasses.fields(one)} == set(all_slots(one)), one


def all_slots(cls: type) -> Iterator[str]:
    for one in cls.__mro__:
        yield from vars(one).get("__slots__", ())
