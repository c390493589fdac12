"""A sample whose files do not follow each other in the shard.

What it finds
    Files of one key (by webdataset's rule: the path up to the first dot of the base name) between
    which files of another key stand. Where macOS has put a file between them, shard-foreign says
    so; where all of the sample stands there twice, shard-duplicate does.

Why it matters
    webdataset reads on and never back: each time the key changes, it begins another sample. A
    sample that stands in two places becomes two halves; `to_tuple` raises on each of them, or
    drops them without a word where a handler goes on.

What to do
    Pack the shard again with the files of each sample side by side: `tar --sort=name`, or
    webdataset's TarWriter, which writes a sample at a time.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import ShardFacts
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import counted, first_of


@check(
    over=ShardFacts,
    title="sample whose files stand apart in its shard",
    many="shards hold samples whose files stand apart",
    severity=Severity.ERROR,
)
def shard_split_sample(facts: ShardFacts, _job: Job) -> Iterator[Finding]:
    """Tell all samples of a shard that stand apart as one."""
    for one in facts.oddities:
        if one.kind != "split":
            continue
        yield shard_split_sample.found(
            f"holds {counted(one.count, 'sample')} whose files do not follow each other: "
            f"{first_of(one.names, one.count)}",
            at=Location(file=facts.file),
            why="webdataset makes several samples of each, none of them whole: to_tuple raises, or "
            "a handler drops them all without a word.",
            fix="Pack it again with the files of a sample side by side (tar --sort=name).",
            evidence={"split": one.count, "samples": facts.samples},
        )
