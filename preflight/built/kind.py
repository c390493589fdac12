"""The row of what the user's code makes, where nobody said whether it is a loader or a model."""

from __future__ import annotations

from preflight.kinds.kind import Kind
from preflight.loaders.facts import Loaded, Sent
from preflight.models.facts import Copied
from preflight.pipelines.facts import Reads
from preflight.targets.targets import Built
from preflight.users_code.facts import GivesBatches, GroupStoodIn, MadeOnCpu, Unbuilt

BUILT = Kind(
    name="built",
    noun="loader or model",
    word="built",
    target=Built,
    facts={
        Unbuilt: "loader or model to make",
        MadeOnCpu: "loader or model made on the CPU",
        GroupStoodIn: "loader or model made with a stand-in for its process group",
        GivesBatches: "source of batches to draw from",
    },
    sums_up={
        MadeOnCpu: lambda found: found[0].in_words() if found else None,
        GroupStoodIn: lambda found: found[0].in_words() if found else None,
        GivesBatches: lambda found: found[0].what if found else None,
    },
    may_give=(Sent, Loaded, Reads, Copied),
    of_job=False,
    reader="preflight.built.read:look",
    gather="preflight.built.gather:BuiltTargets",
    runs_code=True,
)

KINDS = (BUILT,)
