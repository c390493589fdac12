"""Every fix that is code is run: the copy is made, and its parameters are its own."""

# ruff: noqa: D101, D102, PYI034  the classes stand for a user's

from __future__ import annotations

import collections
import copy
import copyreg
import functools
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import prune
from torch.optim.swa_utils import AveragedModel

from preflight.findings.finding import Finding, Severity
from preflight.models.read import copied_by, copy_model
from preflight.objects.facts import ModelCopy
from preflight.testing import ask
from tests.contents import of_torch

pytestmark = pytest.mark.usefixtures("at_hand")

HERE = str(Path(__file__).parent)

OF_THE_MODULE = nn.Linear(1, 1)
"""What a script keeps by a name of its own is held by no generator that was written there."""


class Block(nn.Module):
    def __init__(self, held: object = None) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.held = held

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.lin(x)  # type: ignore[no-any-return]


class ModelEma(nn.Module):
    """As timm's: it copies what it is given, and keeps it as `module`."""

    def __init__(self, model: nn.Module, decay: float = 0.9) -> None:
        super().__init__()
        self.module = copy.deepcopy(model)
        self.decay = decay


class Refuses(Block):
    def __deepcopy__(self, memo: Any) -> Any:
        raise RuntimeError("no copies of me")


class Slots:
    __slots__ = ("row",)

    def __init__(self, one: object) -> None:
        self.row = collections.deque([collections.OrderedDict({"a": one})])


class Odd:
    """Is made with an argument, which no copy gives."""

    def __new__(cls, _: object) -> Odd:
        return object.__new__(cls)


def unruled(how: str = "Settings") -> object:
    """Give an object whose `__deepcopy__` cannot be asked for, or refuses: no rule is looked at.

    Its class is made anew each time, since the fix changes it.
    """

    class Settings:
        def __init__(self) -> None:
            self.held = {"a": 1}

        def __getattr__(self, name: str) -> object:
            return self.held[name]

    class Refusing:
        def __deepcopy__(self, memo: Any) -> Any:
            raise RuntimeError("no copies of me")

    class Hiding:
        def __getattribute__(self, name: str) -> object:
            if name == "__deepcopy__":
                raise KeyError(name)
            return super().__getattribute__(name)

    return {one.__name__: one for one in (Settings, Refusing, Hiding)}[how]()


def net(*held: object) -> nn.Module:
    return nn.Sequential(*(Block(one) for one in held or (None, None)))


def group() -> Any:
    return distributed.new_group([0])


def ddp(*held: object) -> nn.Module:
    return DistributedDataParallel(net(*held), process_group=group())


def older(*held: object) -> nn.Module:
    """Keep its modules as torch did before it took plain dicts."""
    model = ddp(*held)
    for one in model.modules():
        vars(one)["_modules"] = collections.OrderedDict(vars(one)["_modules"])
    return model


def replicated(*held: object) -> nn.Module:
    of_torch("distributed.fsdp.fully_shard")  # as old, it may be copied before its first step
    from torch.distributed._composable.replicate import replicate

    return replicate(net(*held))  # type: ignore[no-any-return]


def sharded(*held: object) -> nn.Module:
    """Build a model whose root and blocks are sharded, as FSDP2 does it."""
    from torch.distributed.device_mesh import init_device_mesh

    fully_shard = of_torch("distributed.fsdp.fully_shard")
    model = net(*held)
    mesh = init_device_mesh("cpu", (1,))
    for block in model:  # type: ignore[attr-defined]
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


def in_pieces(*held: object, **options: Any) -> nn.Module:
    """Build a model as FSDP1 shards it: with weights that are views, unless they are asked for."""
    from torch.distributed.fsdp import FullyShardedDataParallel

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is old
        return FullyShardedDataParallel(net(*held), device_id=torch.device("cpu"), **options)


def compiled(model: nn.Module) -> nn.Module:
    return torch.compile(model, backend="eager")  # type: ignore[return-value]


def with_attribute(name: str, value: Callable[[Any], object]) -> nn.Module:
    model = net()
    setattr(model, name, value(model))
    return model


def old_weight_norm() -> nn.Module:
    model = net()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.nn.utils.weight_norm(model[0].lin)  # type: ignore[index]
    return model


def pruned() -> nn.Module:
    model = net()
    prune.l1_unstructured(model[0].lin, "weight", 0.5)  # type: ignore[index]
    return model


def locks(many: int = 300) -> nn.Module:
    return net(*(threading.Lock() for _ in range(many)))


CASES: dict[str, Callable[[], nn.Module]] = {
    "a group in two layers": lambda: net(*[group()] * 2),
    "two groups": lambda: net(group(), group()),
    "a group in SyncBatchNorm": lambda: with_attribute(
        "norm", lambda _: nn.SyncBatchNorm(4, process_group=group())
    ),
    "a lock": lambda: net(threading.Lock()),
    "a lock in a dict": lambda: net({"a": [threading.Lock()]}),
    "a lock in a module of an odd name": lambda: nn.ModuleDict({"a b": Block(threading.Lock())}),
    "a lock in slots, in a deque": lambda: net(Slots(threading.Lock())),
    "five locks in a list": lambda: net([threading.Lock() for _ in range(5)]),
    "a lock and a stream": lambda: net(threading.Lock(), (one for one in range(3))),
    "300 locks": locks,
    "locks beside an attribute of the same name": lambda: net(*[threading.Lock()] * 4, {"a": 1}),
    "a generator": lambda: net(one for one in range(3)),
    "a module": lambda: net(threading),
    "an object that is made with an argument": lambda: net(Odd(1)),
    "settings that raise KeyError": lambda: net(unruled()),
    "settings that raise KeyError, and a lock": lambda: net(unruled(), threading.Lock()),
    "five of them in a list": lambda: net([kind() for kind in [type(unruled())] * 5]),
    "an object that refuses": lambda: net(unruled("Refusing"), threading.Lock()),
    "a lock too far down a list": lambda: net([Slots(1)] * 2_400 + [threading.Lock()]),
    "five computed tensors in a list": lambda: net(
        [torch.ones(2, requires_grad=True) * 2 for _ in range(5)]
    ),
    "an object of which no class is asked": lambda: net(unruled("Hiding")),
    "a computed tensor": lambda: with_attribute("mask", lambda model: model[0].lin.weight * 2),
    "a computed tensor and a lock": lambda: net(
        threading.Lock(), torch.ones(2, requires_grad=True) * 2
    ),
    "the old weight_norm": old_weight_norm,
    "a pruned layer": pruned,
    "DDP with a group": ddp,
    "DDP with a group, of a model that holds one": lambda: ddp(group(), threading.Lock()),
    "DDP that holds a lock": lambda: DistributedDataParallel(net(threading.Lock())),
    "DDP with a group inside a model": lambda: nn.Sequential(ddp()),
    "torch.compile": lambda: torch.compile(net(threading.Lock()), backend="eager"),  # type: ignore[return-value,dict-item]
    "torch.compile around DDP": lambda: compiled(ddp()),
    "torch.compile around DDP that holds a lock": lambda: compiled(ddp(threading.Lock())),
    "torch.compile in DDP": lambda: DistributedDataParallel(
        compiled(net(threading.Lock())), process_group=group()
    ),
    "torch.compile around fully_shard": lambda: compiled(sharded()),
    "torch.compile around a module that refuses": lambda: compiled(Refuses()),
    "FSDP1": in_pieces,
    "FSDP1, of a model that holds a lock": lambda: in_pieces(threading.Lock()),
    "FSDP1 with the own parameters": lambda: in_pieces(use_orig_params=True),
    "DDP twice in a model": lambda: nn.ModuleDict({"a": ddp(), "b": ddp(threading.Lock())}),
    "a view of a weight": lambda: with_attribute("tied", lambda model: model[0].lin.weight[:2]),
    "replicate": replicated,
    "replicate, of a model that holds a lock": lambda: replicated(threading.Lock()),
    "fully_shard": sharded,
    "fully_shard, of a model that holds a lock": lambda: sharded(threading.Lock()),
    "a module that refuses": lambda: Refuses(threading.Lock()),
    "modules that refuse": lambda: nn.Sequential(Refuses(), Refuses()),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path) -> Iterator[None]:
    """Be the one rank of a job."""
    rules = dict(copyreg.dispatch_table)
    store = distributed.FileStore(str(tmp_path / "store"), 1)
    distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    distributed.destroy_process_group()
    copyreg.dispatch_table.clear()
    copyreg.dispatch_table.update(rules)


def found(model: object, folder: Path, *lines: str) -> list[Finding]:
    """Look at a model in a job with these lines."""
    source = folder / "train.py"
    source.write_text("\n".join(lines), encoding="utf-8")
    made = copy_model(
        model, name="train:make_model", root=str(folder), factory=net, sources=(str(source),)
    )
    return ask("model-uncopyable", made)


def result_of(code: str, **names: Any) -> Any:
    """Run a row of statements, and give what the last one gives or sets."""
    *before, last = code.split("; ")
    space = {"copy": copy, "torch": torch, **names}
    exec("; ".join(before), space)
    if not last.startswith("second."):
        return eval(last, space)
    exec(last, space)
    return space["second"]


def same_weights(one: nn.Module, other: nn.Module) -> bool:
    """Whether all weights are the same numbers, and no parameter is the same one."""
    mine, others = list(one.parameters()), list(other.parameters())
    assert mine
    return len(mine) == len(others) and all(
        a is not b and torch.equal(torch.as_tensor(a), torch.as_tensor(b))
        and _whole(a).data_ptr() != _whole(b).data_ptr()
        for a, b in zip(mine, others, strict=True)
    )  # fmt: skip


def _whole(tensor: Any) -> Any:
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


@pytest.mark.filterwarnings("ignore:When using ..NO_SHARD")  # as FSDP1 does with one rank
@pytest.mark.parametrize("case", CASES)
def test_the_code_of_every_fix_makes_a_copy(tmp_path: Path, case: str) -> None:
    model = CASES[case]()
    told = found(model, tmp_path)

    assert told
    for one in told:
        words, _, code = (one.fix or "").partition(":  ")
        assert words and code
        second = result_of(code, model=model, make_model=CASES[case], net=CASES[case])
        assert same_weights(second, model), (one.fix, case)


@pytest.mark.filterwarnings("ignore:When using ..NO_SHARD")  # as FSDP1 does with one rank
@pytest.mark.parametrize("case", CASES)
def test_the_code_for_a_class_that_copies_by_itself_works_in_it(tmp_path: Path, case: str) -> None:
    model = CASES[case]()
    first = found(model, tmp_path)[0]
    if ", {id(" not in (first.fix or "") or case in IN_WORDS:
        assert first.workaround is None
        return
    words, _, code = (first.workaround or "").partition(":  ")
    assert words == "Where a class copies it by itself, such as AveragedModel"
    average = result_of(code, model=model, AveragedModel=AveragedModel)
    assert same_weights(average.module, model), (first.workaround, case)


# Where nothing that is done before the call of such a class would help.
IN_WORDS = frozenset(
    {
        "DDP with a group inside a model",
        "torch.compile around fully_shard",
        "torch.compile around a module that refuses",
        "FSDP1",
        "FSDP1, of a model that holds a lock",
        "FSDP1 with the own parameters",
        "DDP twice in a model",
        "a view of a weight",
        "replicate",
        "replicate, of a model that holds a lock",
        "a lock too far down a list",
        "five computed tensors in a list",
        "an object of which no class is asked",
        "fully_shard",
        "fully_shard, of a model that holds a lock",
        "a module that refuses",
        "modules that refuse",
    }
)

COPIERS = {
    "ema = AveragedModel(model)": AveragedModel,
    "ema = timm.utils.ModelEmaV3(model, decay=0.9)": ModelEma,
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("line", COPIERS)
def test_what_copies_by_itself_works_after_what_is_said(
    tmp_path: Path, case: str, line: str
) -> None:
    """Or it is said what comes before it, in words."""
    model = CASES[case]()
    told = found(model, tmp_path, line)

    assert told
    for one in told:
        words, _, code = (one.fix or "").partition(":  ")
        assert bool(code) == (case not in IN_WORDS)
        if not code:
            assert "AveragedModel" in words or "ModelEmaV3" in words
            assert one.at.name == "tied" or "Leave it out" not in words or "held" in one.at.name
            continue
        timm = type("timm", (), {"utils": type("utils", (), {"ModelEmaV3": ModelEma})})
        ema = result_of(code, model=model, AveragedModel=AveragedModel, timm=timm)
        assert type(ema) is COPIERS[line]
        weights = [one for one in ema.parameters() if one.dim()]
        assert weights
        assert not {id(one) for one in weights} & {id(one) for one in model.parameters()}


class Ruled:
    """Fails where a copy looks only after it has asked for the rule."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> object:
        if name == "__setstate__" == self.__dict__.get("name", name):
            raise KeyError(name)
        raise AttributeError(name)

    def __getstate__(self) -> object:
        if self.name == "__getstate__":
            raise KeyError(self.name)
        return self.__dict__

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self.name == "__reduce_ex__":
            raise KeyError(self.name)
        return super().__reduce_ex__(protocol)


@pytest.mark.parametrize("asked", ["__reduce_ex__", "__getstate__", "__setstate__"])
def test_a_rule_is_given_where_a_copy_asks_for_it(tmp_path: Path, asked: str) -> None:
    """It asks for a `__deepcopy__` before, and for all of these behind it."""
    model = net(Ruled(asked))
    (one,) = found(model, tmp_path, "ema = AveragedModel(model)")
    _, _, code = (one.fix or "").partition(":  ")

    rule = 'copyreg.pickle(type(model[0].held), lambda _: "shared")'
    assert code == f"import copyreg; {rule}; AveragedModel(model)"
    assert type(result_of(code, model=model, AveragedModel=AveragedModel)) is AveragedModel


def test_an_own_class_is_told_as_its_own_deepcopy(tmp_path: Path) -> None:
    """There the line can be changed."""
    own = "class EMA:\n    def __init__(self, model):\n        self.model = copy.deepcopy(model)"
    (one,) = found(net(threading.Lock()), tmp_path, own, "ema = EMA(net)")

    assert (one.fix or "").endswith("copy.deepcopy(model, {id(model[0].held): model[0].held})")


@pytest.mark.parametrize("line", ["EMAModel(model.parameters())", "EMAModel(model)"])
def test_a_job_that_averages_parameters_is_not_stopped(tmp_path: Path, line: str) -> None:
    """As diffusers' EMAModel does, which copies no module; the job starts."""
    (one,) = found(net(threading.Lock()), tmp_path, f"ema = {line}")

    assert one.severity is Severity.NOTE
    assert f"{line}, train.py:1, keeps" in (one.why or "")


def test_an_own_class_of_that_name_copies_what_it_copies(tmp_path: Path) -> None:
    own = "class EMAModel:\n    def __init__(self, model):\n        copy.deepcopy(model)"
    (one,) = found(net(threading.Lock()), tmp_path, own, "ema = EMAModel(model)")

    assert one.severity is Severity.ERROR


def test_a_job_that_copies_the_module_in_a_wrapper_is_left_alone(tmp_path: Path) -> None:
    """That the wrapper cannot be copied does not matter to it."""
    line = "ema = AveragedModel(model.module)"

    assert found(ddp(), tmp_path, line) == []
    assert found(ddp(), tmp_path, "ema = copy.deepcopy(accelerator.unwrap_model(model))") == []
    assert found(ddp(), tmp_path, "ema = AveragedModel(model)", line)
    (one,) = found(ddp(threading.Lock()), tmp_path, line)
    assert one.at.name == "module[0].held"


def test_what_a_script_beside_the_model_copies_is_known_as_well(tmp_path: Path) -> None:
    """Where the line that copies stands in no file that the model's own module imports."""
    model = ddp(threading.Lock())
    alone = copy_model(model, name="m:make", root=str(tmp_path), factory=net, sources=())
    inner = ModelCopy("train.py", 4, "AveragedModel(m.module)", "AveragedModel", of_inner=True)

    copied = copied_by(alone, inner)
    (one,) = ask("model-uncopyable", copied)
    _, _, code = (one.fix or "").partition(":  ")

    assert one.at.name == "module[0].held"
    assert type(result_of(code, model=model, AveragedModel=AveragedModel)) is AveragedModel
    whole = copy_model(ddp(), name="m:make", root=str(tmp_path), factory=net, sources=())
    assert whole.error is not None
    assert copied_by(whole, inner).error is None


def test_a_fix_that_was_taken_is_no_error_any_more(tmp_path: Path) -> None:
    model = net(threading.Lock())
    (one,) = found(model, tmp_path, "ema = copy.deepcopy(model)")
    code = (one.fix or "").partition(":  ")[2]
    (again,) = found(model, tmp_path, f"ema = {code}")

    assert (one.severity, again.severity) == (Severity.ERROR, Severity.NOTE)


@pytest.mark.parametrize(
    "make",
    [
        *(sharded, replicated, ddp, Refuses, older, in_pieces),
        lambda *held: compiled(ddp(*held)),
        lambda *held: compiled(sharded(*held)),
    ],
)
def test_what_refuses_does_not_hide_what_lies_below(
    tmp_path: Path, make: Callable[..., nn.Module]
) -> None:
    """And nothing of what torch itself keeps there is told."""
    names = {one.at.name for one in found(make(threading.Lock()), tmp_path)}

    assert [name for name in names if name and name.endswith("held")]
    assert not [name for name in names if name and "hook" in name]
    last = {one.split(".")[-1] for one in names if one}
    assert last <= {"the model itself", "[0]", "held", "_orig_mod", "_orig_mod[0]"}


@pytest.mark.parametrize("own", [False, True])
def test_what_shards_is_one_finding(tmp_path: Path, *, own: bool) -> None:
    """Neither its groups nor its streams are told, nor the views that it makes of weights."""
    (one,) = found(in_pieces(use_orig_params=own), tmp_path, "ema = copy.deepcopy(model)")

    assert (one.at.name, one.evidence["kind"]) == ("the model itself", "fsdp")
    assert (one.fix or "").startswith("Copy before the model is sharded")


@pytest.mark.parametrize(
    "make",
    [
        lambda: compiled(ddp()),
        lambda: in_pieces(use_orig_params=True),
        lambda: DistributedDataParallel(compiled(net()), process_group=group()),
    ],
)
def test_a_job_that_copies_the_module_in_any_wrapper_is_left_alone(
    tmp_path: Path, make: Callable[[], nn.Module]
) -> None:
    model = make()

    assert found(model, tmp_path, "ema = copy.deepcopy(model.module)") == []
    copy.deepcopy(model.module)
    assert found(model, tmp_path, "ema = copy.deepcopy(model)")


def test_below_what_refuses_it_is_tried_again(tmp_path: Path) -> None:
    """What fails only while it is rebuilt is found there as well."""
    told = found(nn.Sequential(sharded(), net(Odd(1))), tmp_path)
    below = found(sharded(Odd(1)), tmp_path)

    assert "[1][0].held" in {one.at.name for one in told}
    assert "[0].held" in {one.at.name for one in below}


class Keeps:
    """Is no module, and keeps one: in an attribute, in a slot, or in a list."""

    def __init__(self, one: object) -> None:
        self.one = one

    def __reduce_ex__(self, _: Any) -> Any:
        raise TypeError("cannot be written")


class KeepsInSlot(Keeps):
    __slots__ = ("one",)


@pytest.mark.parametrize("keep", [Keeps, KeepsInSlot, lambda one: Keeps([{"teacher": one}])])
def test_what_keeps_weights_is_not_shared(
    tmp_path: Path, keep: Callable[[nn.Module], object]
) -> None:
    """A copy would train with the original's; what keeps none may be shared."""
    holds = found(with_attribute("kept", lambda _: keep(net(threading.Lock()))), tmp_path)
    (none,) = found(with_attribute("kept", lambda _: Keeps(threading.Lock())), tmp_path)

    assert {one.fix.partition(":  ")[2] for one in holds if one.fix} == {
        "second = make_model(); second.load_state_dict(model.state_dict())"
    }
    assert (none.fix or "").endswith("copy.deepcopy(model, {id(model.kept): model.kept})")


@pytest.mark.parametrize("keep", [Keeps, KeepsInSlot])
def test_what_is_no_module_hides_nothing_either(
    tmp_path: Path, keep: Callable[[nn.Module], object]
) -> None:
    told = found(with_attribute("kept", lambda _: keep(net(threading.Lock()))), tmp_path)

    assert {one.at.name for one in told} == {"kept", "kept.one[0].held"}


def test_a_list_too_long_to_be_gone_through_is_no_object_of_its_own(tmp_path: Path) -> None:
    many = [threading.Lock() for _ in range(2_500)]
    (one,) = found(with_attribute("kept", lambda _: many), tmp_path)
    (late,) = found(with_attribute("kept", lambda _: [Slots(1)] * 2_400 + many[:1]), tmp_path)

    assert one.at.name == "kept[0]"
    assert late.at.name == "kept"
    for found_so_far in (one, late):
        assert "the look stopped short (2,000 of 2," in found_so_far.message


def test_where_the_look_stops_it_is_said(tmp_path: Path) -> None:
    """It goes on 64 times behind what fails only while it is rebuilt."""
    odd = [Odd(1) for _ in range(70)]
    *_, last = found(sharded(odd), tmp_path)

    assert "the look stopped short" in last.message


def test_many_locks_are_one_finding(tmp_path: Path) -> None:
    """In under a second, as `tests/benchmarks/test_copies.py` measures."""
    (one,) = found(locks(), tmp_path)

    assert len(one.also) == 299


def test_the_lock_of_a_partial_is_shared_where_it_can_be_written(tmp_path: Path) -> None:
    """A path through what a partial holds is Python too."""
    model = with_attribute("call", lambda _: functools.partial(print, threading.Lock()))
    (one,) = found(model, tmp_path)
    code = (one.fix or "").partition(":  ")[2]

    assert same_weights(result_of(code, model=model, make_model=net, net=net), model)
