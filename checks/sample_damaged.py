"""A field of samples that does not decode, where most others like it do.

What it finds
    Files of shards beside the images and texts: `.json` that is no JSON, `.npy` that is no array or
    stops early, `.npz` and `.pth` that are cut, `.cls` and `.index` that are no number; also of 0
    bytes, and with a name before it (`latent.npy`). What more than half of a shard's files of this
    name are is what they are meant to be: where most do not decode, they are of a format of the
    job's own, and nothing is said. Where a live loader reads the shard, dataset-survival tells what
    becomes of these samples. Nothing is read with `--depth index`.

Why it matters
    A writer that was killed, or a full disk, leaves such files. webdataset's `decode()` raises on
    one in the middle of an epoch, or a handler drops the sample without a word.

What to do
    Write these files anew, or pack the shard again without their samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from preflight.check import Foreign, check
from preflight.facts import ShardFacts
from preflight.finding import Aside, Finding, Location, Severity
from preflight.job import Job
from preflight.pairing.rules import extension_of
from preflight.pipelines.fates import RECORDS
from preflight.values.names import counted, first_of

from ._aside import PACKED

_ARE = {
    "npy": "is no array",
    "json": "is no JSON",
    "jsn": "is no JSON",
    "npz": "is no whole archive",
    "pth": "is no whole archive",
}


class _Spoiled(NamedTuple):
    """Samples of a shard of which one field does not decode."""

    field: str
    samples: int
    of: int
    """Samples that have the field."""

    keys: tuple[str, ...]
    """Of the first few."""


def _is_told_elsewhere(facts: ShardFacts, job: Job) -> str | None:
    if job.look.depth == "index":
        return "with --depth index no field is read"
    if not any(extension_of(field) in RECORDS for one in facts.arrived for field in one.fields):
        return Foreign("there are images and texts alone")
    if facts.taken_by or facts.given_whole_by or facts.decided_by or facts.uses:
        return "dataset-survival says what its loader does with them"
    return None


@check(
    over=ShardFacts,
    title="field of a sample that does not decode",
    many="places hold fields of samples that do not decode",
    severity=Severity.ERROR,
    skip=_is_told_elsewhere,
)
def sample_damaged(facts: ShardFacts, _job: Job) -> Iterator[Finding]:
    """Tell the samples of each field together."""
    for one in _spoiled(facts):
        it, number = _ARE.get(extension_of(one.field), "is no number"), one.samples
        those = it.replace("is no", "are no") if number > 1 else it
        yield sample_damaged.found(
            f"{number:,} of {counted(one.of, f'.{one.field} file')} {those}: "
            f"{first_of([f'{key}.{one.field}' for key in one.keys], number)}",
            at=Location(file=facts.file),
            why="webdataset's decode() raises on it, or a handler drops the sample without a word "
            f"(a guess: nobody says what reads them); the other {one.of - number:,} decode.",
            fix="Write it anew, or pack the shard again without the sample.",
            aside=(Aside(file=facts.file, bytes=facts.size, stays=PACKED),),
            evidence={"field": one.field, "samples": number, "of": one.of},
            about=one.field,
        )


def _spoiled(facts: ShardFacts) -> Iterator[_Spoiled]:
    """Give the fields of which a few files do not decode."""
    for field in sorted({name for one in facts.arrived for name in one.spoiled}):
        is_caption = field in facts.undecodable  # which caption-damaged tells
        if is_caption or extension_of(field) not in RECORDS:
            continue
        having = [one for one in facts.arrived if field in one.fields and one.whole]
        spoiled = [one for one in having if field in one.spoiled]
        of, number = (sum(one.samples for one in those) for those in (having, spoiled))
        if 0 < 2 * number <= of:
            yield _Spoiled(field, number, of, tuple(key for one in spoiled for key in one.keys))
