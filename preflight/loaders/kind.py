"""The row of loaders."""

from __future__ import annotations

from preflight.kinds.kind import Kind
from preflight.loaders.facts import Loaded, Sent
from preflight.pipelines.facts import Reads
from preflight.targets.targets import Loader
from preflight.users_code.facts import GivesBatches, MadeOnCpu, Unbuilt

LOADER = Kind(
    name="loader",
    noun="loader",
    word="loader",
    part="loader",
    target=Loader,
    facts={Sent: "loader", Loaded: "loader", Reads: "loader"},
    may_give=(Unbuilt, MadeOnCpu, GivesBatches),
    reader="preflight.built.read:look",
    gather="preflight.built.gather:BuiltTargets",
    live="preflight.built.live:look",
    runs_code=True,
    counts=lambda facts: {"worker": facts.num_workers} if isinstance(facts, Sent) else {},
)

KINDS = (LOADER,)
