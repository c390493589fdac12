"""Pairs what lies in folders, by names alone: first what takes no part in it is set aside.

Stems are kept as one text for each set of suffixes, and only those that lack something are looked
at one by one.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from preflight.formats.suffixes.images import may_be
from preflight.pairing.facts import Captioned, CaptionSuffix, Pairing, Unpaired
from preflight.pairing.folder_contents import FolderContents, Stems, count_of, put
from preflight.pairing.folder_tables import by_folder, missing, tabled
from preflight.pairing.misnamed import Meant, match, suffix_by_content
from preflight.pairing.pair import pair
from preflight.pairing.rules import (
    MEANT,
    TABLE,
    FileGroup,
    extension_of,
    in_order,
    is_image_suffix,
    named_extension,
)
from preflight.pairing.side_files import (
    are_for_labels,
    captions_nothing,
    is_spare_folder,
    mask_of,
    variant_of,
)
from preflight.targets.targets import CaptionRule

_TEXTS = frozenset({"txt", "caption", "json"})


@dataclass(slots=True)
class _Part:
    contents: FolderContents
    stems: Stems
    """Without what takes no part in it."""

    spared: int = 0
    """Images that need no caption."""

    captionless: bool = False
    """Whether it holds images, and nothing that might be a caption."""

    meant: Mapping[str, Meant] = field(default_factory=dict)
    """Texts under names that are not read, by the stems of their images."""

    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What else lies beside texts without an image: suffixes, by their stems."""

    usual_image: str | None = None
    """The extension that most of its images have, where something was asked of them."""

    def grouped(self) -> Iterator[FileGroup]:
        """Give one group for all stems that have the same suffixes."""
        for suffixes, joined in self.stems.items():
            first = joined.partition("/")[0]
            yield FileGroup(self.contents.inside(first), suffixes, joined.count("/") + 1)

    def spread(self, lacking: set[str]) -> Iterator[FileGroup]:
        """Give groups as above, those that lack something stem by stem, in the order of names."""
        apart = []
        for group in self.grouped():
            if lacking.isdisjoint(f"{group.key}.{suffix}" for suffix in group.suffixes):
                yield group
            else:
                stems = self.stems[group.suffixes].split("/")
                apart += [FileGroup(self.contents.inside(stem), group.suffixes) for stem in stems]
        yield from sorted(apart, key=lambda one: one.key)


def pair_contents(
    contents: Sequence[FolderContents], rule: CaptionRule, captioned: Sequence[Captioned] = ()
) -> Pairing:
    """Find the images without a caption and the captions without an image of all folders.

    The folder that was named comes first.
    """
    if rule.rule == "auto" and any(map(_is_labelled, contents)):
        rule = CaptionRule(rule="none")
    told = by_folder(captioned)
    parts = [_part(one, contents[0], rule, told.get(one.place, {})) for one in contents]
    bare = [one for one in parts if one.captionless] if rule.rule == "auto" else []
    guessed_by = [group for one in parts if bare and one not in bare for group in one.grouped()]
    grouped = [group for one in parts for group in one.grouped()]
    pairing = pair(grouped, rule, shard=False, guessed_by=guessed_by)
    unpaired = pairing.unpaired
    if unpaired:
        # Groups that lack something are of those that stand for many: each of them is told.
        lacking = {one.name for one in unpaired}
        groups = [group for one in parts for group in one.spread(lacking)]
        by_place = {one.contents.place: one for one in parts}
        for one in parts:
            one.usual_image = _usual_image(one.contents.stems)
        unpaired = tuple(
            _explained(one, by_place, rule)
            for one in pair(groups, rule, shard=False, guessed_by=guessed_by).unpaired
        )
    if 2 * sum(map(_images, bare)) > sum(map(_images, parts)):  # so most need no caption
        unpaired = tuple(one for one in unpaired if one.because != "folder")
    return pairing._replace(
        suffixes=_told_apart(pairing.suffixes, contents),
        images=pairing.images + sum(one.spared for one in parts),
        unpaired=(*unpaired, *missing(captioned, told, contents)),
    )


def _images(part: _Part) -> int:
    return count_of(part.stems, is_image_suffix)


def _told_apart(
    suffixes: Sequence[CaptionSuffix], contents: Sequence[FolderContents]
) -> tuple[CaptionSuffix, ...]:
    """Take `.TXT` for `.txt` where the file system does, as on Windows and macOS."""
    counts: Counter[str] = Counter()
    for suffix, samples in suffixes:
        counts[suffix.lower() if _is_spelled_anyhow(suffix, contents) else suffix] += samples
    return in_order(CaptionSuffix(*one) for one in counts.items())


def _is_spelled_anyhow(suffix: str, contents: Sequence[FolderContents]) -> bool:
    for one in contents:
        for stem in one.holding(suffix):
            path = os.path.join(one.path, stem)
            other = f"{path}.{suffix.swapcase()}"
            if other != f"{path}.{suffix}" and os.path.lexists(other):
                return os.path.samefile(other, f"{path}.{suffix}")
            return False
    return False


def _usual_image(stems: Stems) -> str | None:
    """Give the extension of most images, of two that are as many the first by the alphabet."""
    counts: Counter[str] = Counter()
    for suffixes, joined in stems.items():
        for suffix in filter(is_image_suffix, suffixes):
            counts[extension_of(suffix)] += joined.count("/") + 1
    return min(counts, key=lambda one: (-counts[one], one), default=None)


def _is_labelled(one: FolderContents) -> bool:
    return any(
        are_for_labels(suffixes, joined)
        for suffixes, joined in one.stems.items()
        if not _pictured(suffixes)
    )


def _explained(one: Unpaired, parts: Mapping[str, _Part], rule: CaptionRule) -> Unpaired:
    """Say what else is known of an image without a caption, or of a caption without an image."""
    place, _, name = one.name.rpartition("/")
    part = parts[place or ("/" if one.name.startswith("/") else ".")]
    if one.lacks == "image" and not one.because and one.instead is None:
        usual = part.usual_image
        is_taken = usual is not None and usual in (rule.images or (usual,))
        stem = one.expected.rpartition(".")[0]
        # An image that Pillow reads, and no trainer takes: they choose files by their suffixes.
        others = part.others.get(os.path.basename(stem), ())
        for other in (stem, *(f"{stem}.{suffix}" for suffix in others)):
            suffix = suffix_by_content(os.path.join(part.contents.path, os.path.basename(other)))
            if suffix:
                return one._replace(expected=f"{stem}.{suffix}", instead=other)
        return one._replace(expected=f"{stem}.{usual}") if is_taken else one
    if one.lacks != "caption" or one.because:
        return one
    stem = name.rpartition(".")[0]
    meant = part.meant.get(stem)
    if meant is not None:
        expected = f"{stem}.{meant.text.rpartition('.')[2]}"
        inside = part.contents.inside
        instead = inside(meant.text)
        return one._replace(expected=inside(expected), instead=instead, because=meant.because)
    return one._replace(because="folder") if rule.rule == "auto" and part.captionless else one


# --- one folder


def _part(
    one: FolderContents, top: FolderContents, rule: CaptionRule, told: dict[str, bool]
) -> _Part:
    """Set aside what takes no part: texts that caption nothing, and images that need no caption."""
    texts = frozenset(named_extension(rule, small=True)) or _TEXTS
    stems = tabled(one.stems, told) if told else one.stems
    whole, bare, alone = _divided(stems, texts)
    if not whole and not bare:
        return _Part(one, {})  # texts where no image is: of another kind, or in another language
    if not bare and not alone:
        return _Part(one, whole)
    left, others = _captions_in(alone, texts)
    place = os.path.relpath(one.path, top.path).replace(os.sep, "/")
    if not whole and not left:
        if is_spare_folder(place):
            return _Part(one, {}, spared=count_of(bare, is_image_suffix))
        return _Part(one, bare, captionless=True)
    bare, spared = _without_masks(bare, whole)
    meant = _meant(one, bare, left, json=rule.rule == "json")
    for stem in meant:
        left.pop(meant[stem].text.rpartition(".")[0], None)
    part = _Part(one, dict(whole), spared=spared, meant=meant, others=others)
    for suffixes, joined in bare.items():
        put(part.stems, suffixes, [stem for stem in joined.split("/") if stem not in meant])
        put(part.stems, (*suffixes, MEANT), [two for two in joined.split("/") if two in meant])
    for stem in _uncounted(left, whole, bare):
        del left[stem]
    for suffixes in dict.fromkeys(left.values()):
        put(part.stems, suffixes, [stem for stem, those in left.items() if those == suffixes])
    return part


def _divided(stems: Stems, texts: frozenset[str]) -> tuple[Stems, Stems, Stems]:
    """Divide stems into images with captions, images without, and captions without images."""
    whole: Stems = {}
    bare: Stems = {}
    alone: Stems = {}
    for suffixes, joined in stems.items():
        told = any(suffix.lower() in texts or suffix == TABLE for suffix in suffixes)
        if _pictured(suffixes):
            (whole if told else bare)[suffixes] = joined
        elif told:
            alone[suffixes] = joined
    return whole, bare, alone


def _captions_in(
    alone: Stems, texts: frozenset[str]
) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Give the texts that caption something by their names, with their suffixes, and others.

    What may be an image stays among the suffixes of the texts.
    """
    found: dict[str, tuple[str, ...]] = {}
    others: dict[str, tuple[str, ...]] = {}
    for suffixes, joined in alone.items():
        captions = tuple(one for one in suffixes if one.lower() in texts)
        those = (*captions, *(one for one in suffixes if may_be([one])))
        stems = [stem for stem in joined.split("/") if not captions_nothing(stem)]
        found.update(dict.fromkeys(stems, those))
        if len(those) < len(suffixes):
            others.update(dict.fromkeys(stems, tuple(one for one in suffixes if one not in those)))
    return found, others


def _without_masks(bare: Stems, whole: Stems) -> tuple[Stems, int]:
    """Leave out the masks of other images, and count them."""
    stems = (stem for joined in bare.values() for stem in joined.split("/"))
    wanted = {image for stem in stems if (image := mask_of(stem))}
    there = _those_in(wanted, bare, whole)
    if not there:
        return bare, 0
    left: Stems = {}
    for suffixes, joined in bare.items():
        put(left, suffixes, [stem for stem in joined.split("/") if mask_of(stem) not in there])
    return left, count_of(bare, is_image_suffix) - count_of(left, is_image_suffix)


def _meant(
    one: FolderContents, bare: Stems, texts: Mapping[str, tuple[str, ...]], *, json: bool
) -> Mapping[str, Meant]:
    """Find the texts that were meant for images here, and are not read as theirs.

    Downloaders leave a dog.jpg.json, which is a caption only where JSON is asked for.
    """
    plain = {stem: two[0] for stem, two in texts.items() if (two[0].lower() == "json") is json}
    if not plain or not bare:
        return {}
    images = {stem: suffixes[0] for suffixes, those in bare.items() for stem in those.split("/")}
    found = match(images, plain)
    return {
        stem: meant
        for stem, meant in found.items()
        if meant.because == "double" or not _is_read(one.path, stem, meant)
    }


def _is_read(path: str, stem: str, meant: Meant) -> bool:
    """Whether the file system itself takes the two spellings for one, as on Windows and macOS."""
    return os.path.lexists(os.path.join(path, f"{stem}.{meant.text.rpartition('.')[2]}"))


def _uncounted(texts: Mapping[str, object], *pictured: Stems) -> list[str]:
    """Give the texts that caption an image once more: dog_0.txt, dog.en.txt beside dog.jpg."""
    wanted = {stem: image for stem in texts if (image := variant_of(stem)) is not None}
    there = _those_in(set(wanted.values()), *pictured)
    return [stem for stem, image in wanted.items() if image in there]


def _those_in(wanted: set[str], *parts: Stems) -> set[str]:
    there: set[str] = set()
    for joined in itertools.chain(*(stems.values() for stems in parts)) if wanted else ():
        there |= wanted.intersection(joined.split("/"))
    return there


def _pictured(suffixes: Iterable[str]) -> bool:
    return any(map(is_image_suffix, suffixes))
