"""A folder of cached files whose content nobody can hold against a checksum.

What it finds
    Whole files of torch that carry no checksum: archives written under
    `torch.serialization.set_crc32_options(False)`, and the format from before version 1.6. And
    files that are not looked at to their end: archives and gzip streams of which more than 2.5 GiB
    and ten times their own size would have to be unpacked, pickles of millions of values, and what
    is packed in another way than deflate. One note a folder. `.safetensors`, `.npy` and pickles
    never have a checksum, and are not told. With --depth index no checksum is looked at, and none
    is missed.

Why it matters
    A byte that changes on the disk, or a page of another writer, is not found in them: the job
    trains on it, or stops at it hours later. What was seen is only whether they are of the right
    size and structure.

What to do
    Keep checksums on for what torch writes (they cost little beside the writing), or keep a list of
    checksums beside the cache. What is too much to be unpacked here, `python -m zipfile -t FILE` or
    `gzip -t FILE` compares with its checksums, however long that takes.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import CacheFolderFacts
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import counted, first_of, shown

_WHY_NONE = {
    "torch zip": "written without checksums (set_crc32_options(False))",
    "torch legacy": "in torch's format from before 1.6",
}

_WHY_BARE = "A wrong byte in them is found by nobody; their size and structure are as they should."
_FIX_BARE = "Leave checksums on where torch writes them, or keep a list of them beside the cache."
_WHY_UNREAD = "A wrong byte in what was left is found when the job reads it, if at all."
_FIX_UNREAD = "Test what is packed:  python -m zipfile -t FILE, or gzip -t FILE"

# Files that are named with what was left of them.
_NAMED = 3


@check(
    over=CacheFolderFacts,
    title="cached files that are not verified whole",
    many="folders hold cached files that are not verified whole",
    severity=Severity.NOTE,
)
def cache_unverifiable(facts: CacheFolderFacts, job: Job) -> Iterator[Finding]:
    """Count the whole files without a checksum, by why they have none, and those not unpacked."""
    bare = [one for one in facts.unverified if one.what in _WHY_NONE]
    if not (bare or facts.unread) or job.look.depth == "index":
        return
    total = sum(one.count for one in bare) + facts.unread_count
    one = total == 1
    lack = f"{'has' if one else 'have'} no checksum"
    if facts.unread:
        lack = f"{'is' if one else 'are'} not verified whole"
    parts = [
        f"{one.count:,} {_WHY_NONE[one.what]}, such as {first_of(one.names[:1], 1)}" for one in bare
    ]
    parts += _unread(facts)
    yield cache_unverifiable.found(
        f"{counted(total, 'file')} of {facts.entries:,} {lack}: {'; '.join(parts)}",
        at=Location(file=facts.file),
        why=_WHY_BARE if bare else _WHY_UNREAD,
        fix=_FIX_BARE if bare else _FIX_UNREAD,
        evidence={"files": total, "of": facts.entries, "unread": facts.unread_count},
    )


def _unread(facts: CacheFolderFacts) -> Iterator[str]:
    """Name the files of which not everything was looked at, each with its sizes."""
    if facts.unread:
        told = [f"{shown(one.name)} ({one.what})" for one in facts.unread[:_NAMED]]
        more = facts.unread_count - len(told)
        told += [f"{more:,} more"] if more else []
        yield f"not looked at to the end: {', '.join(told)}"
