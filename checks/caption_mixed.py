"""Captions under several suffixes, of which a trainer reads one.

What it finds
    Where no extension is named, captions of some images that end in `.txt` and of others in
    `.caption`, so that under no one suffix all of them are found; an error from a tenth of the
    captions on, else a warning. Images that have both are no finding. In folders also `.TXT`,
    which is another suffix than `.txt` on Linux, and not on Windows and macOS; webdataset reads
    suffixes in small letters.

Why it matters
    sd-scripts, SimpleTuner, OneTrainer and others read one extension. The images whose captions
    have another are left out, or trained with an empty caption; `to_tuple("jpg", "txt")` raises, or
    drops the sample.

What to do
    Rename the captions to one suffix. Where the job reads both, say so with `[[ignore]]`; where it
    reads one, `caption_extension` in preflight.toml names it.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import Foreign, check
from preflight.facts import FolderFacts, ShardFacts
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import counted, shown

# What part of the captions is an error where it is not read.
_SHARE = 0.1


def _is_named(facts: ShardFacts | FolderFacts, _job: Job) -> str | None:
    pairing = facts.pairing
    if pairing is None or not pairing.suffixes:
        return Foreign("there is no caption of plain text")
    if any("/" in one for one in pairing.looks_for):
        return "a table may caption the same images"
    if isinstance(facts, ShardFacts) and facts.taken_by:
        return Foreign(f"{facts.taken_by} says which captions it reads: see sample-unpaired")
    if len(pairing.looks_for) != 1:
        return None
    return Foreign("the settings name the extension of captions")


@check(
    over=(ShardFacts, FolderFacts),
    title="captions under several suffixes, of which a trainer reads one",
    many="places hold captions under several suffixes",
    severity=Severity.ERROR,
    skip=_is_named,
)
def caption_mixed(facts: ShardFacts | FolderFacts, _job: Job) -> Iterator[Finding]:
    """Say how many captions each suffix has, where none has all of them."""
    pairing, in_shard = facts.pairing, isinstance(facts, ShardFacts)
    if pairing is None or not pairing.suffixes:
        return
    small = [one for one in pairing.suffixes if one.suffix == one.suffix.lower()]
    best = small[0] if small else pairing.suffixes[0]
    missed = pairing.whole - best.samples
    listed = " and ".join(f"{one.samples:,} .{shown(one.suffix)}" for one in pairing.suffixes)
    if missed <= 0 and small:
        return
    if missed > 0:
        severity = Severity.ERROR if missed >= _SHARE * pairing.whole else Severity.WARNING
        message = (
            f"has captions of {len(pairing.suffixes)} suffixes ({listed}): a trainer that reads "
            f".{shown(best.suffix)} finds none for {missed:,} of {counted(pairing.whole, 'image')}"
        )
    else:
        severity = Severity.WARNING
        message = (
            f"has captions that all end in .{shown(best.suffix)}, which is another suffix than "
            f".{shown(best.suffix.lower())} on Linux"
        )
    goal = best.suffix.lower()
    others = [one.suffix for one in pairing.suffixes if one.suffix != goal]
    yield caption_mixed.found(
        message,
        at=Location(file=facts.file),
        severity=severity,
        why="webdataset's to_tuple takes one of them: it raises for the others, or drops them."
        if in_shard
        else "Images without a caption are left out, or trained with an empty one.",
        fix=f"Rename .{shown(others[0])} to .{shown(goal)}; or name the one that the job reads: "
        f'caption_extension = "{shown(best.suffix)}" in preflight.toml.',
        evidence={"missed": max(0, missed), "of": pairing.whole, "reads": best.suffix},
        about="suffixes",
    )
