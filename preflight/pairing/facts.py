"""How images and captions go together."""

from __future__ import annotations

from dataclasses import dataclass

from preflight.file_access.facts import Damage


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpaired:
    """An image without its caption, or a caption without its image."""

    name: str
    """The file that is there."""

    lacks: str
    """`caption`, `image`, or `key` (it is no sample of its own)."""

    expected: str
    """What was looked for, such as `dog.txt`."""

    instead: str | None = None
    """What is there in its place and will not be read as one, such as `dog.jpeg`."""

    because: str = ""
    """Why that is not read: `extension`, `case` (of the extension), `letters` (large and small ones
    of the stem), `unicode` (the same letters, composed otherwise), `double` (an extension too
    many), `dots` (the key of a sample ends at the first), `link`, `apart` (it stands elsewhere in
    the archive, and so belongs to another sample). Or what this is: `mask` (of another image),
    `folder` (no image of its folder has a caption), `row` (of a table, for a file that is not
    there)."""

    table: str | None = None
    """The table that names it, where one does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """How the images and captions of one shard or folder go together."""

    rule: str
    """The rule that was applied: `textfile`, `json`, … or `none` where there is nothing to pair."""

    samples: int
    """Samples in all, whole or not."""

    images: int
    """Image files, also where several are in one sample."""

    captions: int
    """Caption files."""

    unpaired: tuple[Unpaired, ...] = ()
    whole: int = 0
    """Samples that have an image and a caption."""

    held: int = 0
    """Samples that lack something which may stand behind the damage of their archive."""

    takes: tuple[str, ...] = ()
    """Extensions of the images that the pipeline takes; empty: every one."""

    looks_for: tuple[str, ...] = ()
    """Extensions of captions, the likeliest first; empty where nothing is paired."""

    beside: tuple[str, ...] = ()
    """Extensions of other files that most images without a caption have, the commonest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Captioned:
    """What one table (metadata.jsonl) says of the images in its folder and below it.

    Files are named as reports name them, and joined by null characters, which no name has: there
    may be a million.
    """

    file: str
    """The table itself."""

    rows: int
    captioned: str = ""
    """Files that it gives a caption; none where it is a table of something else."""

    empty: str = ""
    """Files that it names and gives none, or an empty one."""

    damage: tuple[Damage, ...] = ()
    """What is wrong with it, the first few; a reader stops at it."""

    damaged: int = 0
    """Lines in which something is wrong."""
