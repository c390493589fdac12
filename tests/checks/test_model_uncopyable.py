"""model-uncopyable names each object once, with the copy that it stops."""

from __future__ import annotations

from dataclasses import replace

import pytest

from preflight.findings.finding import Location, Severity
from preflight.models.facts import Copied, Remedy, Uncopyable
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
    remedy=Remedy(
        shared=("blocks[0].attn.group",),
        types=("blocks[0].attn.group",),
        again="make_model()",
        is_enough=True,
        is_enough_inside=True,
    ),
)
GROUP_OF = "model.blocks[0].attn.group"


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
    assert (one.fix or "").endswith(f":  copy.deepcopy(model, {{id({GROUP_OF}): {GROUP_OF}}})")


def test_what_copies_by_itself_is_told_what_works_before_it() -> None:
    copier = "timm.utils.ModelEmaV3"
    (one,) = ask("model-uncopyable", replace(COPIED, copier=copier))

    assert (one.fix or "").endswith(
        f':  import copyreg; copyreg.pickle(type({GROUP_OF}), lambda _: "shared"); {copier}(model)'
    )


def test_where_nothing_can_be_shared_a_second_model_is_built() -> None:
    (one,) = ask("model-uncopyable", replace(COPIED, remedy=Remedy(again="make_model()")))
    (live,) = ask("model-uncopyable", replace(COPIED, remedy=Remedy()))

    load = "second.load_state_dict(model.state_dict())"
    assert (one.fix or "").endswith(f":  second = make_model(); {load}")
    assert (live.fix or "").endswith("load the state_dict() of this one into it.")


def test_where_only_parameters_are_averaged_it_is_noted() -> None:
    """`EMAModel` of diffusers copies no model, so nothing stops."""
    call = "EMAModel(unet.parameters()), train.py:9"
    only = replace(COPIED, copied_at=None, copied_by=None, averages_parameters=call)
    (one,) = ask("model-uncopyable", only)

    assert one.severity is Severity.NOTE
    assert (one.why or "").startswith(f"{call}, keeps an average of the parameters only")


def test_a_copy_that_is_given_a_memo_is_noted() -> None:
    """It may well share what is in the way."""
    (one,) = ask("model-uncopyable", replace(COPIED, copied_with_memo=True))

    assert one.severity is Severity.NOTE
    assert "with a memo, which is not tried here" in (one.why or "")


def test_what_one_line_keeps_many_of_is_one_finding_with_places() -> None:
    paths = tuple(f"[{number}].lock" for number in range(300))
    locks = replace(GROUP, kind="other", type="_thread.lock", paths=paths, count=300)
    (one,) = ask("model-uncopyable", replace(COPIED, objects=(locks,)))

    assert one.message.startswith("is one of 300 that are each an object of type _thread.lock")
    assert len(one.also) == 299


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
