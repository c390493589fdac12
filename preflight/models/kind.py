"""The row of models."""

from __future__ import annotations

from preflight.kinds.kind import Kind
from preflight.models.facts import Copied
from preflight.targets.targets import Model
from preflight.users_code.facts import GroupStoodIn, MadeOnCpu, Unbuilt

MODEL = Kind(
    name="model",
    noun="model",
    word="model",
    part="model",
    target=Model,
    facts={Copied: "model"},
    may_give=(Unbuilt, MadeOnCpu, GroupStoodIn),
    reader="preflight.built.read:look",
    gather="preflight.built.gather:BuiltTargets",
    live="preflight.models.live:look",
    runs_code=True,
    counts=lambda facts: {"parameter": facts.parameters},
)

KINDS = (MODEL,)
