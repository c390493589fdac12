"""Every object that cannot be sent to a worker is named, and nothing that can."""

# ruff: noqa: D101, D102  the classes stand for a user's

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import io
import multiprocessing
import os
import pickle
import random
import sys
import threading
from multiprocessing import context, shared_memory
from typing import Any, NamedTuple

import numpy
import pytest
import torch
from torch.utils.data import ChainDataset, ConcatDataset, IterableDataset, Subset, TensorDataset

from preflight.objects.paths import PATHS
from preflight.objects.sending.pickle_trial import refusal
from preflight.objects.sending.pickling import walk
from preflight.objects.sending.stand_ins import StandIns


def paths(thing: object, name: str = "x") -> dict[str, str]:
    """Walk one object: the first path of each refused object, and the rest of them."""
    found = walk([(name, thing)])
    every = [[*one.paths] for one in found.refused]
    return {first: ", ".join(rest) for first, *rest in every}


def double(x: int) -> int:
    return x * 2


def traced(function: Any) -> Any:
    @functools.wraps(function)
    def inner(*args: Any) -> Any:
        return function(*args)

    return inner


def untraced(function: Any) -> Any:
    def inner(*args: Any) -> Any:
        return function(*args)

    inner.__qualname__ = function.__qualname__
    return inner


@traced
def wrapped(x: int) -> int:
    return x


ORIGINAL = double


class Color(enum.Enum):
    RED = 1


class Pair(NamedTuple):
    first: object
    second: object


@dataclasses.dataclass(frozen=True)
class Slotted:
    __slots__ = ("held",)
    held: object


@dataclasses.dataclass
class Plain:
    held: object
    more: object = None


class Crop:
    def __call__(self, x: object) -> object:
        return x


class Compose:
    def __init__(self, *steps: object) -> None:
        self.steps = list(steps)

    def __call__(self, x: object) -> object:
        return x


class Numbers(IterableDataset):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        return iter(range(3))


class OpensLate:
    """Drops its handle, as the documentation of pickle recommends."""

    def __init__(self) -> None:
        self.file = io.StringIO()
        self.lock = threading.Lock()

    def __getstate__(self) -> dict[str, object]:
        return {}


class Ring:
    def __init__(self) -> None:
        self.me = self
        self.items: list[object] = [self]


class Trapped:
    """Whatever is asked of it by name ends the test."""

    def __init__(self) -> None:
        self.held = [1, double]

    @property
    def data(self) -> object:
        raise AssertionError("a property was read")

    def __eq__(self, other: object) -> bool:
        raise AssertionError("compared")

    def __bool__(self) -> bool:
        raise AssertionError("asked whether it is true")

    __hash__ = None  # type: ignore[assignment]


class ArrayLike:
    def __eq__(self, other: object) -> Any:
        return numpy.zeros(3)

    __hash__ = None  # type: ignore[assignment]


def noted_tensor() -> torch.Tensor:
    """Make a tensor with an attribute, which torch does not send along."""
    tensor = torch.ones(3)
    tensor.note = threading.Lock()  # type: ignore[attr-defined]
    return tensor


SPAWN = multiprocessing.get_context("spawn")

HEALTHY = {
    "nothing": lambda: None,
    "a function of a module": lambda: double,
    "a function of a library": lambda: os.path.join,
    "a function written in C": lambda: len,
    "a method of a class written in C": lambda: str.upper,
    "a class": lambda: Crop,
    "a partial of a function": lambda: functools.partial(double, 3),
    "a partial of a partial": lambda: functools.partial(functools.partial(max, 1), key=double),
    "a function that was decorated with wraps": lambda: wrapped,
    "a bound method": lambda: Compose(Crop()).__call__,
    "a transform of transforms": lambda: Compose(Crop(), functools.partial(double)),
    "an enum": lambda: [Color.RED, Color],
    "a named tuple": lambda: Pair(1, [2]),
    "an instance with slots": lambda: Slotted([1]),
    "a dataclass": lambda: Plain({"a": (1, 2)}),
    "a cycle": Ring,
    "sets and deques": lambda: [{1, 2}, frozenset("a"), collections.deque([1])],
    "a default dict of a type": lambda: collections.defaultdict(list, a=[1]),
    "an ordered dict": lambda: collections.OrderedDict(a=[1]),
    "a tensor": lambda: [torch.ones(3), torch.nn.Parameter(torch.ones(2))],
    "a tensor in shared memory": lambda: torch.ones(3).share_memory_(),
    "a tensor with a gradient of its own": lambda: torch.ones(3, requires_grad=True),
    "a tensor whose note stays behind": noted_tensor,
    "a storage": lambda: torch.ones(3).untyped_storage(),
    "a module": lambda: torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()),
    "an array": lambda: numpy.zeros((3, 4)),
    "an array of objects": lambda: numpy.array([None, "a", (1,)], dtype=object),
    "a recarray": lambda: numpy.zeros(3).view(numpy.recarray),
    "a random generator": lambda: numpy.random.default_rng(0),
    "a subset": lambda: Subset(TensorDataset(torch.ones(4)), [0, 1]),
    "a concatenation": lambda: ConcatDataset([TensorDataset(torch.ones(4))]),
    "a chain": lambda: ChainDataset([Numbers(), Numbers()]),
    "a lock of multiprocessing": SPAWN.Lock,
    "a queue of multiprocessing": SPAWN.Queue,
    "an event of multiprocessing": SPAWN.Event,
    "a value of multiprocessing": lambda: SPAWN.Value("i", 0),
    "an array of multiprocessing": lambda: SPAWN.Array("i", 3),
    "a file in memory": lambda: io.BytesIO(b"abc"),
    "a class that drops its handle": OpensLate,
    "an instance that must not be asked": Trapped,
    "an instance whose comparison gives an array": lambda: [ArrayLike(), ArrayLike()],
    "deep nesting that pickle can do": lambda: functools.reduce(lambda a, _: [a], range(200), []),
}


@pytest.mark.parametrize("make", HEALTHY.values(), ids=HEALTHY.keys())
def test_what_can_be_sent_is_left_alone(make: Any) -> None:
    assert paths([make(), make()]) == {}


@pytest.mark.parametrize("make", HEALTHY.values(), ids=HEALTHY.keys())
def test_what_can_be_sent_is_left_alone_beside_what_cannot(make: Any) -> None:
    """The pickler in Python agrees with the one in C."""
    assert paths([threading.Lock(), make(), make()]) == {"x[0]": ""}


def test_shared_memory_can_be_sent() -> None:
    block = shared_memory.SharedMemory(create=True, size=16)
    try:
        assert paths([threading.Lock(), block]) == {"x[0]": ""}
    finally:
        block.close()
        block.unlink()


def local_class() -> object:
    class Inner:
        pass

    return Inner()


def local_function() -> Any:
    def inner() -> None:
        pass

    return inner


def used_file() -> object:
    with open(os.devnull, encoding="utf-8") as file:
        return file


REFUSED = {
    "a lambda": (lambda: lambda x: x, "x"),
    "a local function": (local_function, "x"),
    "an instance of a local class": (local_class, "x.__class__"),
    "a function that its name does not mean": (lambda: untraced(double), "x"),
    "an evaluated lambda": (lambda: eval("lambda x: x", {"__name__": "config"}), "x"),
    "a lock": (threading.Lock, "x"),
    "a thread's own data": (threading.local, "x"),
    "an open file": (used_file, "x"),
    "a generator": (lambda: (n for n in "a"), "x"),
    "a module": (lambda: sys, "x"),
    "a computed tensor": (lambda: torch.ones(2, requires_grad=True) * 2, "x"),
    "an attribute": (lambda: Plain(threading.Lock()), "x.held"),
    "a slot": (lambda: Slotted(threading.Lock()), "x.held"),
    "an item": (lambda: [1, (2, {"a": threading.Lock()})], "x[1][1]['a']"),
    "a field of a named tuple": (lambda: Pair(1, threading.Lock()), "x[1]"),
    "a key": (lambda: {(lambda: 0): 1}, "x.<key 0>"),
    "an item of a deque": (lambda: collections.deque([0, threading.Lock()]), "x[1]"),
    "an element of a set": (lambda: {threading.Lock()}, "x.<element>"),
    "what a default dict calls": (lambda: collections.defaultdict(lambda: 0), "x.default_factory"),
    "an item of a default dict": (
        lambda: collections.defaultdict(list, k=threading.Lock()),
        "x['k']",
    ),
    "the function of a partial": (lambda: functools.partial(lambda: 0), "x.func"),
    "an argument of a partial": (lambda: functools.partial(double, lambda: 0), "x.args[0]"),
    "a keyword of a partial": (
        lambda: functools.partial(max, key=lambda n: n),
        "x.keywords['key']",
    ),
    "what a bound method is bound to": (
        lambda: Compose(threading.Lock()).__call__,
        "x.__self__.steps[0]",
    ),
    "a part of a module": (
        lambda: torch.nn.Sequential(torch.nn.ReLU(), local_module()),
        "x[1].__class__",
    ),
    "an item of an array": (
        lambda: numpy.array([None, threading.Lock()], dtype=object),
        "x.<state>[4][1]",
    ),
}


def local_module() -> torch.nn.Module:
    class Inner(torch.nn.Module):
        pass

    return Inner()


@pytest.mark.parametrize(("make", "path"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_sent_is_named_by_its_path(make: Any, path: str) -> None:
    """As a person would write it to get at the object."""
    assert paths(make()) == {path: ""}


def shared_by(settings: Plain) -> object:
    """Hold settings as three parts of a pipeline do."""
    return [settings, {"of": settings}, Plain(settings)]


def ring_with(lock: object) -> Ring:
    ring = Ring()
    ring.items += [lock, ring]
    return ring


SEVERAL = {
    "all in one look, where Python names the first only": (
        lambda lock: Plain([lambda: 0, lock], {"a": lambda: 1, "again": lock}),
        {"x.held[0]": "", "x.held[1]": "x.more['again']", "x.more['a']": ""},
    ),
    "what a shared holder has, by a path for each who shares it": (
        lambda lock: shared_by(Plain({"lock": lock})),
        {"x[0].held['lock']": "x[1]['of'].held['lock'], x[2].held.held['lock']"},
    ),
    "what lies in a circle, without going round": (ring_with, {"x.items[1]": ""}),
    "what lies about its class, whom pickle asks": (
        lambda lock: [Liar(), lock],
        {"x[0]": "", "x[1]": ""},
    ),
}


@pytest.mark.parametrize(("make", "expected"), SEVERAL.values(), ids=SEVERAL.keys())
def test_it_is_named_with_its_paths(make: Any, expected: dict[str, str]) -> None:
    assert paths(make(threading.Lock())) == expected


def test_what_is_sent_together_is_one_look() -> None:
    lock = threading.Lock()
    found = walk([("dataset", Plain(lock)), ("collate_fn", functools.partial(double, lock))])

    assert [tuple(one.paths) for one in found.refused] == [("dataset.held", "collate_fn.args[0]")]


def test_an_object_under_very_many_names_keeps_some_of_them() -> None:
    found = walk([("x", [threading.Lock()] * 1000)])

    assert len(found.refused) == 1
    assert len(found.refused[0].paths) <= PATHS


def test_what_a_closure_holds_is_told_beforehand() -> None:
    """It would be the next thing to fail, once the function has a name."""
    lock, fine = threading.Lock(), 3

    def collate(batch: object) -> object:
        return lock, fine, batch

    (one,) = walk([("collate_fn", collate)]).refused

    assert one.inside == (("lock", lock),)


def test_an_empty_cell_of_a_closure_is_no_trouble() -> None:

    def collate() -> object:
        return later

    found = walk([("collate_fn", collate)])
    later = 1

    assert [one.inside for one in found.refused] == [()]


class Raises:
    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def __reduce__(self) -> Any:
        raise self.error("no")


@pytest.mark.parametrize("error", [TypeError, SystemExit, RecursionError, StopIteration])
def test_whatever_a_class_raises_is_a_refusal(error: type[BaseException]) -> None:
    assert paths([Raises(error), threading.Lock()]) == {"x[0]": "", "x[1]": ""}


def test_an_interrupt_is_let_through() -> None:
    """Ctrl-C means the person, not the object."""
    with pytest.raises(KeyboardInterrupt):
        walk([("x", Raises(KeyboardInterrupt))])


class ByProtocol:
    """It can be pickled by some protocols only, and says so itself."""

    def __init__(self, refused: range) -> None:
        self.refused = refused

    def __reduce_ex__(self, protocol: Any) -> Any:
        if protocol in self.refused:
            raise TypeError(f"not by protocol {protocol}")
        return Plain, (None,)


SENT_BY = pickle.DEFAULT_PROTOCOL


def test_it_is_asked_by_the_protocol_that_workers_are_sent_by() -> None:
    """Which multiprocessing does not choose: it is pickle's own default."""
    fine = [ByProtocol(range(SENT_BY)), ByProtocol(range(SENT_BY + 1, 9))]

    assert paths([fine, ByProtocol(range(SENT_BY, SENT_BY + 1))]) == {"x[1]": ""}
    assert paths(fine) == {}


def test_a_bare_buffer_is_refused_where_the_protocol_has_none() -> None:
    """Protocol 4 has not; from Python 3.14 on, the default is 5."""
    held = Plain(pickle.PickleBuffer(b"123"))

    assert paths(held) == ({"x.held": ""} if SENT_BY < 5 else {})


class RefusesOnce:
    """It refuses the first time only; and to send it in earnest is to ask once."""

    def __init__(self, times: int = 1) -> None:
        self.times = [0] * times

    def __getstate__(self) -> Any:
        if self.times:
            self.times.pop()
            raise ValueError("not yet")
        return {}


def test_what_is_refused_the_first_time_only_is_a_refusal() -> None:
    """Nothing more can be told of it than the part that it is in."""
    found = walk([("dataset", Plain([1, double])), ("collate_fn", Plain(RefusesOnce()))])

    (one,) = found.refused
    assert (tuple(one.paths), one.error) == (("collate_fn",), "ValueError: not yet")


class MakesItAnew:
    """Each time it is asked, it is another lambda."""

    def __reduce__(self) -> Any:
        return lambda: 1, ()


class PassesItAnew:
    def __reduce__(self) -> Any:
        return Plain, (lambda: 1,)


class NewAnew:
    def __new__(cls, _function: Any) -> Any:
        return super().__new__(cls)

    def __getnewargs__(self) -> Any:
        return (lambda: 1,)


class StateAnew:
    def __getstate__(self) -> Any:
        return {"steps": [{"function": lambda: 1}]}


ANEW = {
    "its function": (MakesItAnew, "x.held[0].__reduce__"),
    "an argument": (PassesItAnew, "x.held[0].<argument 0>"),
    "an argument of __new__": (lambda: NewAnew(0), "x.held[0].<argument 0>"),
    "deep in its state": (StateAnew, "x.held[0].steps[0]['function']"),
}


@pytest.mark.parametrize(("make", "path"), ANEW.values(), ids=ANEW.keys())
def test_what_is_made_anew_each_time_is_one_refusal(make: Any, path: str) -> None:
    assert paths(Plain([make(), make()])) == {path: "", path.replace("held[0]", "held[1]"): ""}


@pytest.mark.parametrize(
    ("make", "error"),
    [(PassesItAnew, "AttributeError"), (threading.Lock, "TypeError")],
    ids=["a lambda made anew", "a lock"],
)
def test_what_the_walk_cannot_name_is_told_beside_what_it_can(make: Any, error: str) -> None:
    deep: object = None
    for _ in range(10_000):
        deep = Plain(deep)
    found = walk([("x", [Plain(make()), deep])])

    assert [one.error.partition(":")[0] for one in found.refused] == [error, "RecursionError"]


class Liar:
    @property
    def __class__(self) -> Any:
        raise ZeroDivisionError("no class")


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def test_an_exception_without_words_breaks_nothing() -> None:
    (one,) = walk([("x", Raises(UnspeakableError))]).refused

    assert one.error == "UnspeakableError: "


def test_a_chain_that_is_too_deep_for_pickle_is_found() -> None:
    """A linked list of ten thousand is a RecursionError in training, too."""
    chain: object = None
    for _ in range(10_000):
        chain = Plain(chain)
    found = walk([("x", chain)])

    assert [one.error.partition(":")[0] for one in found.refused] == ["RecursionError"]
    assert found.cut == ("x.held.held.held.held.held.held: goes deeper than 1,000 levels",)


class Listed(list[object]):
    """One level of the walk where an instance is two; each goes through C on Python 3.12."""


@pytest.mark.parametrize("levels", [450, 700, 940])
def test_what_lies_deep_is_named_or_said_to_lie_too_deep(levels: int) -> None:
    """Where pickle goes as deep, the lock is what it stops at, and never the depth of the walk."""
    chain: object = threading.Lock()
    for _ in range(levels):
        chain = Listed([chain])
    found = walk([("x", chain)])
    real = refusal([("x", chain)], {})

    assert real is not None
    assert [one.error for one in found.refused] == [f"{type(real[1]).__name__}: {real[1]}"]
    assert found.cut == () or "goes deeper than " in found.cut[0]


MANY = {
    "beside a million plain values, which are not counted": (
        lambda lock: [list(range(10**6)), dict.fromkeys(range(10**5)), lock],
        "x[2]",
    ),
    "behind many healthy ones": (
        lambda lock: [*({"n": n} for n in range(20_000)), lock],
        "x[20000]",
    ),
    "before many, of which pickle takes those that were passed over": (
        lambda lock: [lock, *({"n": n} for n in range(20_000))],
        "x[0]",
    ),
}


@pytest.mark.parametrize(("make", "path"), MANY.values(), ids=MANY.keys())
def test_one_is_found_among_many(make: Any, path: str) -> None:
    found = walk([("x", make(threading.Lock()))])

    assert [tuple(one.paths) for one in found.refused] == [(path,)]
    assert found.cut == ()


def array() -> list[Any]:
    """Hold a billion bytes, of which no page is touched, in an array and views of it."""
    made = numpy.zeros(10**9, dtype=numpy.uint8)
    return [made, made[::2], made.data.obj]


def table() -> Any:
    """Hold 300 MB in a table in memory, as data sets of Hugging Face do."""
    arrow = pytest.importorskip("pyarrow")
    return arrow.table({"x": numpy.zeros(3 * 10**8 // 8)})


@pytest.mark.parametrize(
    ("make", "most"),
    [(array, 200_000), (lambda: bytes(3 * 10**8), 100_000), (table, 100_000)],
    ids=["array", "bytes", "table"],
)
def test_large_data_costs_nothing(make: Any, most: int) -> None:
    """Nor does it where something beside it is refused."""
    resource = pytest.importorskip("resource")
    data = make()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    assert paths([data]) == {}
    assert paths([data, threading.Lock()]) == {"x[1]": ""}
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < most


def test_a_tensor_is_not_moved_to_shared_memory() -> None:
    tensor = torch.ones(3)
    walk([("x", [tensor, threading.Lock(), tensor.untyped_storage()])])

    assert not tensor.is_shared()


def state() -> tuple[Any, ...]:
    popen = context.get_spawning_popen()  # type: ignore[attr-defined]
    return popen, sys.getrecursionlimit(), torch.get_rng_state().tolist()


def test_everything_is_left_as_it_was() -> None:
    before = state()
    walk([("x", [threading.Lock(), double])])

    assert state() == before


class DrawsNumbers:
    def __getstate__(self) -> Any:
        random.random()
        numpy.random.rand()  # noqa: NPY002  the state that everybody shares
        return {"noise": torch.rand(1)}


@pytest.mark.parametrize("beside", [None, threading.Lock()], ids=["alone", "beside a lock"])
def test_random_numbers_go_on_as_if_nothing_had_been_asked(beside: object) -> None:
    draw = (random.random, numpy.random.rand, lambda: torch.rand(1).item())
    states = (random.getstate(), numpy.random.get_state(), torch.get_rng_state())  # noqa: NPY002
    expected = [one() for one in draw]
    random.setstate(states[0])
    numpy.random.set_state(states[1])  # noqa: NPY002
    torch.set_rng_state(states[2])
    walk([("x", [DrawsNumbers(), beside])])

    assert [one() for one in draw] == expected


def test_a_lock_of_a_forking_context_is_refused() -> None:
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system has no fork")
    assert list(paths([multiprocessing.get_context("fork").Lock()])) == ["x[0]"]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python 3.12 refuses it by itself")
def test_a_lock_of_a_forking_context_is_refused_on_the_way_to_a_real_worker() -> None:
    """Python 3.10 sends it; the worker dies where it uses the lock, and not where it gets it."""
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system has no fork")
    with pytest.raises(RuntimeError, match="in a fork context"):
        StandIns().reduction(multiprocessing.get_context("fork").Lock())
    assert StandIns().reduction(multiprocessing.get_context("spawn").Lock()) is NotImplemented
