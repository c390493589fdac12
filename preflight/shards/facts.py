"""What a shard holds, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from preflight.file_access.facts import Damage
from preflight.images.facts import ImageDamage, Pictures
from preflight.pairing.facts import CaptionLengths, Pairing
from preflight.pipelines.arrived import Arrived, Lacking


class Shared(NamedTuple):
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


class Field(NamedTuple):
    """The files of one field: what webdataset gives a sample under this name."""

    name: str
    """`jpg`, `txt`, `seg.png`: what follows the first dot, in small letters."""

    files: int
    bytes: int
    """Of all of them."""

    smallest: int
    """Bytes of the smallest."""

    largest: int
    smallest_names: tuple[str, ...] = ()
    """Of the first few that are as small."""

    largest_names: tuple[str, ...] = ()


class FieldSet(NamedTuple):
    """How many samples have just these fields."""

    fields: tuple[str, ...]
    """In the order of their letters."""

    samples: int


class SampleFields(NamedTuple):
    """What samples are made of, by the names of their files alone."""

    fields: tuple[Field, ...] = ()
    """By their names, the first hundred."""

    sets: tuple[FieldSet, ...] = ()
    """By their fields, the first hundred."""

    more_fields: int = 0
    """Files of further fields."""

    more_sets: int = 0
    """Samples of further sets."""


class Unlike(NamedTuple):
    """A shard that lacks a field in all of its samples."""

    file: str
    field: str
    samples: int
    having: int
    """Samples of the whole data set that have it."""


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

    pictures: Pictures = field(default_factory=Pictures)
    """What its images are that were looked at, and how large."""

    fields: SampleFields = field(default_factory=SampleFields)
    """What its samples are made of."""

    captions: CaptionLengths = field(default_factory=CaptionLengths)
    """How long those are that are plain text, and what is wrong with them."""

    undecodable: Mapping[str, int] = field(default_factory=dict)
    """By field, how many of its captions are no UTF-8; nothing is read with `--depth index`."""

    oddities: tuple[Oddity, ...] = ()
    arrived: tuple[Arrived, ...] = ()
    """Its samples as webdataset hands them on, also the part of one that a damage cuts off."""

    decided_by: str = ""
    """The user's own stage of a loader of it that may take any fields: `.map(<lambda>)`."""

    all_came: bool = False
    """Whether that loader gave all of its samples, when it was run to its end."""

    given_whole_by: str = ""
    """A live loader that asks for no field, and hands each sample on with what it has."""

    chosen_by: str = ""
    """What of each loader may take samples out, with its line: `select (train.py:9)`."""

    taken_by: str = ""
    """The live loader that says which fields it takes of these samples."""

    lacking: tuple[Lacking, ...] = ()
    """What the samples lack of these."""

    texts: str = "taken"
    """What loaders do with its texts: `taken`, as far as anybody knows; `decoded`, and then left;
    `left` as they are."""

    use_of_images: str = "taken"
    """What loaders do with its images, in the same words."""

    uses: Mapping[str, str] = field(default_factory=dict)
    """What loaders do with each field of a text or an image, as `texts`; `read` or `raw`: they take
    its bytes, and a function of the job's in the pipeline reads them, or what comes behind it."""

    dropped_by: Mapping[str, str] = field(default_factory=dict)
    """By field that all loaders decode, which handler drops a sample of which it does not."""

    is_run_through: bool = False
    """Whether each of its loaders was run to its end, and lost nothing where it reads contents."""

    videos: int = 0
    """Videos in it, which are not read."""

    is_zstd: bool = False
    """Whether it is packed with zstd, which this Python's tarfile does not open by itself."""

    unpacked_by: str = ""
    """What of the job unpacks zstd: a loader or a place in its sources; empty: nothing known."""

    padding: int = 0
    """Bytes of zeros behind its last member, where they are more than tar leaves by default."""

    record: int = 0
    """Bytes of the records of which `tar -b` leaves as many; 0: of none that is likely."""

    is_of_tarfile: bool = False
    """Whether its writer leaves no such padding: tarfile, or what writes by it."""

    keys: str = ""
    """The keys of the samples and their sizes, packed (`preflight.shards.packed_keys`)."""

    def use_of(self, member: str, otherwise: str) -> str:
        """Say what loaders do with a member, by its field; where none says it, otherwise."""
        return self.uses.get(_field_of(member), otherwise)

    def drops(self, member: str) -> str:
        """Name the handler that drops the sample of a member that does not decode; empty: none."""
        return self.dropped_by.get(_field_of(member), "")


def _field_of(member: str) -> str:
    return member.rpartition("/")[2].partition(".")[2].lower()
