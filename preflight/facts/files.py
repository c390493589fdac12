"""What shards, folders and images hold, and what is wrong in their bytes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """One thing that is wrong in the bytes of a file."""

    kind: str
    """A word for machines, such as `cut`, `checksum`, `foreign`, `not-fetched`, `empty`."""

    text: str
    """For people, as a predicate with its numbers: `ends inside dog.jpg, at 8,192 bytes`."""

    offset: int | None = None
    """Bytes from the beginning of the file, where it can be said."""

    member: str | None = None
    """The member of an archive, where it is one."""

    line: int | None = None
    """Of a text, counted from 1."""

    fetch: str | None = None
    """What `git lfs pull --include=` takes, from the top of the work tree, to fetch what a pointer
    stands for; empty: to be fetched with all others. None: it is no pointer."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Oddity:
    """Members of a shard that can be read, and are strange in one way."""

    kind: str
    """`absolute`, `parent` (a name with `..`), `long` (a name that no system takes), `link`,
    `device`, `sparse`, `left-behind` (by macOS or Windows), `parted` (samples that such a file
    stands in), `folders` (an image and its text in two), `split` (samples whose files stand apart),
    `twice` (a name again in one sample), `again` (a sample again, elsewhere)."""

    count: int
    names: tuple[str, ...]
    """Of the first few: members, or the keys of samples."""

    of_samples: int = 0
    """How many of them are, or by their names would be, part of a sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardFacts:
    """One tar archive of samples, read to its end."""

    file: str
    size: int
    damage: tuple[Damage, ...]
    """Of the archive itself; of its images, below."""

    members: int
    """Files in it that can be read whole."""

    samples: int
    """Samples (files of one key, by webdataset's rule) that can be read whole."""

    lost: int | None = None
    """Samples that stand behind the damage; None where it cannot be known."""

    first_lost: str | None = None
    """The key of the first sample that is not read whole, where it can be known."""

    quiet: bool = False
    """Whether tarfile, and so webdataset, stops at the damage without raising."""

    pairing: Pairing | None = None
    """None where nothing of the archive can be read."""

    images: int = 0
    """Images that were looked at, as deep as the job has it."""

    damaged_images: tuple[ImageDamage, ...] = ()
    """Of each kind, the first ten thousand."""

    more_damaged: int = 0
    """How many more there are."""

    oddities: tuple[Oddity, ...] = ()
    videos: int = 0
    """Videos in it, which are not read."""

    keys: str = ""
    """The keys of the samples and their sizes, packed (`preflight.readers.keys`)."""


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
