"""Finds images without a caption in shards that by themselves do not say what captions are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from preflight.datasets.facts import Uncaptioned
from preflight.pairing.rules import (
    TEXTS,
    FileGroup,
    Rule,
    captions_of_a_few,
    head_of,
    is_image_suffix,
    settle,
)
from preflight.pipelines.arrived import Arrived, Lacking
from preflight.pipelines.facts import Reads
from preflight.pipelines.fates import lacking
from preflight.shards.facts import SampleFields
from preflight.targets.targets import CaptionRule


class Undecided(NamedTuple):
    """A shard of whose images no more than half have a text for a caption."""

    file: str
    arrived: tuple[Arrived, ...]
    captions: CaptionRule
    decided_by: str = ""
    """As of `ShardFacts`."""

    given_whole_by: str = ""
    """As of `ShardFacts`."""

    reads: Reads | None = None
    """The pipeline that the sources write out for it, where no loader was made."""


def has_no_texts(arrived: Iterable[Arrived]) -> bool:
    """Whether captions of a shard, by itself, are none or others than texts.

    Tools of download put JSON beside each image, whether or not there is a caption.
    """
    rule = _of_itself(arrived, CaptionRule())
    return rule is None or rule.captions[0] not in TEXTS


def _of_itself(arrived: Iterable[Arrived], given: CaptionRule) -> Rule | None:
    groups = [FileGroup(str(n), one.fields, one.samples) for n, one in enumerate(arrived)]
    return settle(groups, given, shard=True)


def without_caption(
    whole: SampleFields, shards: Iterable[Undecided]
) -> tuple[tuple[Uncaptioned, ...], int]:
    """Hold each such shard against what most images of the whole data set have.

    Gives also how many images of the data set have it.
    """
    found: list[Uncaptioned] = []
    captioned = 0
    groups = [FileGroup(str(n), one.fields, one.samples) for n, one in enumerate(whole.sets)]
    for shard in shards:
        rule = settle(groups, shard.captions, shard=True)
        own = _of_itself(shard.arrived, shard.captions)
        if rule is None or (own is not None and own.captions[0] == rule.captions[0]):
            continue  # each of its samples is told
        captioned = sum(one.many for one in groups if _is_pair(one.suffixes, rule))
        images = [one for one in shard.arrived if rule.images_of(one.fields) and one.whole]
        lack = [one for one in images if not rule.captions_of(one.fields)]
        if lack:
            found.append(
                Uncaptioned(
                    file=shard.file,
                    samples=sum(one.samples for one in lack),
                    images=sum(one.samples for one in images),
                    keys=tuple(key for one in lack for key in one.keys)[:3],
                    caption=rule.captions[0],
                    decided_by=shard.decided_by,
                    given_whole_by=shard.given_whole_by,
                    asked=_asked(lack, shard.reads, rule),
                )
            )
    return tuple(found), captioned


def _asked(lack: Iterable[Arrived], reads: Reads | None, rule: Rule) -> Lacking | None:
    """Give what a pipeline does with samples that lack a caption for which it asks."""
    each = () if reads is None else lacking(lack, reads)
    return next((one for one in each if not {*one.field}.isdisjoint(rule.captions)), None)


def few_texts(whole: SampleFields, shards: Iterable[Undecided]) -> tuple[int, int]:
    """Count the images that have a text, and all, where shards have JSON for most of them."""
    rules = {one.captions for one in shards}
    if len(rules) != 1:
        return 0, 0
    groups = [FileGroup(str(n), one.fields, one.samples) for n, one in enumerate(whole.sets)]
    given = rules.pop()
    rule = settle(groups, given, shard=True)
    if rule is None or rule.captions[0] != "json":
        return 0, 0
    images = sum(one.many for one in groups if rule.images_of(one.suffixes))
    return captions_of_a_few(groups, given, shard=True)[1], images


def _is_pair(suffixes: tuple[str, ...], rule: Rule) -> bool:
    return bool(rule.images_of(suffixes) and rule.captions_of(suffixes))


def dotted_fields(whole: SampleFields) -> tuple[tuple[str, ...], int]:
    """Give the fields of samples where all of a sample begin alike: `v2.jpg` and `v2.txt`.

    That tells none from another, and so is the end of a name. The image comes first. Gives also how
    many samples there are; none where any sample with an image has other fields.
    """
    sets = [one for one in whole.sets if any(map(is_image_suffix, one.fields))]
    heads = [{head_of(field) for field in one.fields} for one in sets]
    if whole.more_sets or not all(
        len(one.fields) > 1 and len(head) == 1 and head != {""}
        for one, head in zip(sets, heads, strict=True)
    ):
        return (), 0
    most = max(sets, key=lambda one: one.samples, default=None)
    fields = sorted(most.fields, key=lambda one: not is_image_suffix(one)) if most else ()
    return tuple(fields), sum(one.samples for one in sets)
