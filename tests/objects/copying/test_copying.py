"""A copy without its memory says what the real one says, and names everything in its way."""

# ruff: noqa: D101, D102, ARG005  the classes stand for a user's; all makers take the group

from __future__ import annotations

import copy
import functools
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import distributed, nn
from torch.nn.utils import parametrizations, weight_norm

from preflight.objects.copying.copy_trial import attempt
from preflight.objects.copying.copying import try_copy
from tests.conftest import said_by

pytestmark = pytest.mark.filterwarnings(  # of torch, while it makes old-fashioned models
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"
)


@pytest.fixture(autouse=True)
def group(tmp_path: Any) -> Iterator[Any]:
    """Give this process a group of one rank, for as long as a test takes."""
    if not distributed.is_available():
        pytest.skip("this torch was built without torch.distributed")
    store = distributed.FileStore(str(tmp_path / "store"), 1)
    distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        yield distributed.group.WORLD
    finally:
        distributed.destroy_process_group()


class Attention(nn.Module):
    def __init__(self, group: object = None) -> None:
        super().__init__()
        self.q = nn.Linear(4, 4)
        self.group = group


class Net(nn.Module):
    def __init__(self, **held: object) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Attention(held.get("group")) for _ in range(2)])
        for name, value in held.items():
            if name != "group":
                setattr(self, name, value)


class NeedsAnArgument:
    def __new__(cls, _argument: int) -> Any:
        return super().__new__(cls)

    def __init__(self, argument: int) -> None:
        self.argument = argument


class Recurses:
    """Its `__getattr__` asks for an attribute that an empty copy does not have yet."""

    def __init__(self) -> None:
        self.inner = nn.Linear(1, 1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class Keeper:
    """Keeps something, and is no module."""

    def __init__(self, kept: object) -> None:
        self.kept = kept

    def __deepcopy__(self, memo: Any) -> Any:
        raise RuntimeError("there is one of these")


class RefusesToBeCopied(nn.Module):
    def __deepcopy__(self, memo: Any) -> Any:
        raise AssertionError("does not support deepcopy")


class CopiesItself:
    def __init__(self, held: object) -> None:
        self.held = held

    def __deepcopy__(self, memo: Any) -> Any:
        return CopiesItself(copy.deepcopy(self.held, memo))


class Exits:
    def __deepcopy__(self, memo: Any) -> Any:
        raise SystemExit(0)


class SkipsItsGroup:
    def __init__(self, group: object) -> None:
        self.group = group

    def __deepcopy__(self, memo: Any) -> Any:
        return SkipsItsGroup(self.group)


class DropsItsLock:
    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __getstate__(self) -> dict[str, object]:
        return {}


def tied() -> nn.Module:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    model[1].weight = model[0].weight
    return model


def pruned() -> nn.Module:
    from torch.nn.utils import prune

    return prune.l1_unstructured(nn.Linear(4, 4), "weight", 1)


def with_forward(**keywords: object) -> nn.Module:
    model = Net()
    model.forward = functools.partial(model.forward, **keywords)
    return model


def hooked(hook: Any) -> nn.Module:
    model = nn.Linear(2, 2)
    model.register_forward_hook(hook)
    return model


def mesh() -> Any:
    from torch.distributed.device_mesh import init_device_mesh

    return init_device_mesh("cpu", (1,))


MODELS = {
    "a plain model": lambda group: Net(),
    "tied weights": lambda group: tied(),
    "a lambda": lambda group: Net(activation=lambda x: x),
    "a local function in a hook": lambda group: hooked(lambda *_: None),
    "a parametrization": lambda group: parametrizations.weight_norm(nn.Linear(4, 4)),
    "spectral norm": lambda group: parametrizations.spectral_norm(nn.Linear(4, 4)),
    "batch norm": lambda group: nn.BatchNorm1d(4),
    "a lazy layer": lambda group: nn.LazyLinear(4),
    "weights on meta": lambda group: nn.Linear(4, 4, device="meta"),
    "buffers and views": lambda group: Net(view=torch.ones(8)[2:4]),
    "a sparse tensor": lambda group: Net(sparse=torch.eye(3).to_sparse()),
    "numpy": lambda group: Net(table=numpy.ones(8), names=numpy.array(["a", None], dtype=object)),
    "a device mesh": lambda group: Net(mesh=mesh()),
    "a dtype, a device, a size": lambda group: Net(
        kept=[torch.float32, torch.device("cpu"), torch.Size([1])]
    ),
    "a random generator": lambda group: Net(generator=torch.Generator()),
    "a compiled module": lambda group: torch.compile(nn.Linear(2, 2), backend="eager"),
    "a scripted module": lambda group: torch.jit.script(nn.Linear(2, 2)),
    "a class that drops its lock": lambda group: Net(late=DropsItsLock()),
    "a class that copies around its group": lambda group: Net(own=SkipsItsGroup(group)),
    "an attribute of a parameter": lambda group: lock_on_parameter(),
    "a group": lambda group: Net(group=group),
    "a group in a dict": lambda group: Net(settings={"parallel": {"group": group}}),
    "a group in a tuple": lambda group: Net(groups=(1, (group,))),
    "a group in the keywords of forward": lambda group: with_forward(group=group),
    "a group of a mesh": lambda group: Net(of_mesh=mesh().get_group()),
    "sync batch norm with a group": lambda group: nn.SyncBatchNorm(4, process_group=group),
    "a group in what copies itself": lambda group: Net(own=CopiesItself({"g": group})),
    "a computed tensor": lambda group: Net(last=torch.ones(2, requires_grad=True) * 2),
    "the old weight norm": lambda group: weight_norm(nn.Linear(4, 4)),
    "pruned weights": lambda group: pruned(),
    "a lock": lambda group: Net(lock=threading.Lock()),
    "a generator": lambda group: Net(stream=(n for n in "a")),
    "a module of Python": lambda group: Net(library=copy),
    "a class that needs an argument": lambda group: Net(own=NeedsAnArgument(1)),
    "a class whose __getattr__ recurses": lambda group: Net(own=Recurses()),
    "a class that refuses": lambda group: Net(own=RefusesToBeCopied()),
    "a class that exits": lambda group: Net(own=Exits()),
    "a method bound to a lock's holder": lambda group: Net(call=Net(lock=threading.Lock()).forward),
    "several at once": lambda group: Net(
        group=group, lock=threading.Lock(), own=NeedsAnArgument(1)
    ),
}


def lock_on_parameter() -> nn.Module:
    model = nn.Linear(2, 2)
    model.weight.note = threading.Lock()
    return model


def real(model: nn.Module) -> str | None:
    """Give what the real copy says."""
    try:
        copy.deepcopy(model)
    except BaseException as error:  # noqa: BLE001  the oracle takes all
        return f"{type(error).__name__}: {error}"[:500]
    return None


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
def test_the_verdict_is_that_of_a_real_copy(make: Any, group: Any) -> None:
    model = make(group)

    assert try_copy(model).error == real(model)


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
def test_what_is_named_is_all_that_is_in_the_way(make: Any, group: Any) -> None:
    """A real copy that shares just these succeeds; one that shares all but one does not."""
    model = make(group)
    found = try_copy(model)
    shared = {id(one.thing): one.thing for one in found.stuck}

    assert (found.error is None) == (not shared)
    copy.deepcopy(model, dict(shared))
    for key in shared:
        assert attempt(model, {k: v for k, v in shared.items() if k != key}).error is not None


def named(model: object) -> dict[str, tuple[str, ...]]:
    return {one.paths[0]: one.paths[1:] for one in try_copy(model).stuck}


def test_one_group_in_many_places_is_one_object(group: Any) -> None:
    model = Net(group=group, settings={"group": group})
    model.forward = functools.partial(model.forward, group=group)

    assert named(model) == {
        "settings['group']": (
            "blocks[0].group",
            "blocks[1].group",
            "forward.keywords['group']",
        )
    }


class Looks:
    """It asks for its settings before it has any."""

    def __init__(self) -> None:
        self.settings = {"a": 1}

    def __getattr__(self, name: str) -> Any:
        if name in self.settings:
            return self.settings[name]
        raise AttributeError(name)


def test_a_circle_does_not_multiply_paths(group: Any) -> None:
    """A layer that knows its parent is no second way in."""
    model = Net(group=group)
    for block in model.blocks:
        block.__dict__["parent"] = model

    assert named(model) == {"blocks[0].group": ("blocks[1].group",)}


def under_two_names() -> nn.Module:
    model = Net(lock=threading.Lock())
    return Net(first=model, second=[model])


def a_list_in_itself() -> nn.Module:
    inner: list[object] = [threading.Lock()]
    inner.append({"inner": inner})
    return Net(inner=inner)


NAMED = {
    "what lies in a module under two names, by both": (
        under_two_names,
        {"first.lock": ("second[0].lock",)},
    ),
    "what fails while it is rebuilt, which no walk sees": (
        lambda: Net(own=[NeedsAnArgument(1)]),
        {"own[0]": ()},
    ),
    "what goes round by itself, which is no deep nesting": (
        lambda: Net(own=[Recurses()], lock=threading.Lock()),
        {"lock": (), "own[0]": ()},
    ),
    "what looks for its own settings": (
        lambda: Net(own=[Looks()], lock=threading.Lock()),
        {"lock": (), "own[0]": ()},
    ),
    "no level of a nesting that is too deep": (
        lambda: Net(deep=functools.reduce(lambda inner, _: [inner], range(3000), None)),
        {"the model itself": ()},
    ),
    "a model that refuses itself, as a whole": (RefusesToBeCopied, {"the model itself": ()}),
    "what lies in a module that something keeps which refuses": (
        lambda: Net(ema=Keeper(Net(lock=threading.Lock()))),
        {"ema": (), "ema.kept.lock": ()},
    ),
    "nothing of what keeps no module, and refuses": (
        lambda: Net(own=Keeper(threading.Lock())),
        {"own": ()},
    ),
    "what lies in a list that holds itself, once": (a_list_in_itself, {"inner[0]": ()}),
}


@pytest.mark.parametrize(("make", "expected"), NAMED.values(), ids=NAMED.keys())
def test_it_is_named(make: Any, expected: dict[str, tuple[str, ...]]) -> None:
    assert named(make()) == expected


def test_the_bytes_are_those_of_a_real_copy() -> None:
    model = Net(view=torch.ones(8)[2:4], same=torch.ones(0), table=numpy.ones(16))
    parameters = sum(p.numel() * 4 for p in model.parameters())

    assert try_copy(model).bytes == parameters + 8 * 4 + 16 * 8


class StartsFromNothing:
    """Its copies begin with empty statistics, by writing into what they were given."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.held = state["held"]
        with torch.no_grad():
            self.held[:4] = 0


def large_array() -> Any:
    """Reserve 200 MiB, of which one page is written."""
    array = numpy.zeros(200 << 20, dtype=numpy.uint8)
    array[:8] = 1
    return array


def large_tensor() -> torch.Tensor:
    tensor = torch.zeros(17 << 20, dtype=torch.uint8)
    tensor[:8] = 1
    return tensor


LIVE = {
    "weights": lambda: torch.ones(4),
    "weights in shared memory": lambda: torch.ones(4).share_memory_(),
    "an array": lambda: numpy.ones(8),
    "an array in the order of Fortran": lambda: numpy.ones((8, 2), order="F"),
    "an array that is too large to copy": large_array,
    "a large tensor in shared memory": lambda: large_tensor().share_memory_(),
    "a tensor in the memory of a large array": lambda: torch.from_numpy(large_array()),
    "a view of a large array": lambda: torch.from_numpy(large_array())[: 160 << 20].view(-1, 2),
}


@pytest.mark.parametrize("make", LIVE.values(), ids=LIVE.keys())
@pytest.mark.parametrize("lock", [False, True], ids=["in a model", "beside a lock"])
def test_nothing_that_is_alive_is_written(make: Any, lock: bool) -> None:  # noqa: FBT001
    held = make()
    before = held[:4].tolist()
    found = try_copy(Net(own=StartsFromNothing(held), lock=threading.Lock() if lock else None))

    assert len(found.stuck) == lock
    assert held[:4].tolist() == before


class CannotBeRebuilt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def __setstate__(self, state: dict[str, Any]) -> None:
        raise ValueError("no")


class EmptiesItsPart(nn.Module):
    def __init__(self, part: Any) -> None:
        super().__init__()
        self.part = part

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        with torch.no_grad():
            self.part.weight.zero_()


def test_not_even_what_stands_in_the_way_is_written() -> None:
    """The rest of the copy goes on with something like it."""
    part = CannotBeRebuilt()
    part.weight.note = threading.Lock()  # type: ignore[attr-defined]

    assert named(EmptiesItsPart(part)) == {"part": ()}
    assert part.weight.tolist() == [1, 1, 1, 1]


def test_a_computed_tensor_that_is_in_the_way_is_not_written() -> None:
    """It is shared as its data, and that is copied when it is written."""
    computed = torch.ones(4, requires_grad=True) * 2

    assert named(Net(own=StartsFromNothing(computed))) == {"own.held": ()}
    assert computed.tolist() == [2, 2, 2, 2]


def test_what_lies_too_deep_is_told_beside_what_else_is_in_the_way() -> None:
    deep = functools.reduce(lambda inner, _: [inner], range(3000), None)
    found = try_copy(Net(deep=deep, lock=threading.Lock()))

    assert [one.paths for one in found.stuck] == [("lock",)]
    assert found.cut == ("what lies more levels deep than copy.deepcopy goes, which stops there",)
    assert try_copy(Net(lock=threading.Lock())).cut == ()


def test_what_was_left_blank_is_told_where_it_may_matter() -> None:
    """Code that rebuilds the copy could have decided otherwise at the sight of the values."""
    blank = ("209.7 MB of arrays and shared tensors copied without their values",)

    assert try_copy(Net(own=CannotBeRebuilt(), table=large_array())).cut == blank
    assert try_copy(Net(own=CannotBeRebuilt(), table=numpy.ones(8))).cut == ()
    assert try_copy(Net(lock=threading.Lock(), table=large_array())).cut == ()


def test_an_array_that_lies_in_a_file_is_not_read(tmp_path: Path) -> None:
    """Its copy would be all of it, in memory."""
    array = numpy.memmap(tmp_path / "a.bin", mode="w+", dtype=numpy.uint8, shape=(200 << 20,))
    found = attempt(Net(table=array), {})

    assert (found.error, found.blank) == (None, 200 << 20)


def untouched() -> nn.Module:
    """Hold a gigabyte of weights that nobody has touched."""
    model = nn.Linear(1, 1)
    model.weight = nn.Parameter(torch.empty(10**9, dtype=torch.uint8), requires_grad=False)
    return model


def many_arrays() -> nn.Module:
    """Hold them by themselves, and as the memory of tensors."""
    arrays = [numpy.zeros(10**8, dtype=numpy.uint8) for _ in range(40)]
    return Net(arrays=arrays[:20], tensors=[torch.from_numpy(one) for one in arrays[20:]])


@pytest.mark.parametrize(
    ("make", "size", "most"),
    [(untouched, 10**9, 200_000), (many_arrays, 4 * 10**9, 400_000)],
    ids=["a large model", "many large arrays and tensors"],
)
def test_large_data_costs_nothing(make: Any, size: int, most: int) -> None:
    resource = pytest.importorskip("resource")
    model = make()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    assert try_copy(model).bytes > size
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < most


class DrawsNumbers:
    def __deepcopy__(self, memo: Any) -> Any:
        random.random()
        numpy.random.rand()  # noqa: NPY002  the state that everybody shares
        return nn.Linear(2, 2)


def states() -> tuple[Any, ...]:
    return random.getstate(), torch.get_rng_state().tolist(), str(numpy.random.get_state())  # noqa: NPY002


def test_everything_is_left_as_it_was() -> None:
    model = Net(own=DrawsNumbers(), lock=threading.Lock())
    where = [p.data_ptr() for p in model.parameters()]
    before = states()
    try_copy(model)

    assert "__deepcopy__" not in vars(torch.UntypedStorage)
    assert [p.data_ptr() for p in model.parameters()] == where
    assert states() == before


FRESH = """
import os, warnings, torch
before = dict(os.environ), list(warnings.filters)
from preflight.objects.copying.copying import try_copy
assert try_copy(torch.nn.Linear(2, 2)).error is None
assert (dict(os.environ), list(warnings.filters)) == before
print(*(name for name in ("sympy", "torch._dynamo", "torch._inductor") if name in sys.modules))
"""


def test_the_first_look_brings_no_compiler_into_the_process() -> None:
    """Which would set variables of the environment and filter warnings."""
    assert said_by(FRESH) == ""


class Interrupted:
    def __deepcopy__(self, memo: Any) -> Any:
        raise KeyboardInterrupt


def test_an_interrupt_is_let_through() -> None:
    """Ctrl-C means the person, and torch is put back all the same."""
    with pytest.raises(KeyboardInterrupt):
        try_copy(Net(own=Interrupted()))
    assert "__deepcopy__" not in vars(torch.UntypedStorage)


def test_a_list_of_very_many_is_cut_and_the_verdict_is_not() -> None:
    """What the walk leaves out, the copy itself still finds."""
    model = Net(many=[*([i] for i in range(3000)), threading.Lock()])
    found = try_copy(model)

    assert found.error == "TypeError: cannot pickle '_thread.lock' object"
    assert found.cut == ("2,000 of 3,001 items of a list",)
    assert [one.paths for one in found.stuck] == [("many",)]
