"""A sample, or a file of it, that stands in its data set more than once.

What it finds
    A name that comes again in one sample, also in other letters (`dog.jpg` and `dog.JPG`); a sample
    that comes again elsewhere in the shard; and keys of one shard that stand in another of the same
    data set, too. Where two samples of one key have the same number of bytes, they are most likely
    the same. Where every shard numbers its samples from the start, that is a note.

Why it matters
    webdataset reads suffixes in small letters, and raises ValueError (duplicate file name in tar
    file) where one comes again in a sample. A sample that stands in two places is trained twice in
    each epoch; often `tar -r` has added a newer version behind the old one, or a shard was copied
    under a second name. A cache that goes by keys takes one sample for the other.

What to do
    Pack the shard again with each name once, and leave out what stands in another shard.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from preflight.check import check
from preflight.facts import DatasetFacts, ShardFacts, Shared
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import counted, first_of, shown


@check(
    over=(ShardFacts, DatasetFacts),
    title="sample, or a file of it, that is there twice",
    many="places where a sample, or a file of it, is there twice",
    severity=Severity.ERROR,
)
def shard_duplicate(facts: ShardFacts | DatasetFacts, _job: Job) -> Iterator[Finding]:
    """Tell what comes again in a shard, and what two shards have in common."""
    if isinstance(facts, ShardFacts):
        yield from _in_one(facts)
    elif _are_numbered_anew(facts.shared):
        yield _numbered_anew(facts)
    else:
        yield from (_in_two(one) for one in facts.shared)


_RAISES = (
    "webdataset raises ValueError (duplicate file name in tar file) at the first; with a handler "
    "that goes on, it leaves the second file out."
)
_TRAINED = "Each is trained more than once in every epoch, perhaps with an old version of it."

_SAID = (
    ("twice", "file", "whose sample has that name already", Severity.ERROR, _RAISES, "name"),
    ("again", "sample", "in more than one place", Severity.WARNING, _TRAINED, "sample"),
)
"""The kind; what is counted; what is wrong with it; how grave; why; what is to be there once."""


def _in_one(facts: ShardFacts) -> Iterator[Finding]:
    told = {one.kind: one for one in facts.oddities}
    for kind, noun, where, severity, why, once in _SAID:
        if kind in told:
            one = told[kind]
            yield shard_duplicate.found(
                f"holds {counted(one.count, noun)} {where}: {first_of(one.names, one.count)}",
                at=Location(file=facts.file),
                severity=severity,
                why=why,
                fix=f"Pack it again with each {once} once.",
                evidence={"kind": kind, f"{noun}s": one.count},
                about=kind,
            )


# --- in two shards

# Shards of fewer samples may share all of their keys by chance or on purpose.
_FEWEST = 10


def _are_numbered_anew(shared: Sequence[Shared]) -> bool:
    """Whether the keys are counted from the start in every shard, and name other samples."""
    return bool(shared) and all(
        one.of >= _FEWEST and one.samples >= 0.9 * one.of and one.alike <= 0.1 * one.samples
        for one in shared
    )


def _numbered_anew(facts: DatasetFacts) -> Finding:
    first = facts.shared[0]
    such = f", such as {shown(first.keys[0])}" if first.keys else ""
    return shard_duplicate.found(
        f"has shards that use the same keys for other samples{such}",
        at=facts.place,
        also=tuple(Location(file=one.file) for one in facts.shared[:5]),
        severity=Severity.NOTE,
        why="webdataset reads them all; a cache that goes by keys takes one sample for another.",
        fix="Put the shard's number into the keys when it is packed next.",
        evidence={"kind": "numbered", "shards": len(facts.shared) + 1},
        about="numbered",
    )


def _in_two(one: Shared) -> Finding:
    keys = f": {first_of(one.keys, one.samples)}" if one.keys else ""
    alike = (
        ", each of the same size there"
        if one.alike == one.samples
        else f", {one.alike:,} of them of the same size there"
        if one.alike
        else ", each of another size there"
    )
    return shard_duplicate.found(
        f"holds {counted(one.samples, 'sample')} of {one.of:,} whose keys stand in "
        f"{shown(one.first)}, too{alike}{keys}",
        at=Location(file=one.file),
        also=(Location(file=one.first),),
        severity=Severity.WARNING,
        why="The same sample is trained more than once in every epoch, or two samples share a key, "
        "and a cache that goes by keys takes one for the other."
        if one.alike
        else "A cache that goes by keys takes one sample for the other; or one is an old version.",
        fix="Take one of the two out: it is most likely a copy of the other under a second name."
        if one.alike == one.samples == one.of
        else "Leave them out of one of the two shards, or give them keys of their own.",
        evidence={"kind": "shared", "samples": one.samples, "alike": one.alike},
        about=f"shared with {one.first}",
    )
