"""model-half-copied names each line whose functions use the original's weights in a copy."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from preflight.findings.finding import Location, Severity
from preflight.models.facts import Copied, UsesOriginal
from preflight.objects.facts import Definition
from preflight.testing import ask

FAST = UsesOriginal(
    paths=("blocks[0].fast", "blocks[1].fast"),
    uses="blocks[0].qkv",
    kind="method",
    count=2,
    defined=Definition(file="model.py", line=12, line_text="self.fast = compile(self.attend)"),
)
COPIED = Copied(
    name="train:make_model",
    defined=Definition(file="train.py", line=9, qualname="make_model"),
    error=None,
    originals=(FAST,),
    copied_at=Definition(file="train.py", line=52),
    copied_by="AveragedModel(model)",
)


def test_a_copy_that_follows_its_own_weights_is_left_alone() -> None:
    assert ask("model-half-copied", replace(COPIED, originals=())) == []


def test_where_only_parameters_are_averaged_nothing_is_said() -> None:
    """`EMAModel` of diffusers computes with no copy."""
    only = replace(COPIED, copied_at=None, averages_parameters="EMAModel(unet.parameters())")

    assert ask("model-half-copied", only) == []


def test_one_line_is_one_finding_with_its_places() -> None:
    (one,) = ask("model-half-copied", COPIED)

    assert one.severity is Severity.ERROR
    assert one.at == Location(file="model.py", line=12, name="blocks[0].fast")
    assert one.also == (Location(file="model.py", line=12, name="blocks[1].fast"),)
    assert one.message == (
        "is made of a bound method, and every copy shares it: there, too, it uses blocks[0].qkv of "
        "the original; one of 2 by this line"
    )
    assert one.why == (
        "AveragedModel(model), train.py:52, copies the model. copy.deepcopy copies no function, so "
        "the copy computes with the original's weights"
    )


def test_what_forward_does_not_call_is_a_warning() -> None:
    (one,) = ask("model-half-copied", replace(COPIED, originals=(replace(FAST, is_called=False),)))

    assert one.severity is Severity.WARNING
    assert (one.why or "").endswith("wherever this is called, which forward does not do by name")


def test_where_no_line_copies_the_model_it_is_a_note() -> None:
    (one,) = ask("model-half-copied", replace(COPIED, copied_at=None, copied_by=None))

    assert one.severity is Severity.NOTE
    assert (one.why or "").startswith("No line was seen that copies this model")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("function", "Make it a method"),
        ("method", "Put the decorator on the method"),
        ("hook", "first argument"),
        ("reference", "when that is called"),
        ("new", "Make it a method"),
    ],
)
def test_each_kind_has_its_own_fix(kind: str, words: str) -> None:
    (one,) = ask("model-half-copied", replace(COPIED, originals=(replace(FAST, kind=kind),)))

    assert words in (one.fix or "")


def test_each_line_is_a_finding_of_its_own() -> None:
    hook = replace(FAST, kind="hook", paths=("_forward_hooks[0]",), defined=Definition())
    found = ask("model-half-copied", replace(COPIED, originals=(FAST, hook)))

    assert len({one.fingerprint for one in found}) == 2


def test_what_each_fix_says_makes_a_copy_that_follows_its_own_weights() -> None:
    """The advice is done as it stands, and real copies compute."""
    torch: Any = pytest.importorskip("torch")

    class Mended(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 4)
            self.inner = torch.nn.Identity()
            self.inner.register_forward_hook(self.hook)
            self.layer.register_forward_hook(lambda module, _x, y: y * module.weight.sum())

        def hook(self, _module: Any, _x: Any, y: Any) -> Any:
            return self.layer(y)

        @torch.no_grad()  # type: ignore[misc]
        def decorated(self, x: Any) -> Any:
            return self.inner(x) + self.parts(self, x)

        @staticmethod
        def parts(net: Any, x: Any) -> Any:
            return net.layer(x)

        def forward(self, x: Any) -> Any:
            return self.decorated(x)

    model, x = Mended(), torch.ones(2, 4)
    copied = copy.deepcopy(model)
    before = copied(x)
    torch.nn.init.ones_(model.layer.weight)

    assert torch.equal(copied(x), before)
    assert not torch.equal(model(x), before)
