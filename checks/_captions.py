"""Says where captions are, and how many, for the checks of what is in them."""

from __future__ import annotations

from preflight.check import Foreign
from preflight.facts import CaptionFlaw, FolderFacts, ShardFacts
from preflight.finding import Aside, Location
from preflight.job import Job
from preflight.values.names import counted, first_of

from ._aside import PACKED


def not_read(facts: ShardFacts | FolderFacts, job: Job) -> str | None:
    """Say so where no text of a caption was read; None where some was."""
    captions = facts.captions
    if captions.captions or captions.unread:
        return None
    if job.look.depth == "index":
        return "with --depth index no caption is read"
    return Foreign("there is no caption of plain text")


def place_of(flaw: CaptionFlaw, facts: ShardFacts | FolderFacts) -> Location:
    """Give the place of the only caption with a flaw; of several, what holds them."""
    if flaw.captions > 1 or not flaw.names:
        return Location(file=facts.file)
    if isinstance(facts, ShardFacts):
        return Location(file=facts.file, name=f"member {flaw.names[0]}")
    return Location(file=flaw.names[0])


def aside(flaw: CaptionFlaw, facts: ShardFacts | FolderFacts) -> tuple[Aside, ...]:
    """Give the captions with a flaw, as files to be moved aside."""
    if isinstance(facts, ShardFacts):
        return (Aside(file=facts.file, bytes=facts.size, stays=PACKED),)
    named = tuple(Aside(file=one) for one in flaw.names)
    more = flaw.captions - len(named)
    if not more:
        return named
    of_them = counted(more, "such caption was", "such captions were")
    stays = f"{of_them} counted and not named: move what is named first, and look again"
    return (*named, Aside(file=facts.file, stays=stays))


def of_many(flaw: CaptionFlaw, facts: ShardFacts | FolderFacts) -> str:
    """Say how many of all captions have a flaw."""
    return f"{flaw.captions:,} of {counted(facts.captions.captions, 'caption')}"


def examples(flaw: CaptionFlaw, facts: ShardFacts | FolderFacts) -> str:
    """Name the first few captions with a flaw, relative to the folder that holds them."""
    inside = facts.file.rstrip("/") + "/" if isinstance(facts, FolderFacts) else ""
    return first_of([one.removeprefix(inside) for one in flaw.names], flaw.captions)
