"""An image that is smaller than the job has them.

What it finds
    Images, in shards and folders, with a side of fewer pixels than a data set says in
    `minimum_size`, or else in `resolution`. Where several data sets say it, the least counts. Sides
    are as they are stored. Of an image that nobody could size, nothing is said.

Why it matters
    Trainers leave such images out without a word, or blow them up, and the job trains on the blur.

What to do
    Take larger ones, or leave them out with their captions.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import FolderFacts, ShardFacts
from preflight.finding import Finding, Location, Severity
from preflight.job import Job


def _least(job: Job) -> int:
    return min((one.minimum_size or one.resolution or 0 for one in job.data), default=0)


def _not_asked(_facts: ShardFacts | FolderFacts, job: Job) -> str | None:
    return None if _least(job) else "a data set says neither minimum_size nor resolution"


@check(
    over=(ShardFacts, FolderFacts),
    title="images smaller than the job has them",
    many="shards or folders hold images that are smaller than the job has them",
    severity=Severity.WARNING,
    skip=_not_asked,
)
def image_tiny(facts: ShardFacts | FolderFacts, job: Job) -> Iterator[Finding]:
    """Count the images of a shard or folder with too short a side."""
    least = _least(job)
    tiny = [one for one in facts.pictures.sizes if min(one.width, one.height) < least]
    if tiny:
        count = sum(one.images for one in tiny)
        smallest = f"{tiny[0].width} x {tiny[0].height} ({tiny[0].names[0]})"
        yield image_tiny.found(
            f"holds {count:,} of {facts.pictures.images:,} images with a side of fewer than "
            f"{least:,} pixels, down to {smallest}",
            at=Location(file=facts.file),
            why="They are left out without a word, or blown up.",
            fix="Take larger ones, or leave them out with their captions.",
            evidence={"images": count, "least": least},
        )
