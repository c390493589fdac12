"""How images and captions go together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from preflight.file_access.facts import Damage


class Unpaired(NamedTuple):
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


class CaptionSuffix(NamedTuple):
    """How many samples have a caption of one suffix."""

    suffix: str
    """As it is written; in shards in small letters, as webdataset reads it."""

    samples: int


class Pairing(NamedTuple):
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

    suffixes: tuple[CaptionSuffix, ...] = ()
    """Of the captions of whole samples, where these are texts; the commonest first."""

    few: int = 0
    """Images beside which a text lies, where these are too few for a rule to be guessed."""

    beside: tuple[str, ...] = ()
    """Extensions of other files that most images without a caption have, the commonest first."""


class SideFolder(NamedTuple):
    """A folder that has a file for most images of another one (masks, depth maps), or is empty."""

    file: str
    images: str
    """The folder of these images."""

    pairs: int
    lacking: int = 0
    """Images for which it has none."""

    lacking_names: tuple[str, ...] = ()
    """Of the first few, without their folder."""

    alone: int = 0
    """Files of it that belong to no image."""

    alone_names: tuple[str, ...] = ()
    are_labels: bool = False
    """Whether they are texts, such as a detector reads: an image need not have one."""

    needed_by: str = ""
    """The line of a source that raises where one is lacking: `data.py:9`."""


class Length(NamedTuple):
    """How many captions have just so many characters."""

    characters: int
    captions: int
    names: tuple[str, ...] = ()
    """Of the first few; only of the longest and of the shortest."""


class CaptionFlaw(NamedTuple):
    """How many captions are wrong in one way."""

    kind: str
    """`encoding` (no UTF-8), `utf-16`, `zeros` (nothing but null characters), `nul` (some of them
    in it), `padding` (only behind it), `mark` (a byte-order mark before it), `not-fetched` (a
    pointer of Git LFS), `page` (of HTML), `empty` (no character but white space)."""

    captions: int
    names: tuple[str, ...] = ()
    """Of the first few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionLengths:
    """How long captions are, of which the text was read: what is plain text, or stands in a table.

    Characters are Unicode's, those of white space at both ends left out. With `--depth index`
    no captions are read but those of tables.
    """

    captions: int = 0
    """Captions whose text was read."""

    bytes: int = 0
    """Of all of them, as UTF-8."""

    lengths: tuple[Length, ...] = ()
    """From the longest down: the first thousand, and behind them the shortest few."""

    others: int = 0
    """Captions of further lengths, which are not told."""

    empty: int = 0
    """Captions without a character, which are among the lengths, too."""

    undecodable: int = 0
    """Captions that are no UTF-8, which have no length."""

    undecodable_names: tuple[str, ...] = ()
    """Of the first few of them."""

    unread: int = 0
    """Captions so large that nobody would read them, and we did not."""

    flaws: tuple[CaptionFlaw, ...] = ()
    """What is wrong with them, by its kind; each caption is counted for one kind at most."""

    numbers: int = 0
    """Captions of nothing but numbers, such as the boxes of a detector."""

    @property
    def longest(self) -> Length | None:
        """The most characters that a caption has."""
        return self.lengths[0] if self.lengths else None

    @property
    def shortest(self) -> Length | None:
        """The fewest."""
        return self.lengths[-1] if self.lengths else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Captioned:
    """What one table (metadata.jsonl, metadata.csv) says of the images in its folder and below it.

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

    lengths: CaptionLengths = field(default_factory=CaptionLengths)
    """Of its captions that are texts, by the first file of their rows."""
