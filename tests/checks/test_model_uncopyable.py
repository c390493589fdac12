"""model-uncopyable names each object once, with the copy that it stops."""

from __future__ import annotations

from dataclasses import replace

import pytest

from preflight.findings.finding import Location, Severity
from preflight.models.facts import Copied, Uncopyable
from preflight.objects.facts import Definition
from preflight.testing import ask

GROUP = Uncopyable(
    type="torch.distributed.distributed_c10d.ProcessGroup",
    error="TypeError: cannot pickle 'torch._C._distributed_c10d.ProcessGroup' object",
    paths=("blocks[0].attn.group", "blocks[1].attn.group"),
    kind="process-group",
    defined=Definition(file="model.py", line=57, line_text="self.group = group"),
)
COPIED = Copied(
    name="train:make_model",
    defined=Definition(file="train.py", line=9, qualname="make_model"),
    error=GROUP.error,
    objects=(GROUP,),
    bytes=2_400_000_000,
    stopped_after=1_200_000_000,
    copied_at=Definition(file="train.py", line=52),
    copied_by="EMA(model)",
)


def test_a_model_that_can_be_copied_is_left_alone() -> None:
    assert ask("model-uncopyable", replace(COPIED, error=None, objects=())) == []


def test_one_group_in_two_layers_is_one_finding() -> None:
    (one,) = ask("model-uncopyable", COPIED)

    assert one.severity is Severity.ERROR
    assert one.at == Location(file="model.py", line=57, name="blocks[0].attn.group")
    assert one.also == (Location(file="model.py", line=57, name="blocks[1].attn.group"),)
    assert one.message == (
        "is a process group, the same one under 2 paths, which copy.deepcopy cannot copy"
    )
    assert one.why == (
        "EMA(model), train.py:52, copies the model. The copy stops after 1.2 GB of 2.4 GB: cannot "
        "pickle 'torch._C._distributed_c10d.ProcessGroup' object"
    )
    assert "copy.deepcopy(model, {id(group): group})" in (one.fix or "")


def test_where_no_copy_was_seen_it_is_said_who_makes_them() -> None:
    (one,) = ask("model-uncopyable", replace(COPIED, copied_at=None, copied_by=None))

    assert "AveragedModel" in (one.why or "")


@pytest.mark.parametrize(
    ("kind", "words"),
    [("non-leaf", "detach"), ("fsdp", "sharded"), ("other", "share it"), ("new", "share it")],
    ids=["a computed tensor", "a sharded module", "anything else", "a kind nobody knows"],
)
def test_each_kind_has_its_own_fix(kind: str, words: str) -> None:
    odd = replace(GROUP, kind=kind, type="app.Engine", paths=("engine",))
    (one,) = ask("model-uncopyable", replace(COPIED, objects=(odd,)))

    assert words in (one.fix or "")
    if kind in ("other", "new"):
        assert one.message == "is an object of type app.Engine, which copy.deepcopy cannot copy"


def test_each_object_is_a_finding_of_its_own() -> None:
    lock = replace(GROUP, kind="other", paths=("lock",))
    found = ask("model-uncopyable", replace(COPIED, objects=(GROUP, lock)))

    assert len({one.fingerprint for one in found}) == 2


def test_behind_the_last_it_is_said_that_there_may_be_more() -> None:
    lock = replace(GROUP, kind="other", paths=("lock",))
    cut = ("2,000 of 3,001 items of a list", "more than 500,000 objects")
    first, last = ask("model-uncopyable", replace(COPIED, objects=(GROUP, lock), cut=cut))

    assert "more" not in first.message
    assert "cut" not in first.evidence
    assert last.message.endswith(
        "; the look stopped short (2,000 of 3,001 items of a list), so there may be more"
    )
    assert last.evidence["cut"] == "; ".join(cut)
