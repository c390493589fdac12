"""Pairs images with their captions: by webdataset's keys in a shard, by stems in a folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from preflight.formats.suffixes.images import SAME_FORMAT, may_be
from preflight.pairing.facts import Pairing, Unpaired
from preflight.pairing.misnamed import joined_by_meaning
from preflight.pairing.rules import (
    MEANT,
    TABLE,
    TEXTS,
    FileGroup,
    Rule,
    captions_of_a_few,
    extension_of,
    head_of,
    is_doubled,
    is_image_suffix,
    keys_of,
    made_of,
    settle,
    suffixes_of,
)
from preflight.pairing.side_files import mask_of
from preflight.targets.targets import CaptionRule


def pair(
    groups: Sequence[FileGroup],
    rule: CaptionRule,
    *,
    shard: bool,
    links: Mapping[str, Sequence[str]] | None = None,
    guessed_by: Sequence[FileGroup] | None = None,
) -> Pairing:
    """Find the images without a caption, and the captions without an image.

    Of one shard, whose samples come in their order, and whose names are read as webdataset does; or
    of one tree of folders. Links are suffixes by their keys, which webdataset passes over. Where
    nobody named a rule it may be guessed by some of the groups alone.
    """
    alike = _alike(groups) if shard else groups
    samples = sum(one.many for one in alike)
    if shard and any(_may_be_left_behind(one.suffixes) for one in alike):
        groups = [one for one in groups if not _is_left_behind(one)]
        alike = _alike(groups)
    masks = _masks(groups, alike) if shard else ()
    if masks:
        spared = {one.key for one in masks}
        groups = [one for one in groups if one.key not in spared]
        alike = _alike(groups)
    once = not shard or len(set(keys_of(groups))) == len(groups)
    images = sum(one.many * sum(map(is_image_suffix, one.suffixes)) for one in (*alike, *masks))
    by = guessed_by or (alike if once else _alike(_put_together(groups)))
    applied = settle(by, rule, shard=shard)
    if applied is None:
        captions, few = captions_of_a_few(alike, rule, shard=shard)
        name = "table" if rule.rule == "table" else "none"
        return Pairing(rule=name, samples=samples, images=images, captions=captions, few=few)
    apart = {} if once else _apart(groups, applied)
    found = [*_unpaired(groups, alike, applied, links or {}, apart), *map(_of_mask, masks)]
    if shard and found:
        found = joined_by_meaning(found)
    return Pairing(
        rule=applied.name,
        samples=samples,
        images=images,
        captions=sum(one.many * len(applied.captions_of(one.suffixes)) for one in alike),
        unpaired=tuple(found),
        whole=sum(
            one.many
            for one in alike
            if applied.images_of(one.suffixes) and applied.captions_of(one.suffixes)
        ),
        takes=applied.images,
        looks_for=applied.captions,
        suffixes=suffixes_of(alike, applied),
        few=_few_texts(alike, rule, applied, shard=shard),
        beside=_beside(alike, applied),
    )


def _few_texts(
    groups: Sequence[FileGroup], rule: CaptionRule, applied: Rule, *, shard: bool
) -> int:
    """Count the texts where JSON is taken for the captions, as it lies beside more images."""
    is_guess = rule.rule == "auto" and applied.captions[0] == "json"
    return captions_of_a_few(groups, rule, shard=shard)[1] if is_guess else 0


def _alike(groups: Sequence[FileGroup]) -> Sequence[FileGroup]:
    """Let one sample stand for all that have the same suffixes, where only numbers count."""
    counted = Counter(made_of(groups))
    return [FileGroup(f"{key}", *alike) for key, alike in enumerate(counted.items())]


def _may_be_left_behind(suffixes: Sequence[str]) -> bool:
    return all(suffix.startswith("_") for suffix in suffixes)


def _is_left_behind(one: FileGroup) -> bool:
    """Whether it is `a/._dog.jpg` of macOS, of which webdataset makes a sample: no image at all."""
    return one.key.endswith("/") and _may_be_left_behind(one.suffixes)


def _put_together(groups: Sequence[FileGroup]) -> Sequence[FileGroup]:
    """Give one group for each key, also where its files stand apart in the archive."""
    gathered: dict[str, list[str]] = {}
    for one in groups:
        gathered.setdefault(one.key, []).extend(one.suffixes)
    return [FileGroup(key, tuple(suffixes)) for key, suffixes in gathered.items()]


def _masks(groups: Sequence[FileGroup], alike: Sequence[FileGroup]) -> Sequence[FileGroup]:
    """Give the samples of a shard that are nothing but the mask of another one."""
    bare = {one.suffixes for one in alike if all(map(is_image_suffix, one.suffixes))}
    if not bare:
        return ()
    maybe = [(one, mask_of(one.key)) for one in groups if one.suffixes in bare]
    if not any(stem for _, stem in maybe):
        return ()
    keys = {one.key for one in groups if any(map(is_image_suffix, one.suffixes))}
    return [one for one, stem in maybe if stem in keys]


def _of_mask(one: FileGroup) -> Unpaired:
    name, stem = f"{one.key}.{one.suffixes[0]}", mask_of(one.key) or one.key
    field = one.key[len(stem) :].strip("-_.")
    expected = f"{stem}.{field}.{one.suffixes[0]}"
    return Unpaired(name=name, lacks="caption", expected=expected, because="mask")


def _beside(groups: Sequence[FileGroup], rule: Rule) -> tuple[str, ...]:
    """Say which other files stand beside more than half of the images that lack a caption."""
    told: Counter[str] = Counter()
    lacking = 0
    for one in groups:
        if rule.images_of(one.suffixes) and not rule.captions_of(one.suffixes):
            lacking += one.many
            others = {extension_of(two) for two in one.suffixes if not is_image_suffix(two)}
            told.update(dict.fromkeys(others, one.many))
    for marker in (TABLE, MEANT):
        told.pop(extension_of(marker), None)
    return tuple(extension for extension, count in told.most_common(3) if 2 * count > lacking)


def _unpaired(
    groups: Sequence[FileGroup],
    alike: Sequence[FileGroup],
    rule: Rule,
    links: Mapping[str, Sequence[str]],
    apart: Mapping[str, AbstractSet[str]],
) -> Iterator[Unpaired]:
    """Give each sample that lacks something, once."""
    kinds = {one.suffixes for one in alike}
    dotted = {kind for kind in kinds if any(map(rule.is_stray, kind))}
    uneven = dotted | {
        kind for kind in kinds if bool(rule.images_of(kind)) != bool(rule.captions_of(kind))
    }
    if not uneven:
        return
    for one in groups:
        if one.suffixes not in uneven:
            continue
        taken, captions = rule.images_of(one.suffixes), rule.captions_of(one.suffixes)
        stray = _stray(one, rule, taken, captions) if one.suffixes in dotted else None
        if stray is not None:
            yield from stray
            continue
        images = [suffix for suffix in one.suffixes if is_image_suffix(suffix)]
        elsewhere = apart.get(one.key, frozenset())
        if taken and not captions:
            instead, because = _instead_of_caption(one, rule, links.get(one.key, ()), elsewhere)
            yield Unpaired(
                name=f"{one.key}.{taken[0]}",
                lacks="caption",
                expected=_expected_caption(one, rule),
                instead=instead,
                because=because,
            )
        elif captions and not taken and "image" not in elsewhere and not may_be(one.suffixes):
            linked = [suffix for suffix in links.get(one.key, ()) if is_image_suffix(suffix)]
            instead = f"{one.key}.{(images or linked)[0]}" if images or linked else None
            yield Unpaired(
                name=f"{one.key}.{captions[0]}",
                lacks="image",
                expected=f"{one.key}.{_taken_for([*images, *linked], rule)}",
                instead=instead,
                because=_why_not_taken(images, rule) if images else "link" if linked else "",
            )


def _expected_caption(one: FileGroup, rule: Rule) -> str:
    if rule.captions[0] == TABLE:
        return "metadata.jsonl"
    return f"{one.key}.{rule.captions[0]}"


def _stray(
    one: FileGroup, rule: Rule, taken: Sequence[str], texts: Sequence[str]
) -> list[Unpaired] | None:
    """Tell what a dot more in a name has parted from its sample: the key ends at the first one.

    None where a dot more makes no difference to what is lacking.
    """
    stray = [suffix for suffix in one.suffixes if rule.is_stray(suffix)]
    images = [suffix for suffix in stray if is_image_suffix(suffix)]
    captions = [suffix for suffix in stray if extension_of(suffix).lower() in rule.captions]
    if taken and texts:
        # Where most samples have such fields, these are more of them: pages, or frames.
        more = any(suffix.lower() in rule.fields for suffix in one.suffixes)
        return [] if more else _of_dots(one.key, images, captions)
    if taken or texts:
        if len(images) > 1 and not taken:
            return []
        instead = captions if taken else images
        return [_misread(one, rule, [*taken, *texts][0], instead[0])] if instead else None
    if images and captions:
        pairs = _of_dots(one.key, images, captions)
        return pairs or [_misread(one, rule, images[0], captions[0])]
    if images:
        expected = _expected_caption(one, rule)
        return [Unpaired(name=f"{one.key}.{images[0]}", lacks="caption", expected=expected)]
    return None


def _of_dots(key: str, images: Sequence[str], captions: Sequence[str]) -> list[Unpaired]:
    """Tell pairs that are part of another sample, and how each would be one of its own."""
    heads = {head_of(suffix) for suffix in captions}
    return [
        Unpaired(
            name=f"{key}.{suffix}",
            lacks="key",
            expected=f"{key}_{head_of(suffix).replace('.', '_')}.{extension_of(suffix)}",
            because="dots",
        )
        for suffix in images
        if head_of(suffix) in heads
    ]


def _misread(one: FileGroup, rule: Rule, there: str, suffix: str) -> Unpaired:
    """Tell what stands beside the half that is there, and is read as a field of another name."""
    extension = extension_of(suffix)
    lacks = "caption" if is_image_suffix(there) else "image"
    return Unpaired(
        name=f"{one.key}.{there}",
        lacks=lacks,
        expected=f"{one.key}.{_taken_for([suffix], rule) if lacks == 'image' else extension}",
        instead=f"{one.key}.{suffix}",
        because="double" if is_doubled(head_of(suffix)) else "dots",
    )


def _apart(groups: Sequence[FileGroup], rule: Rule) -> dict[str, set[str]]:
    """Say which keys are met more than once in an archive, and what stands in their groups."""
    met = Counter(keys_of(groups))
    twice: dict[str, set[str]] = {key: set() for key, count in met.items() if count > 1}
    for one in groups:
        if one.key in twice:
            twice[one.key] |= {"image"} if rule.images_of(one.suffixes) else set()
            twice[one.key] |= {"caption"} if rule.captions_of(one.suffixes) else set()
    return twice


def _instead_of_caption(
    one: FileGroup, rule: Rule, links: Sequence[str], elsewhere: AbstractSet[str]
) -> tuple[str | None, str]:
    """Find what was meant to be the caption, and why it is not read as one."""
    for suffix in links:
        if rule.is_caption(suffix):
            return f"{one.key}.{suffix}", "link"
    if "caption" in elsewhere:
        return f"{one.key}.{rule.captions[0]}", "apart"
    for suffix in one.suffixes:
        if extension_of(suffix).lower() in rule.captions and not rule.is_stray(suffix):
            return f"{one.key}.{suffix}", "case"
    for suffix in one.suffixes:
        if extension_of(suffix).lower() in TEXTS and not rule.is_stray(suffix):
            return f"{one.key}.{suffix}", "extension"
    return None, ""


def _taken_for(images: Sequence[str], rule: Rule) -> str:
    """Give the extension that would be taken, and is the nearest to what is there."""
    there = extension_of(images[0]).lower() if images else "jpg"
    same = next((one for one in SAME_FORMAT if there in one), frozenset({there}))
    return min(
        rule.images or (there,),
        key=lambda one: (one.lower() != there, one.lower() not in same),
    )


def _why_not_taken(images: Sequence[str], rule: Rule) -> str:
    small = {one.lower() for one in rule.images}
    return "case" if extension_of(images[0]).lower() in small else "extension"
