"""A sound that ends before its header says.

What it finds
    WAV files that hold fewer frames than their headers count, as a copy that was cut off does.

Why it matters
    Python's wave module gives what is there without a word, and the job trains on half a sentence
    with the whole sentence as its text.

What to do
    Copy it again from where it came from, or leave it out, with its text.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.sounds.facts import SoundFacts


@check(
    over=SoundFacts,
    title="sound that ends early",
    many="sounds end early",
    severity=Severity.ERROR,
)
def sound_cut(facts: SoundFacts, _job: Job) -> Iterator[Finding]:
    """Compare what is there with what the header says."""
    if facts.there < facts.frames:
        yield sound_cut.found(
            f"ends after {facts.there:,} of its {facts.frames:,} frames",
            at=Location(file=facts.file),
            why="It is read without a word, and its text says more than is to be heard.",
            fix="Copy it again from where it came from, or leave it out, with its text.",
            evidence={"frames": facts.frames, "there": facts.there},
        )
