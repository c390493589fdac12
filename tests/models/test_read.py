"""What stops a model's copy is said with the line that keeps it and the line that copies."""

# ruff: noqa: D101  the classes stand for a user's

from __future__ import annotations

import copy
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import distributed, nn

from preflight.models.facts import Copied
from preflight.models.read import copy_model
from preflight.objects.copying.refusing import is_module

HERE = str(Path(__file__).parent)


class Attention(nn.Module):
    def __init__(self, held: object) -> None:
        super().__init__()
        self.q = nn.Linear(4, 4, bias=False)
        self.held = held


def make_model(held: object = None) -> nn.Module:
    return nn.Sequential(Attention(held), Attention(held))


def look(model: object, *, sources: tuple[str, ...] = (), root: str = HERE) -> Copied:
    return copy_model(model, name="train:model", root=root, factory=make_model, sources=sources)


def test_a_healthy_model_is_copied() -> None:
    model = make_model()
    model[1].q = model[0].q
    found = look(model)

    assert (found.error, found.objects, found.cut) == (None, (), ())
    assert (found.bytes, found.parameters) == (64, 16)
    assert found.defined.qualname == "make_model"


@pytest.mark.filterwarnings("ignore:Lazy modules are a new feature")
def test_a_lazy_model_has_no_number_of_parameters_yet() -> None:
    """Its shapes are known after the first batch."""
    assert look(nn.Sequential(nn.LazyLinear(3), nn.Linear(2, 1))).parameters == 3


def test_what_cannot_be_copied_is_placed_at_the_line_that_keeps_it() -> None:
    found = look(make_model(threading.Lock()))

    assert found.error == "TypeError: cannot pickle '_thread.lock' object"
    (one,) = found.objects
    assert (one.type, one.kind, one.paths) == ("_thread.lock", "other", ("[0].held", "[1].held"))
    assert (one.defined.file, one.defined.line_text) == ("test_read.py", "self.held = held")
    assert 0 < found.stopped_after < found.bytes


class OfAnotherSelf(nn.Module):
    def __init__(this) -> None:  # noqa: N805
        super().__init__()
        this.lock = threading.Lock()


def test_the_line_that_keeps_it_is_known_whatever_the_object_calls_itself() -> None:
    (flaw,) = look(OfAnotherSelf()).objects

    assert flaw.defined.line_text == "this.lock = threading.Lock()"


def test_a_process_group_is_told_by_what_it_is(tmp_path: Path) -> None:
    """Its type's name has changed from torch to torch."""
    store = distributed.FileStore(str(tmp_path / "store"), 1)
    distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        (one,) = look(make_model(distributed.group.WORLD)).objects
    finally:
        distributed.destroy_process_group()

    assert one.kind == "process-group"


class FSDPModule(nn.Module):
    def __deepcopy__(self, memo: Any) -> Any:
        raise AssertionError("FSDP does not support deepcopy. Please use state dict")


@pytest.mark.parametrize(
    ("held", "kind"),
    [(lambda: torch.ones(1, requires_grad=True) * 2, "non-leaf"), (FSDPModule, "fsdp")],
    ids=["a computed tensor", "a sharded module"],
)
def test_other_kinds_are_told_by_what_they_are(held: Any, kind: str) -> None:
    assert [one.kind for one in look(make_model(held())).objects] == [kind]


class Raises(torch.Tensor):
    """A tensor of whose class nothing may be asked."""

    @classmethod
    def __torch_function__(cls, *_: Any, **__: Any) -> Any:
        raise RuntimeError("not this one")


def test_a_tensor_that_answers_nothing_is_told_all_the_same() -> None:
    model = make_model()
    model[0].__dict__["mask"] = torch.Tensor._make_subclass(Raises, torch.ones(2))
    parameter = torch.Tensor._make_subclass(Raises, torch.ones(2))
    model[1]._parameters["odd"] = parameter  # type: ignore[assignment]
    found = look(model)

    assert [(one.paths, one.kind, one.error) for one in found.objects] == [
        (("[0].mask",), "other", "RuntimeError: not this one"),
        (("[1].odd",), "other", "RuntimeError: not this one"),
    ]
    assert found.parameters == 2 * 16 + 2


def test_a_module_is_a_model_and_nothing_else_is() -> None:

    class Pretender:
        @property
        def __class__(self) -> Any:
            return nn.Module

    assert [is_module(one) for one in (nn.ReLU(), nn.ReLU, Pretender(), None, {})] == [
        True, False, False, False, False,
    ]  # fmt: skip


COPIES = {
    "ema = copy.deepcopy(model)": "copy.deepcopy(model)",
    "teacher = deepcopy(student)": "deepcopy(student)",
    "ema = AveragedModel(net)": "AveragedModel(net)",
    "ema = timm.utils.ModelEmaV3(net, decay=0.9)": "timm.utils.ModelEmaV3(net, decay=0.9)",
    "ema = ModelEMA(net)": "ModelEMA(net)",
    "from timm.utils import ModelEmaV3 as Ema; ema = Ema(net, 0.9)": "Ema(net, 0.9)",
    "from copy import deepcopy as dc; ema = dc(model)": "dc(model)",
    "a = deepcopy(model); ema = EMA(net)": "EMA(net)",
    "self.ema = deepcopy(self.model.module)": "deepcopy(self.model.module)",
}


@pytest.mark.parametrize("line", COPIES)
def test_the_line_that_copies_is_found(tmp_path: Path, line: str) -> None:
    """A class made for it goes before a bare deepcopy."""
    source = tmp_path / "train" / "run.py"
    source.parent.mkdir()
    source.write_text(f"# coding: latin-1\n# \xe9\n{line}\n", encoding="latin-1")
    found = look(make_model(), sources=(str(source),), root=str(tmp_path))

    assert found.copied_by == COPIES[line]
    assert found.copied_at is not None
    assert (found.copied_at.file, found.copied_at.line) == ("train/run.py", 3)


NO_COPIES = {
    "a state": "state = copy.deepcopy(model.state_dict())",
    "settings": "settings = deepcopy(config)",
    "a model's settings": "settings = deepcopy(model_args)",
    "data": "batch = deepcopy(batch)",
    "diffusers": "ema = EMAModel(net.parameters())",
    "nothing": "ema = EMA()",
    "what another function gives": "ema = AveragedModel(make_teacher())",
    "another under that name": "from copy import deepcopy as dc; ema = dc(batch)",
    "no Python": "def broken(:",
    "zeros": "\x00",
}


@pytest.mark.parametrize("line", NO_COPIES.values(), ids=NO_COPIES.keys())
def test_a_line_that_copies_no_model_is_not_taken_for_one(tmp_path: Path, line: str) -> None:
    source = tmp_path / "run.py"
    source.write_text(line + "\n", encoding="utf-8")
    found = look(make_model(), sources=(str(source), str(tmp_path / "gone.py")), root=str(tmp_path))

    assert (found.copied_at, found.copied_by) == (None, None)


def test_a_model_is_the_same_after_the_look() -> None:
    model = make_model(threading.Lock())
    before = copy.deepcopy(model.state_dict())
    places = [p.data_ptr() for p in model.parameters()]
    look(model)

    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())
    assert [p.data_ptr() for p in model.parameters()] == places
    model[0].q(torch.ones(4)).sum().backward()
    assert model[0].q.weight.grad is not None
