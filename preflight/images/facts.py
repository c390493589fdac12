"""What a folder of images holds, and what is wrong with its images."""

from __future__ import annotations

from dataclasses import dataclass

from preflight.pairing.facts import Captioned, Pairing


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageDamage:
    """An image that does not decode, or only in part."""

    name: str
    """The file, or the member of a shard."""

    kind: str
    """`empty`, `cut`, `foreign`, `not-fetched`, `zeros`, `undecodable`, `leftover`, `huge`."""

    text: str
    """As a predicate with its numbers: `stops before its end marker`."""

    bytes: int
    format: str = ""
    """What its first bytes say that it is, such as `PNG image`."""

    raises: str = ""
    """What Pillow raises when it loads it; empty where it gives a picture."""

    fetch: str | None = None
    """As of `Damage`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderFacts:
    """A folder of images and captions, with all below it."""

    file: str
    files: int
    pairing: Pairing
    images: int
    """Images that were looked at, as deep as the job has it."""

    videos: int = 0
    """Videos in it, which are not read."""

    sounds: int = 0
    """Audio files in it, which are not read; none where there is anything to be seen."""

    damaged_images: tuple[ImageDamage, ...] = ()
    """Of each kind, the first ten thousand."""

    more_damaged: int = 0
    """How many more there are."""

    unreadable: tuple[tuple[str, ...], ...] = ()
    """Files and folders that could not be opened: (name, reason)."""

    tables: tuple[Captioned, ...] = ()
    """What each metadata.jsonl in it says."""

    unread_tables: tuple[str, ...] = ()
    """Other tables that may hold captions, and are not read."""
