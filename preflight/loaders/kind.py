"""The row of loaders."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.findings.finding import Location, Severity
from preflight.kinds.kind import Kind
from preflight.kinds.same import Same, listed
from preflight.loaders.facts import Loaded, Sent
from preflight.pipelines.facts import Reads
from preflight.targets.targets import Loader
from preflight.users_code.facts import GivesBatches, GroupStoodIn, MadeOnCpu, Unbuilt


def _lengths(facts: Sent, _root: str) -> Iterator[Same]:
    """Give how long an epoch is, of a loader that knows."""
    at, epoch = facts.defined, facts.epoch
    if epoch is not None:
        yield Same(
            what="batches of an epoch",
            value=f"{epoch.batches:,} batches of {epoch.samples:,} samples",
            at=Location(file=at.file, line=at.line, name=None if at.file else facts.name),
            severity=Severity.ERROR,
        )


def _lists(facts: Reads, _root: str) -> Iterator[Same]:
    """Give which shards or files it lists."""
    names = facts.shards or facts.files
    if names:
        value = listed(names, "shard" if facts.shards else "file")
        yield Same(what=f"what {facts.name} lists", value=value)


LOADER = Kind(
    name="loader",
    noun="loader",
    word="loader",
    part="loader",
    target=Loader,
    facts={Sent: "loader", Loaded: "loader", Reads: "loader"},
    may_give=(Unbuilt, MadeOnCpu, GroupStoodIn, GivesBatches),
    reader="preflight.built.read:look",
    gather="preflight.built.gather:BuiltTargets",
    live="preflight.built.live:look",
    runs_code=True,
    alike={Sent: _lengths, Reads: _lists},
    counts=lambda facts: {"worker": facts.num_workers} if isinstance(facts, Sent) else {},
)

KINDS = (LOADER,)
