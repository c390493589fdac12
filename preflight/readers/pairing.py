"""Pairs images with their captions: by webdataset's keys in a shard, by stems in a folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from preflight.facts import Pairing, Unpaired
from preflight.formats.images import EXTENSIONS, SAME_FORMAT
from preflight.targets import CaptionRule

# What `auto` looks for, in this order. Class labels count in shards only.
_GUESSES = (("txt", "caption"), ("json",), ("cls",))

NO_CAPTIONS = frozenset(
    {
        *("readme", "license", "licence", "notice", "requirements", "changelog", "about", "index"),
        *("metadata", "meta", "config", "settings", "stats", "dataset_info", "dataset_infos"),
        *("classes", "labels", "names", "prompts", "captions", "tags", "train", "val", "test"),
        *("urls", "list", "files", "image_list", "manifest", "annotations", "info", "state"),
        *("data", "dataset", "sample_prompts", "all_image_files", "trigger", "notes"),
    }
)
"""Stems of text files that lie in a folder for people or a trainer, and caption no image."""


class Group(NamedTuple):
    """Files that belong together: one sample of a shard, or one stem in a folder.

    A named tuple: there are millions, and a frozen dataclass takes thrice the time.
    """

    key: str
    """What their names share: `a/dog-0017`, to which a dot and a suffix are added."""

    suffixes: tuple[str, ...]
    """As they are written, without the dot: `jpg`, `JPG`, `seg.png`."""

    many: int = 1
    """Groups like this one that it stands for, where only their number counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """What counts as a caption, and as an image that the pipeline takes."""

    name: str
    captions: tuple[str, ...]
    images: tuple[str, ...]
    """Empty: every image."""

    shard: bool
    literal: bool
    """Whether `TXT` is another extension than `txt`. webdataset reads suffixes in small letters."""

    def is_caption(self, suffix: str) -> bool:
        extension = _extension(suffix)
        return (extension if self.literal else extension.lower()) in self.captions

    def takes(self, suffix: str) -> bool:
        extension = _extension(suffix)
        return not self.images or (extension.lower() if self.shard else extension) in self.images

    def is_even(self, suffixes: Sequence[str]) -> bool:
        """Whether there are both an image and a caption, or neither."""
        images = any(_is_image(suffix) and self.takes(suffix) for suffix in suffixes)
        return images == any(map(self.is_caption, suffixes))

    def images_in(self, one: Group) -> int:
        return sum(_is_image(suffix) and self.takes(suffix) for suffix in one.suffixes)

    def captions_in(self, one: Group) -> int:
        count = sum(map(self.is_caption, one.suffixes))
        return 0 if count and _captions_nothing(one, shard=self.shard) else count

    def is_whole(self, one: Group) -> bool:
        return self.images_in(one) > 0 < self.captions_in(one)


def pair(
    groups: Sequence[Group],
    rule: CaptionRule,
    *,
    shard: bool,
    links: Mapping[str, Sequence[str]] | None = None,
) -> Pairing:
    """Find the images without a caption, and the captions without an image.

    Args:
        groups: the samples of one shard in their order, or the stems of one tree of folders.
        rule: where the captions of this data set are.
        shard: whether names are read as webdataset reads those in an archive.
        links: by key, the suffixes of links in the archive, which webdataset passes over.
    """
    alike = _alike(groups) if shard else groups
    together = _put_together(groups) if shard else groups
    images = sum(one.many * sum(map(_is_image, one.suffixes)) for one in alike)
    samples = sum(one.many for one in alike)
    applied = _applied(alike if together is groups else _alike(together), rule, shard=shard)
    if applied is None:
        captions = _captions_of_a_few(alike, rule, shard=shard)
        return Pairing(rule="none", samples=samples, images=images, captions=captions)
    return Pairing(
        rule=applied.name,
        samples=samples,
        images=images,
        captions=sum(one.many * applied.captions_in(one) for one in alike),
        unpaired=tuple(_unpaired(groups, applied, links or {})),
        whole=sum(one.many for one in alike if applied.is_whole(one)),
        takes=applied.images,
        looks_for=applied.captions,
        beside=_beside(alike, applied),
    )


def _alike(groups: Sequence[Group]) -> Sequence[Group]:
    """Let one sample stand for all that have the same suffixes, where only numbers count."""
    counted = Counter([one.suffixes for one in groups])
    return [Group(f"{key}", *alike) for key, alike in enumerate(counted.items())]


def _put_together(groups: Sequence[Group]) -> Sequence[Group]:
    """Give one group for each key, also where its files stand apart in the archive."""
    if len({one.key for one in groups}) == len(groups):
        return groups
    gathered: dict[str, list[str]] = {}
    for one in groups:
        gathered.setdefault(one.key, []).extend(one.suffixes)
    return [Group(key, tuple(suffixes)) for key, suffixes in gathered.items()]


def _applied(groups: Sequence[Group], rule: CaptionRule, *, shard: bool) -> _Rule | None:
    """Settle what is a caption here; None where there is nothing to pair."""
    extension = (rule.extension or "").lstrip(".")
    if shard:
        extension = extension.lower()
    captions: tuple[str, ...]
    if rule.rule == "textfile":
        captions = (extension,) if extension else ("txt", "caption")
    elif rule.rule == "json":
        captions = ("json",)
    elif rule.rule == "auto":
        captions = _most_common(groups, (extension,) if extension else None, shard=shard)
    else:
        captions = ()
    if not captions:
        return None
    images = tuple(one.lstrip(".") for one in rule.images)
    return _Rule(
        name=rule.rule,
        captions=captions,
        images=tuple(one.lower() for one in images) if shard else images,
        shard=shard,
        literal=not shard and rule.rule != "auto",
    )


def _most_common(
    groups: Sequence[Group], named: tuple[str, ...] | None, *, shard: bool
) -> tuple[str, ...]:
    """Give the first kind of caption that more than half of all images have."""
    pictured = {one.key: one.many for one in groups if any(map(_is_image, one.suffixes))}
    told: dict[str, set[str]] = {}
    for one in groups:
        for suffix in one.suffixes:
            if one.key in pictured:
                told.setdefault(_extension(suffix).lower(), set()).add(one.key)

    def number(*extensions: str) -> int:
        keys = set().union(*(told[one] for one in extensions))
        return sum(pictured[key] for key in keys)

    guesses = _GUESSES if shard else _GUESSES[:-1]
    for guess in guesses if named is None else (named,):
        kinds = sorted((one for one in guess if one in told), key=lambda one: -number(one))
        if 2 * number(*kinds) > sum(pictured.values()):
            return (*kinds, *(one for one in guess if one not in kinds))
    return ()


def _captions_of_a_few(groups: Sequence[Group], rule: CaptionRule, *, shard: bool) -> int:
    """Count the captions of images where too few have one for a rule to be guessed."""
    if rule.rule != "auto":
        return 0
    counted: Counter[str] = Counter()
    for one in groups:
        if any(map(_is_image, one.suffixes)):
            for suffix in one.suffixes:
                counted[_extension(suffix).lower()] += one.many
    named = (rule.extension.lstrip(".").lower(),) if rule.extension else None
    guesses = _GUESSES if shard else _GUESSES[:-1]
    kinds = guesses if named is None else (named,)
    return next(filter(None, (sum(counted[one] for one in kind) for kind in kinds)), 0)


def _beside(groups: Sequence[Group], rule: _Rule) -> tuple[str, ...]:
    """Say which other files stand beside more than half of the images that lack a caption."""
    told: Counter[str] = Counter()
    lacking = 0
    for one in groups:
        if rule.images_in(one) and not rule.captions_in(one):
            lacking += one.many
            for extension in {_extension(two) for two in one.suffixes if not _is_image(two)}:
                told[extension] += one.many
    return tuple(extension for extension, count in told.most_common(3) if 2 * count > lacking)


def _unpaired(
    groups: Sequence[Group], rule: _Rule, links: Mapping[str, Sequence[str]]
) -> Iterator[Unpaired]:
    """Give each sample that lacks something, once."""
    apart = _apart(groups, rule) if rule.shard else {}
    kinds = {one.suffixes for one in groups}
    even = {suffixes for suffixes in kinds if rule.is_even(suffixes)}
    for one in groups:
        if one.suffixes in even:
            continue
        images = [suffix for suffix in one.suffixes if _is_image(suffix)]
        taken = [suffix for suffix in images if rule.takes(suffix)]
        captions = [suffix for suffix in one.suffixes if rule.is_caption(suffix)]
        elsewhere = apart.get(one.key, "")
        if taken:
            instead, because = _instead_of_caption(one, rule, links.get(one.key, ()), elsewhere)
            yield Unpaired(
                name=f"{one.key}.{taken[0]}",
                lacks="caption",
                expected=f"{one.key}.{rule.captions[0]}",
                instead=instead,
                because=because,
            )
        elif "image" not in elsewhere and rule.captions_in(one):
            linked = [suffix for suffix in links.get(one.key, ()) if _is_image(suffix)]
            instead = f"{one.key}.{(images or linked)[0]}" if images or linked else None
            yield Unpaired(
                name=f"{one.key}.{captions[0]}",
                lacks="image",
                expected=f"{one.key}.{_taken_for([*images, *linked], rule)}",
                instead=instead,
                because=_why_not_taken(images, rule) if images else "link" if linked else "",
            )


def _apart(groups: Sequence[Group], rule: _Rule) -> dict[str, str]:
    """Say which keys are met more than once in an archive, and what stands in their groups."""
    if len({one.key for one in groups}) == len(groups):
        return {}
    met = Counter([one.key for one in groups])
    twice = {key: "" for key, count in met.items() if count > 1}
    for one in groups:
        if one.key in twice:
            image = any(_is_image(suffix) and rule.takes(suffix) for suffix in one.suffixes)
            caption = any(map(rule.is_caption, one.suffixes))
            for what in ["image"] * image + ["caption"] * caption:
                if what not in twice[one.key]:
                    twice[one.key] += f"{what} "
    return twice


def _instead_of_caption(
    one: Group, rule: _Rule, links: Sequence[str], elsewhere: str
) -> tuple[str | None, str]:
    """Find what was meant to be the caption, and why it is not read as one."""
    for suffix in links:
        if rule.is_caption(suffix):
            return f"{one.key}.{suffix}", "link"
    if "caption" in elsewhere:
        return f"{one.key}.{rule.captions[0]}", "apart"
    for suffix in one.suffixes:
        if _extension(suffix).lower() in rule.captions:
            return f"{one.key}.{suffix}", "case"
    for suffix in one.suffixes:
        if _extension(suffix).lower() in _GUESSES[0]:
            return f"{one.key}.{suffix}", "extension"
    return None, ""


def _taken_for(images: Sequence[str], rule: _Rule) -> str:
    """Give the extension that would be taken, and is the nearest to what is there."""
    there = _extension(images[0]).lower() if images else "jpg"
    same = next((one for one in SAME_FORMAT if there in one), frozenset({there}))
    return min(
        rule.images or (there,),
        key=lambda one: (one.lower() != there, one.lower() not in same),
    )


def _why_not_taken(images: Sequence[str], rule: _Rule) -> str:
    small = {one.lower() for one in rule.images}
    return "case" if _extension(images[0]).lower() in small else "extension"


def _captions_nothing(one: Group, *, shard: bool) -> bool:
    """Whether this is a text that lies in the folder for another purpose."""
    if shard or one.key.rpartition("/")[2].lower() not in NO_CAPTIONS:
        return False
    return not any(map(_is_image, one.suffixes))


def _extension(suffix: str) -> str:
    return suffix.rpartition(".")[2]


def _is_image(suffix: str) -> bool:
    return _extension(suffix).lower() in EXTENSIONS
