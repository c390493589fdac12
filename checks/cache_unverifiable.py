"""A folder of cached files whose content nobody can hold against a checksum.

What it finds
    Whole files of torch that carry no checksum: archives written under
    `torch.serialization.set_crc32_options(False)`, the format from before version 1.6, and gzip
    streams too large to be unpacked here. One note a folder. `.safetensors`, `.npy` and pickles
    never have one, and are not told. With --depth index no checksum is looked at, and none is
    missed.

Why it matters
    A byte that changes on the disk, or a page of another writer, is not found in them, by this
    check or by any reader: the job trains on it. What can be seen is only whether they are of the
    right size and structure.

What to do
    Keep checksums on for what torch writes (they cost little beside the writing), or keep a list of
    checksums beside the cache.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Alike, CacheFolderFacts
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.names import counted, first_of

_WHY_NONE = {
    "torch zip": "written without checksums (set_crc32_options(False))",
    "torch legacy": "in torch's format from before 1.6",
    "gzip": "gzip streams too large to be looked into",
}


@check(
    over=CacheFolderFacts,
    title="cached files without checksums",
    many="folders hold cached files without checksums",
    severity=Severity.NOTE,
)
def cache_unverifiable(facts: CacheFolderFacts, job: Job) -> Iterator[Finding]:
    """Count the whole files without a checksum, by why they have none."""
    bare = [one for one in facts.unverified if one.what in _WHY_NONE]
    if not bare or job.look.depth == "index":
        return
    total = sum(one.count for one in bare)
    yield cache_unverifiable.found(
        f"{counted(total, 'file')} of {facts.entries:,} {'has' if total == 1 else 'have'} no "
        f"checksum: {'; '.join(map(_said, bare))}",
        at=Location(file=facts.file),
        why="A wrong byte in them is found by nobody; their size and structure are as they should.",
        fix="Leave checksums on where torch writes them, or keep a list of them beside the cache.",
        evidence={"files": total, "of": facts.entries},
    )


def _said(one: Alike) -> str:
    return f"{one.count:,} {_WHY_NONE[one.what]}, such as {first_of(one.names[:1], 1)}"
