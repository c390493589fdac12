"""Settles what counts as a caption in a data set, and where nobody has said so, what most have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias, overload

from preflight.formats.suffixes.images import EXTENSIONS
from preflight.pairing.facts import CaptionSuffix
from preflight.targets.targets import CaptionRule

TABLE = "jsonl/"
"""Stands among the suffixes of an image that a table captions. No name of a file has a slash."""

MEANT = "meant/"
"""Stands among the suffixes of an image whose caption is there, under a name that is not read."""

TEXTS = ("txt", "caption")
"""Extensions of caption files where nobody named one, the likeliest first."""

NO_CHANCE = 0.25
"""The part of all images that has a caption by no chance, where it has one."""

# Extensions of captions that are plain text.
PLAIN = frozenset({"txt", "caption", "tags", "text", "cap", "prompt"})

# What `auto` looks for, in this order. Tables count in folders only, class labels in shards only.
_GUESSES = {
    False: (TEXTS, ("json",), (TABLE,)),
    True: (TEXTS, ("json",), ("cls",)),
}

# A shard of fewer samples than these, of which one holds more pairs than those, holds as many
# samples whose names have dots: all pictures of 2024, say.
_FEW_SAMPLES = 3
_FEW_PAIRS = 8


Suffixes: TypeAlias = tuple[str, ...]


class FileGroup(NamedTuple):
    """Files that belong together: one sample of a shard, or one stem in a folder.

    A named tuple: there are millions, and a frozen dataclass takes thrice the time.
    """

    key: str
    """What their names share: `a/dog-0017`, to which a dot and a suffix are added."""

    suffixes: Suffixes
    """As they are written, without the dot: `jpg`, `JPG`, `seg.png`."""

    many: int = 1
    """Groups like this one that it stands for, where only their number counts."""


class Groups(Sequence[FileGroup]):
    """Groups in two columns: of millions of samples, hardly any is asked for by itself."""

    __slots__ = ("keys", "made_of")

    def __init__(
        self, keys: list[str] | None = None, made_of: list[Suffixes] | None = None
    ) -> None:
        self.keys = [] if keys is None else keys
        self.made_of: list[Suffixes] = [] if made_of is None else made_of

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[FileGroup]:
        return map(FileGroup, self.keys, self.made_of)

    @overload
    def __getitem__(self, place: int) -> FileGroup: ...

    @overload
    def __getitem__(self, place: slice) -> Groups: ...

    def __getitem__(self, place: int | slice) -> FileGroup | Groups:
        if isinstance(place, slice):
            return Groups(self.keys[place], self.made_of[place])
        return FileGroup(self.keys[place], self.made_of[place])


def keys_of(groups: Sequence[FileGroup]) -> Sequence[str]:
    """Give the keys, in the order of the groups."""
    return groups.keys if isinstance(groups, Groups) else [one.key for one in groups]


def made_of(groups: Sequence[FileGroup]) -> Sequence[Suffixes]:
    """Give what each of the groups is made of, in their order."""
    return groups.made_of if isinstance(groups, Groups) else [one.suffixes for one in groups]


class Rule(NamedTuple):
    """What counts as a caption, and as an image that the pipeline takes."""

    name: str
    captions: tuple[str, ...]
    images: tuple[str, ...]
    """Empty: every image."""

    shard: bool
    literal: bool
    """Whether `TXT` is another extension than `txt`. webdataset reads suffixes in small letters."""

    fields: frozenset[str] = frozenset()
    """Suffixes with a dot that most samples of the shard have, so that they are meant so."""

    def is_stray(self, suffix: str) -> bool:
        """Whether a suffix has a dot for no other reason than that its file's name has one more."""
        return self.shard and "." in suffix and suffix.lower() not in self.fields

    def is_caption(self, suffix: str) -> bool:
        """Whether a file of this suffix is read as a caption."""
        read = suffix if self.literal else suffix.lower()
        if "." in read and read in self.captions:  # `cap.txt`, as the settings name it
            return True
        return extension_of(read) in self.captions and not self.is_stray(suffix)

    def takes(self, suffix: str) -> bool:
        """Whether an image of this suffix is one that the pipeline takes."""
        extension = extension_of(suffix)
        listed = extension.lower() if self.shard else extension
        return (not self.images or listed in self.images) and not self.is_stray(suffix)

    def images_of(self, suffixes: Suffixes) -> list[str]:
        """Give the suffixes of the images that are taken."""
        return [one for one in suffixes if is_image_suffix(one) and self.takes(one)]

    def captions_of(self, suffixes: Suffixes) -> list[str]:
        """Give those of the captions."""
        return [*filter(self.is_caption, suffixes)]


def settle(groups: Sequence[FileGroup], rule: CaptionRule, *, shard: bool) -> Rule | None:
    """Settle what is a caption here; None where there is nothing to pair."""
    captions = _captions(groups, rule, shard=shard)
    if not captions:
        return None
    images = tuple(one.lstrip(".") for one in rule.images)
    return Rule(
        name=rule.rule,
        captions=captions,
        images=tuple(one.lower() for one in images) if shard else images,
        shard=shard,
        literal=not shard and rule.rule != "auto",
        fields=_fields(groups) if shard else frozenset(),
    )


def named_extension(rule: CaptionRule, *, small: bool) -> tuple[str, ...]:
    """Give the extension of captions that the settings name, if any."""
    extension = (rule.extension or "").lstrip(".")
    return (extension.lower() if small else extension,) if extension else ()


def _captions(groups: Sequence[FileGroup], rule: CaptionRule, *, shard: bool) -> tuple[str, ...]:
    """Give the extensions of captions, the likeliest first."""
    if rule.rule == "textfile":
        return named_extension(rule, small=shard) or TEXTS
    tabled = any(TABLE in one.suffixes for one in groups)
    if rule.rule == "json":
        return ("json", TABLE) if tabled else ("json",)
    if rule.rule == "table":
        return (TABLE,) if tabled else ()
    if rule.rule != "auto":
        return ()
    common = _most_common(groups, named_extension(rule, small=shard), shard=shard)
    if not common or not tabled:
        return common
    return tuple(dict.fromkeys((*common, TABLE, *TEXTS)))  # whoever has either has a caption


def _most_common(
    groups: Sequence[FileGroup], named: tuple[str, ...], *, shard: bool
) -> tuple[str, ...]:
    """Give the first kind of caption that more than half of all images have; of texts, just half.

    Tools of download put JSON beside each image, so that it says nothing of captions that are gone.
    """
    pictured = {one.key: one.many for one in groups if any(map(is_image_suffix, one.suffixes))}
    told: dict[str, set[str]] = {}
    for one in groups:
        for suffix in one.suffixes:
            extension = extension_of(suffix).lower()
            # A downloader's dog.jpg.json is no caption, and dog.jpg.txt was meant to be one.
            misnamed = "." in suffix and extension not in PLAIN and is_doubled(head_of(suffix))
            if one.key in pictured and not misnamed:
                told.setdefault(extension, set()).add(one.key)

    def number(*extensions: str) -> int:
        keys = set().union(*(told.get(one, ()) for one in extensions))
        return sum(pictured[key] for key in keys)

    images = sum(pictured.values())
    for guess in (named,) if named else _GUESSES[shard]:
        least = max(1, images) if guess in (TEXTS, named) else images + 1
        kinds = sorted((one for one in guess if one in told), key=lambda one: -number(one))
        meant = (MEANT,) if guess in (TEXTS, named) else ()
        if 2 * number(*kinds, *meant) >= least:
            return (*kinds, *(one for one in guess if one not in kinds))
    return ()


def captions_of_a_few(
    groups: Sequence[FileGroup], rule: CaptionRule, *, shard: bool
) -> tuple[int, int]:
    """Count the captions of images where too few have one for a rule to be guessed, and the texts.

    Texts are counted once for each image.
    """
    if rule.rule != "auto":
        return 0, 0
    counted: Counter[str] = Counter()
    named = named_extension(rule, small=True)
    texts = 0
    for one in groups:
        if any(map(is_image_suffix, one.suffixes)):
            extensions = [extension_of(suffix).lower() for suffix in one.suffixes]
            for extension in extensions:
                counted[extension] += one.many
            texts += one.many * (not {*extensions}.isdisjoint(named or TEXTS))
    kinds = (named,) if named else _GUESSES[shard]
    captions = next(filter(None, (sum(counted[one] for one in kind) for kind in kinds)), 0)
    return captions, texts


def suffixes_of(groups: Sequence[FileGroup], rule: Rule) -> tuple[CaptionSuffix, ...]:
    """Count the samples that have a caption of each suffix, where such captions are texts."""
    counts: Counter[str] = Counter()
    for one in groups:
        if rule.images_of(one.suffixes):
            for suffix in rule.captions_of(one.suffixes):
                read = suffix.lower() if rule.shard else suffix
                if suffix != TABLE and extension_of(suffix).lower() != "json":
                    counts[read] += one.many
    return in_order(CaptionSuffix(*one) for one in counts.items())


def in_order(suffixes: Iterable[CaptionSuffix]) -> tuple[CaptionSuffix, ...]:
    """Put the commonest first."""
    return tuple(sorted(suffixes, key=lambda one: (-one.samples, one.suffix)))


def _fields(groups: Sequence[FileGroup]) -> frozenset[str]:
    """Give the suffixes with a dot that more than half of all samples with an image have.

    `seg.png` is a field of its own where most have it. `v2.jpg` of one in ten is the end of a name
    that has a dot more; so are `jpg.txt`, and the hundred suffixes of a sample called `2024`.
    """
    counted: Counter[str] = Counter()
    pictured = [one for one in groups if any(map(is_image_suffix, one.suffixes))]
    number = sum(one.many for one in pictured)
    for one in pictured:
        dotted = {suffix.lower() for suffix in one.suffixes if "." in suffix}
        if number >= _FEW_SAMPLES or len(dotted) - len(set(map(head_of, dotted))) <= _FEW_PAIRS:
            counted.update(dict.fromkeys(dotted, one.many))
    return frozenset(
        suffix
        for suffix, count in counted.items()
        if 2 * count > number and not is_doubled(head_of(suffix))
    )


def is_doubled(head: str) -> bool:
    """Whether what stands before the last extension is one by itself: `jpg` of `dog.jpg.txt`."""
    lower = extension_of(head).lower()
    return lower in EXTENSIONS or lower in PLAIN


def head_of(suffix: str) -> str:
    """Give what stands before the last dot."""
    return suffix.rpartition(".")[0]


def extension_of(suffix: str) -> str:
    """Give what stands behind the last dot."""
    return suffix.rpartition(".")[2]


def is_image_suffix(suffix: str) -> bool:
    """Whether a file of this suffix is an image."""
    return extension_of(suffix).lower() in EXTENSIONS
