"""A sample, or a file of it, that stands in its shard more than once.

What it finds
    A name that comes again in one sample, also in other letters (`dog.jpg` and `dog.JPG`), and a
    sample that comes again elsewhere in the shard. Whether two shards hold the same sample is not
    looked at.

Why it matters
    webdataset reads suffixes in small letters, and raises ValueError (duplicate file name in tar
    file) where one comes again in a sample. A sample that stands in two places is trained twice in
    each epoch; often `tar -r` has added a newer version behind the old one.

What to do
    Pack the shard again with each name once.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import ShardFacts
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.names import counted, first_of


@check(
    over=ShardFacts,
    title="shard that holds a sample, or a file of it, twice",
    many="shards hold a sample, or a file of it, twice",
    severity=Severity.ERROR,
)
def shard_duplicate(facts: ShardFacts, _job: Job) -> Iterator[Finding]:
    """Tell names that come again in a sample as one, and samples that come again as one."""
    told = {one.kind: one for one in facts.oddities}
    if "twice" in told:
        one = told["twice"]
        yield shard_duplicate.found(
            f"holds {counted(one.count, 'file')} whose sample has that name already: "
            f"{first_of(one.names, one.count)}",
            at=Location(file=facts.file),
            why="webdataset raises ValueError (duplicate file name in tar file) at the first; with "
            "a handler that goes on, it leaves the second file out.",
            fix="Pack it again with each name once.",
            evidence={"kind": "twice", "files": one.count},
            about="twice",
        )
    if "again" in told:
        one = told["again"]
        yield shard_duplicate.found(
            f"holds {counted(one.count, 'sample')} in more than one place: "
            f"{first_of(one.names, one.count)}",
            at=Location(file=facts.file),
            severity=Severity.WARNING,
            why="Each is trained more than once in every epoch, perhaps with an old version of it.",
            fix="Pack it again with each sample once.",
            evidence={"kind": "again", "samples": one.count},
            about="again",
        )
