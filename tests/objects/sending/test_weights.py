"""What a worker would be sent is weighed where it is, and the heavy parts of it are named."""

# ruff: noqa: D101, D102  the classes stand for a user's

from __future__ import annotations

import array
import collections
import functools
import pickle
import random
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import reduction
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch.utils.data import ConcatDataset, Subset, TensorDataset

from preflight.objects.facts import Part
from preflight.objects.sending.weights import LARGE, MOST_PARTS, weigh
from tests.conftest import said_by

MB = 10**6
HEAVY = 100 * MB


class Held:
    """Holds whatever it is given as attributes."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


class Trainer(Held):
    def decode(self, x: object) -> object:
        return x


@dataclass
class Slotted:
    __slots__ = ("images",)
    images: object


class Batch(list):  # type: ignore[type-arg]
    pass


def zeros(size: int = HEAVY) -> Any:
    """Make an array whose memory is reserved and never touched."""
    return numpy.zeros(size, numpy.uint8)


def named(thing: object, root: str = "dataset") -> list[tuple[str, int]]:
    """Give the parts, each with its size in whole megabytes."""
    return [(one.path, round(one.bytes / MB)) for one in weigh([(root, thing)]).parts]


# --- how much -------------------------------------------------------------------------------------

WORDS = [f"word number {number} of the list" for number in range(1000)]

ORDINARY: dict[str, Callable[[], object]] = {
    "nothing": lambda: None,
    "numbers": lambda: list(range(10_000)),
    "words, each in two lists": lambda: [WORDS, list(WORDS)],
    "nested": lambda: {"a": [{"b": (1, {2, 3}, frozenset({4}))}], "c": b"123" * 1000},
    "an instance": lambda: Held(a=1, b=[Held(c="x" * 5000)]),
    "slots": lambda: Slotted(list(range(1000))),
    "an array": lambda: numpy.arange(100_000),
    "an array that is not contiguous": lambda: numpy.zeros((1000, 1000))[::2, ::2],
    "an array that repeats itself": lambda: numpy.broadcast_to(numpy.arange(100), (1000, 100)),
    "an array of objects": lambda: numpy.array([{"a": 1}, "b" * 5000, None], dtype=object),
    "a structured array": lambda: numpy.zeros(1000, "i4,f8"),
    "a masked array": lambda: numpy.ma.masked_array(numpy.arange(5000), numpy.arange(5000) % 2),
    "an array of the standard library": lambda: array.array("d", range(10_000)),
    "a bytearray": lambda: bytearray(100_000),
    "a deque and an ordered dict": lambda: [
        collections.deque(range(5000)),
        collections.OrderedDict.fromkeys(range(5000)),
    ],
    "a partial": lambda: functools.partial(numpy.sum, numpy.zeros(1000)),
    "a text outside ASCII": lambda: "\u00e4\u20ac\U0001f600" * 50_000,
}


@pytest.mark.parametrize("make", ORDINARY.values(), ids=ORDINARY.keys())
def test_it_weighs_what_pickle_writes(make: Callable[[], object]) -> None:
    """But for a few bytes that say how."""
    thing = make()
    stream = len(reduction.ForkingPickler.dumps(thing))

    weighed = weigh([("dataset", thing)])

    assert abs(weighed.bytes - stream) <= 200 + stream // 50
    assert (weighed.shared_bytes, weighed.parts) == (0, ())


def test_what_two_roots_share_is_sent_once() -> None:
    shared = zeros()

    assert weigh([("dataset", Held(a=shared)), ("collate_fn", Held(b=shared))]).bytes < HEAVY + MB


def test_two_views_of_one_array_are_sent_twice() -> None:
    whole = zeros()

    assert weigh([("dataset", [whole, whole[:]])]).bytes > 2 * HEAVY


def test_tensors_are_shared_and_each_storage_once() -> None:
    """Torch moves them to shared memory, for all workers together."""
    tensor = torch.zeros(10 * MB)  # float32
    data = TensorDataset(tensor, tensor.view(-1, 1), tensor.flip(0))

    weighed = weigh([("dataset", data)])

    assert weighed.shared_bytes == 2 * 40 * MB
    assert weighed.bytes < 10_000


class Labelled(torch.Tensor):
    pass


def compressed() -> torch.Tensor:
    rows, columns = torch.arange(11), torch.arange(10)
    return torch.sparse_csr_tensor(rows, columns, torch.ones(10), check_invariants=True)


TENSORS: dict[str, tuple[Callable[[], object], int]] = {
    "a parameter": (lambda: torch.nn.Parameter(torch.zeros(1000)), 4000),
    "a module": (lambda: torch.nn.Linear(10, 10), 440),
    "a subclass": (lambda: torch.zeros(1000).as_subclass(Labelled), 4000),
    "a part of a larger one": (lambda: torch.zeros(1000)[:10], 4000),
    "a storage": (lambda: torch.zeros(1000).untyped_storage(), 4000),
    "one without data": (lambda: torch.zeros(1000, device="meta"), 0),
    "a sparse one": (lambda: torch.eye(10).to_sparse(), 160 + 40),
    "a compressed one": (compressed, 88 + 80 + 40),
    "one in shared memory": (lambda: torch.zeros(1000).share_memory_(), 4000),
    "one over an array of numpy": (lambda: torch.from_numpy(numpy.zeros(1000)), 8000),
}


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state")
@pytest.mark.parametrize(("make", "size"), TENSORS.values(), ids=TENSORS.keys())
def test_each_kind_of_tensor_is_weighed_by_its_storage(
    make: Callable[[], object], size: int
) -> None:
    """A part of a storage moves all of it."""
    weighed = weigh([("dataset", make())])

    assert weighed.shared_bytes == size
    assert weighed.bytes < 5000


def test_a_tensor_stays_where_it_is() -> None:
    tensor = torch.zeros(1000)
    before = tensor.data_ptr()

    weigh([("dataset", [tensor])])

    assert (tensor.data_ptr(), tensor.is_shared()) == (before, False)


def test_random_numbers_go_on_as_they_would() -> None:

    class Draws:
        def __reduce__(self) -> Any:
            return int, (int(random.random()),)

    state = random.getstate()
    weigh([("dataset", Draws())])

    assert random.getstate() == state


# --- which parts ----------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [10, 500, 30_000])
def test_a_list_of_many_is_one_part(count: int) -> None:
    """Its items have nothing to say one by one."""
    images = [zeros(HEAVY // count) for _ in range(count)]
    data = Held(images=images, names=WORDS)

    ((path, size),) = named(data)

    assert path == "dataset.images"
    assert 99 <= size <= 110


def test_of_many_parts_the_heaviest_are_named() -> None:
    data = Held(
        a=Held(a=zeros(), b=zeros()), b=Held(a=zeros(), b=zeros()), c=Held(a=zeros(), b=zeros())
    )

    assert len(named(data)) == MOST_PARTS


SAMPLES: dict[str, Callable[[], object]] = {
    "dicts": lambda: [{"id": number, "text": f"{number:01000}"} for number in range(80_000)],
    "dict": lambda: {number: f"{number:01000}" for number in range(80_000)},
    "instances": lambda: [Held(id=number, text=f"{number:01000}") for number in range(80_000)],
    "list of one's own": lambda: Batch(f"{number:01000}" for number in range(80_000)),
    "deque": lambda: collections.deque(f"{number:01000}" for number in range(80_000)),
    "objects": lambda: numpy.array([f"{n:01000}" for n in range(80_000)], dtype=object),
    "bytes": lambda: [f"{number:01000}".encode() for number in range(80_000)],
    "text": lambda: "x" * HEAVY,
    "one bytes": lambda: b"x" * HEAVY,
    "bytearray": lambda: bytearray(HEAVY),
    "array": lambda: array.array("B", bytes(HEAVY)),
    "numpy": lambda: numpy.zeros(HEAVY // 4, "f4"),
    "lists in lists in a list": lambda: [
        [[f"{a}{b}{c}" * 100 for a in range(10)] for b in range(60)] for c in range(300)
    ],
}


@pytest.mark.parametrize("make", SAMPLES.values(), ids=SAMPLES.keys())
def test_the_name_is_found_whatever_is_in_it(make: Callable[[], object]) -> None:
    data = Held(first=WORDS, samples=make(), last=Held(a=1))
    weighed = weigh([("dataset", data)])
    total, (part,) = weighed.bytes, weighed.parts

    assert part.path == "dataset.samples"
    assert total * 0.98 <= part.bytes <= total * 1.02


def light_beside_heavy() -> Held:
    return Held(images=zeros(), names=WORDS, inner=Held(more=zeros(1000)))


def ring() -> Held:
    made = Held(images=zeros())
    made.me, made.items = made, [made]
    return made


PARTS: dict[str, tuple[Callable[[], object], dict[str, int]]] = {
    "none of what is light": (lambda: Held(images=zeros(LARGE - MB)), {}),
    "an attribute, and not its owner": (light_beside_heavy, {"dataset.images": 100}),
    "an attribute of what others wrap": (
        lambda: Subset(ConcatDataset([Subset(light_beside_heavy(), [0])]), [0]),  # type: ignore[arg-type]
        {"dataset.dataset.datasets[0].dataset.images": 100},
    ),
    "the heaviest first, and no more than a twentieth": (
        lambda: Held(a=zeros(20 * MB), b=zeros(70 * MB), c=zeros(3 * MB), d=zeros(MB)),
        {"dataset.b": 70, "dataset.a": 20},
    ),
    "each of a few in a list": (
        lambda: [zeros(), zeros(1000), zeros(2 * HEAVY)],
        {"dataset[2]": 200, "dataset[0]": 100},
    ),
    "once in a ring": (ring, {"dataset.images": 100}),
    "an item": (lambda: {"train": zeros(), 1: "x"}, {"dataset['train']": 100}),
    "a text": (lambda: Held(text={"a": "x" * HEAVY}), {"dataset.text['a']": 100}),
    "an argument": (lambda: functools.partial(max, zeros(), key=len), {"dataset.args[0]": 100}),
    "a keyword": (
        lambda: functools.partial(max, default=zeros()),
        {"dataset.keywords['default']": 100},
    ),
    "a slot": (lambda: Slotted(zeros()), {"dataset.images": 100}),
    "an item of tuples": (lambda: (1, (2, zeros())), {"dataset[1][1]": 100}),
    "an item of an ordered dict": (
        lambda: collections.OrderedDict(a=zeros()),
        {"dataset['a']": 100},
    ),
    "an item of a deque": (lambda: collections.deque([1, zeros()]), {"dataset[1]": 100}),
    "an item of a list of one's own": (lambda: Batch([zeros()]), {"dataset[0]": 100}),
}


@pytest.mark.parametrize(("make", "expected"), PARTS.values(), ids=PARTS.keys())
def test_parts_are_named_as_code_names_them(
    make: Callable[[], object], expected: dict[str, int]
) -> None:
    """The most specific name that holds nearly all, so that it can be typed."""
    assert named(make()) == [*expected.items()]


def test_a_bound_method_drags_its_self_along() -> None:
    trainer = Trainer(images=zeros())

    (part,) = weigh([("dataset", Held(a=1)), ("collate_fn", trainer.decode)]).parts

    assert part == Part(
        path="collate_fn.__self__.images", bytes=part.bytes, dragged_by="Trainer.decode"
    )


def test_a_method_of_what_is_sent_anyway_drags_nothing() -> None:
    data = Trainer(images=zeros())
    data.collate = data.decode

    (part,) = weigh([("dataset", data), ("collate_fn", data.decode)]).parts

    assert (part.path, part.dragged_by) == ("dataset.images", None)


def test_a_method_of_a_class_drags_nothing() -> None:

    class Reader(Held):
        images = zeros()

    assert weigh([("collate_fn", functools.partial(Held, Reader))]).parts == ()


def test_what_is_shared_is_counted_where_it_has_a_name() -> None:
    """Also when items of a long list lead to it, or back to the data set itself."""
    table = {"names": [f"{number:01000}" for number in range(80_000)], "other": [1]}
    data = Held(table=table, items=[])
    data.items.extend(Held(table=table, of=data) for _ in range(10_000))
    behind = Held(items=data.items, table=table)

    assert [path for path, _ in named(data)] == ["dataset.table['names']"]
    assert [path for path, _ in named(behind)] == ["dataset.table['names']"]


def test_the_parts_are_no_more_than_the_whole() -> None:
    shared = [f"{number:01000}" for number in range(80_000)]
    data = Held(a=shared, b=[shared, shared], c={"d": shared}, e=Held(f=shared))
    weighed = weigh([("dataset", data), ("collate_fn", Held(a=shared))])

    assert [one.path for one in weighed.parts] == ["dataset.a"]
    assert sum(one.bytes for one in weighed.parts) <= weighed.bytes + 1000


# --- memory maps ----------------------------------------------------------------------------------


@pytest.fixture
def mapped(tmp_path: Path) -> Any:
    """Give a memory map of a file that takes no room."""
    path = tmp_path / "images.bin"
    with path.open("wb") as file:
        file.truncate(HEAVY)
    return numpy.memmap(path, numpy.uint8, "r")


def test_a_memory_map_is_pickled_whole() -> None:
    """As numpy's own reduction has it; what is said of it stands on this."""
    assert numpy.memmap.__reduce__ is numpy.ndarray.__reduce__
    assert numpy.memmap.__reduce_ex__ is numpy.ndarray.__reduce_ex__


MAPS: dict[str, tuple[Callable[[Any], object], bool]] = {
    "a map, whose owner believes that nothing is sent": (lambda mapped: mapped, True),
    "parts of one": (lambda mapped: [mapped[n * MB : (n + 1) * MB] for n in range(100)], True),
    "an array that looks at one": (numpy.asarray, True),
    "a copy, whose type says otherwise": (lambda mapped: mapped.copy(), False),
}


@pytest.mark.parametrize(("make", "is_mapped"), MAPS.values(), ids=MAPS.keys())
def test_what_looks_at_a_file_is_told_apart(
    mapped: Any, make: Callable[[Any], object], *, is_mapped: bool
) -> None:
    (part,) = weigh([("dataset", Held(images=make(mapped)))]).parts

    assert (part.path, part.mapped) == ("dataset.images", is_mapped)


# --- what is not sent, and what is not asked ------------------------------------------------------


def test_what_pickle_refuses_ends_nothing() -> None:
    data = Held(images=zeros(), lock=threading.Lock(), more=zeros(1000))

    weighed = weigh([("dataset", data), ("collate_fn", lambda x: x)])

    assert weighed.bytes >= HEAVY
    assert [one.path for one in weighed.parts] == ["dataset.images"]


class Endless:
    def __reduce__(self) -> Any:
        raise MemoryError


@dataclass
class Deep:
    below: object


@pytest.mark.parametrize("make", [
    Endless,
    lambda: functools.reduce(lambda below, _: Deep(below), range(5000), None),
    lambda: functools.reduce(lambda below, _: [below], range(5000), None),
    lambda: (torch.ones(3, requires_grad=True) * 2),
    lambda: pickle.PickleBuffer(numpy.zeros((10, 10))[::2, ::2]),
], ids=["raises", "deep", "deep lists", "computed", "buffer"])  # fmt: skip
def test_it_never_raises(make: Callable[[], object]) -> None:
    weighed = weigh([("dataset", Held(images=zeros(), odd=make()))])

    assert [one.path for one in weighed.parts] == ["dataset.images"]


class Trapped:
    """Whatever is asked of it by name ends the test."""

    def __init__(self) -> None:
        self.images = zeros()

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # as pickle itself asks
            raise AttributeError(name)
        raise AssertionError(name)

    @property
    def data(self) -> object:
        raise AssertionError("a property was read")

    def __len__(self) -> int:
        raise AssertionError("asked for its length")

    def __eq__(self, other: object) -> bool:
        raise AssertionError("compared")

    def __bool__(self) -> bool:
        raise AssertionError("asked whether it is true")

    __hash__ = None  # type: ignore[assignment]


def test_nothing_of_the_users_is_asked() -> None:
    assert named([Trapped()]) == [("dataset[0].images", 100)]


def test_nothing_of_the_users_is_changed() -> None:
    data = Held(images=numpy.arange(1000), rest=[Held(a="\u00e4"), {1: {2}}], big=b"x" * HEAVY)
    before = pickle.dumps(data)

    weigh([("dataset", data)])

    assert pickle.dumps(data) == before


_COST = """
import resource, sys
import numpy, torch
from preflight.objects.sending.weights import weigh

class Data: pass

data = Data()
data.images = numpy.zeros((1000, 1000, 1000), numpy.uint8)
data.mapped = numpy.memmap("images.bin", numpy.uint8, "r")
data.tensor = torch.empty(10**9, dtype=torch.uint8)
data.scattered = data.images[:, ::2]
unit = 1 if sys.platform == "darwin" else 1024
weigh([("dataset", Data())])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
weighed = weigh([("dataset", data)])
print(weighed.bytes, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit - before)
"""


@pytest.mark.usefixtures("at_hand")
@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not say the peak in this way")
def test_gigabytes_are_weighed_in_no_memory(tmp_path: Path) -> None:
    """Their data is counted where it is, and no page of it is touched."""
    with (tmp_path / "images.bin").open("wb") as file:
        file.truncate(10**9)
    weighed, taken = map(int, said_by(_COST, folder=tmp_path).split())

    assert weighed > 2.5 * 10**9
    assert taken < 20 * MB


def test_importing_it_costs_nothing_heavy() -> None:
    """It may run where neither torch nor numpy is."""
    code = (
        "import preflight.objects.sending.weights as w\n"
        "print(w.weigh([('dataset', {'a': 'x' * 10**8})]).parts[0].path)\n"
        "print([name for name in ('torch', 'numpy') if name in sys.modules])"
    )

    assert said_by(code, "-S").split("\n") == ["dataset['a']", "[]"]
