"""A caption without a text.

What it finds
    Texts with captions, in shards and beside the images of folders, of 0 bytes or of nothing but
    white space: an error where they are half of the captions or more, else a warning. Texts that
    are mostly numbers are labels (boxes of a detector), of which an empty one is legal. With
    `--depth index` no caption is read; tables (metadata.jsonl, metadata.csv) are sample-unpaired's.

Why it matters
    A captioner that was killed between open and write, or a full disk, leaves empty files. Trainers
    train the image without a text; sd-scripts stops at a file of 0 bytes (AssertionError: caption
    file is empty). A few that are empty on purpose, for classifier-free guidance, do no harm in
    trainers that take them, which mostly have an option for it.

What to do
    Write the captions, or leave the images out. Where they are meant to be empty, say so with
    `[[ignore]]` in preflight.toml.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import Foreign, check
from preflight.facts import CaptionLengths, FolderFacts, ShardFacts
from preflight.finding import Finding, Severity
from preflight.job import Job

from ._captions import examples, not_read, of_many, place_of


def _is_nothing_to_ask(facts: ShardFacts | FolderFacts, job: Job) -> str | None:
    if _are_labels(facts.captions):
        return Foreign("the texts are numbers, and no captions")
    if isinstance(facts, ShardFacts) and facts.texts != "taken":
        return Foreign(f"{facts.taken_by} takes no captions")
    return not_read(facts, job)


def _are_labels(captions: CaptionLengths) -> bool:
    empty = sum(one.captions for one in captions.flaws if one.kind == "empty")
    return 2 * captions.numbers > captions.captions - empty


@check(
    over=(ShardFacts, FolderFacts),
    title="caption without a text",
    many="places hold captions without a text",
    severity=Severity.ERROR,
    skip=_is_nothing_to_ask,
)
def caption_empty(facts: ShardFacts | FolderFacts, _job: Job) -> Iterator[Finding]:
    """Tell the empty captions of one place as one."""
    for flaw in facts.captions.flaws:
        if flaw.kind != "empty":
            continue
        alone, mostly = flaw.captions == 1, 2 * flaw.captions >= facts.captions.captions
        share = f"of {facts.captions.captions:,} captions here" if alone else ""
        message = f"has {of_many(flaw, facts)} without a text: {examples(flaw, facts)}"
        in_shard = isinstance(facts, ShardFacts)
        stops = "" if in_shard else ", or sd-scripts stops where the file has 0 bytes"
        whose = "It is" if alone else "They are"
        chosen_by = facts.chosen_by if isinstance(facts, ShardFacts) else ""
        if chosen_by:
            stops = f", unless {chosen_by} takes {'it' if alone else 'them'} out (a guess)"
        yield caption_empty.found(
            f"has no text (1 {share})" if alone else message,
            at=place_of(flaw, facts),
            severity=Severity.ERROR if mostly and not chosen_by else Severity.WARNING,
            why=f"{whose} trained without a text{stops}. A few may be so on purpose, for "
            "classifier-free guidance.",
            fix=f"Write {'it' if alone else 'them'}, or leave the "
            f"{'image' if alone else 'images'} out.",
            evidence={"captions": flaw.captions, "of": facts.captions.captions},
            about="empty",
        )
