"""Pairs images with what lies beside their folder for each of them: masks, depth maps, labels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from preflight.pairing.facts import SideFolder
from preflight.pairing.folder_contents import FolderContents
from preflight.pairing.side_files import captions_nothing, mask_of

_SIDE = re.compile(
    r"(?:(?P<of>.+)[-_ ])?(?:masks?|masklabels?|labels?|annotations?|annos?|seg|segmentations?|"
    r"segmentationclass|gt|ground[-_]?truths?|depths?|depth[-_]maps?|normals|canny|edges?|mattes?|"
    r"alphas?|trimaps?|openpose|captions?|texts?|conditioning(?:[-_]images?)?|conditions?|targets?)",
    re.IGNORECASE,
)
_IMAGES = re.compile(
    r"(?:.+[-_ ])?(?:images?|imgs?|jpegimages|jpe?gs?|pngs?|rgb|pictures?|photos?|frames?|colou?r|"
    r"inputs?|sources?)",
    re.IGNORECASE,
)

_KIND = re.compile(
    r"mask|label|anno|segm|depth|normal|canny|edge|matte|alpha|trimap|pose|caption|condition|target|"
    r"ground_?truth|(?<![a-z])(?:gt|seg)(?![a-z])"
)

_FEWEST = 4
_NAMED = 5


def kinds_in(text: str) -> frozenset[str]:
    """Say of what a name, or code, speaks that lies beside images: `mask`, `depth`."""
    return frozenset(_KIND.findall(text.lower()))


def beside_images(contents: Sequence[FolderContents]) -> Iterator[SideFolder]:
    """Give each folder that has a file for half of the images of another one, or more; or is empty.

    The two differ in one part of their paths (`images/train`, `masks/train`), by which one is said
    to hold images, and the other what belongs to them.
    """
    parts = {tuple(one.place.split("/")): one for one in contents if one.files or _is_empty(one)}
    parents = {path[:at] for path, one in parts.items() if one.files for at in range(len(path))}
    parts = {path: one for path, one in parts.items() if one.files or path not in parents}
    for path, side in parts.items():
        for at, name in enumerate(path):
            match = _SIDE.fullmatch(name)
            if match is None:
                continue
            others = [
                images
                for other, images in parts.items()
                if other[:at] == path[:at]
                and other[at + 1 :] == path[at + 1 :]
                and len(other) == len(path)
                and _SIDE.fullmatch(other[at]) is None
                and (_IMAGES.fullmatch(other[at]) or other[at] == match["of"])
            ]
            labels = re.search("label|anno", name, re.IGNORECASE) is not None
            found = [*filter(None, (_pair(images, side, labels=labels) for images in others))]
            yield from sorted(found, key=lambda one: -one.pairs)[:1]


def _is_empty(side: FolderContents) -> bool:
    return side.error is None and not side.stems


def _pair(images: FolderContents, side: FolderContents, *, labels: bool) -> SideFolder | None:
    names = {name.rpartition(".")[0]: name for name in images.image_names()}
    its: dict[str, str] = {}
    is_text = True
    for suffixes, joined in side.stems.items():
        is_text &= set(suffixes) == {"txt"}
        for stem in joined.split("/"):
            if not captions_nothing(stem):
                belongs = stem if stem in names else mask_of(stem) or stem
                its[belongs] = f"{stem}.{suffixes[0]}"
    pairs = len(names.keys() & its.keys())
    is_like = pairs >= _FEWEST and 2 * pairs >= max(len(names), len(its))
    if not is_like and (side.files or len(names) < _FEWEST):
        return None
    lacking = sorted(name for stem, name in names.items() if stem not in its)
    alone = sorted(name for stem, name in its.items() if stem not in names)
    return SideFolder(
        file=side.place,
        images=images.place,
        pairs=pairs,
        lacking=len(lacking),
        lacking_names=tuple(lacking[:_NAMED]),
        alone=len(alone),
        alone_names=tuple(alone[:_NAMED]),
        are_labels=is_text and labels,
    )


def apart(side: SideFolder) -> str:
    """Give the part of its path by which it differs from that of the images."""
    own, others = side.file.split("/"), side.images.split("/")
    return next((one for one, other in zip(own, others, strict=False) if one != other), "")
