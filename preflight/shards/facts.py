"""What a shard holds, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass

from preflight.file_access.facts import Damage
from preflight.images.facts import ImageDamage
from preflight.pairing.facts import Pairing


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Samples of one shard whose keys stand in an earlier shard of the data set, too."""

    file: str
    first: str
    """The earlier shard."""

    samples: int
    alike: int
    """How many of them are of the same size, in bytes, as in the earlier shard."""

    of: int
    """Samples that the shard has in all."""

    keys: tuple[str, ...] = ()
    """Of the first few."""


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
    """The keys of the samples and their sizes, packed (`preflight.shards.packed_keys`)."""
