"""Finds splits of one data set that have a folder for each class, by the names of folders alone."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from preflight.datasets.first_folders import entries_of, first_folders
from preflight.formats.suffixes.images import is_image
from preflight.targets.repository import are_captioned
from preflight.values.listing import names_in

TRAIN = re.compile(r"train(ing)?|trn", re.IGNORECASE)
SPLIT = re.compile(r"(train|trn|val|valid|dev|test|tst|eval)\w{0,6}", re.IGNORECASE)

_CLASSES = 50_000
"""More than a split has."""

# Folders of a split that are looked into, for captions.
_SOME = 3

# What each image has one of in every folder; dates and numbers of recordings.
_NO_CLASS = re.compile(
    r"(.*_)?(images?|imgs?|rgb|depths?|masks?|mattes?|labels?|annotations?|annos?|gts?|captions?"
    r"|ground_?truths?|segs?|segmentations?|inputs?|targets?|sources?|edges?|sketch(es)?|flows?"
    r"|frames?|videos?|texts?|txts?|lr|hr|sharp|blur(red|ry)?)|[ab]|[\d_-]{4,}",
    re.IGNORECASE,
)

# Whoever reads the splits may go by such a file beside them.
_LISTS = re.compile(
    r".*(class|label|categor|synset|wnid|names|metadata|split).*"
    r"\.(txt|json|jsonl|csv|tsv|ya?ml|pbtxt|pkl|npy)",
    re.IGNORECASE,
)


class Splits(NamedTuple):
    """Two splits, of which the one trains."""

    train: str
    """The whole path."""

    other: str
    listed: bool
    """Whether a list lies beside them that may say which classes there are."""


def splits_in(folders: Iterable[str]) -> Iterator[Splits]:
    """Give the splits in folders of images, or among these, that are alike for the most part.

    That is where a class is missing in one of them, or empty. Few-shot splits have no class in
    common, and a test without labels has none.
    """
    tops = {os.path.normpath(one) for one in folders}
    seen: set[str] = set()
    for top in sorted(tops):
        for place, entries in first_folders(top, SPLIT.fullmatch):
            if place not in seen:
                seen.add(place)
                yield from _pairs(entries)
    above = {os.path.dirname(one) for one in tops if SPLIT.fullmatch(os.path.basename(one))}
    for place in sorted(above - seen):
        yield from (one for one in _pairs(entries_of(place)) if {one.train, one.other} <= tops)


def folders_of_lists(paths: Iterable[str], folders: Iterable[str]) -> Mapping[str, str]:
    """Give the folder of each list that is called as it, where others beside it have lists, too.

    Of `instances_train.json` and `instances_val.json` that is `images/train`, and `images/val`.
    """
    by_word: dict[str, list[str]] = {}
    for path in paths:
        for word in set(re.split(r"[^A-Za-z0-9]+", os.path.basename(path).rpartition(".")[0])):
            by_word.setdefault(word, []).append(path)
    beside: dict[str, dict[str, set[str]]] = {}
    for folder in folders:
        above, _, name = folder.rpartition("/")
        for path in by_word.get(name, ()) if SPLIT.fullmatch(name) else ():
            beside.setdefault(above, {}).setdefault(folder, set()).add(path)
    return {
        path: folder
        for its in beside.values()
        if len(its) > 1
        for folder, those in its.items()
        for path in those
    }


def _pairs(entries: Sequence[os.DirEntry[str]]) -> Iterator[Splits]:
    others = (one for one in entries if not one.is_file(follow_symlinks=False))
    named = sorted((one.name, one.path) for one in others if SPLIT.fullmatch(one.name))
    for name, train in named:
        for its, other in named if TRAIN.fullmatch(name) else ():
            if not TRAIN.match(its) and _are_alike(_classes_in(train), _classes_in(other)):
                is_listed = any(_LISTS.fullmatch(one.name) for one in entries)
                yield Splits(train, other, is_listed)


def _classes_in(split: str) -> dict[str, str]:
    """Give the folders of a split, where each may be a class; else none."""
    entries = entries_of(split, _CLASSES)
    folders = {one.name.casefold(): one.path for one in entries if one.is_dir()}
    beside = any(is_image(one.name) for one in entries)
    return {} if beside or any(map(_NO_CLASS.fullmatch, folders)) else folders


def _are_alike(classes: dict[str, str], its: dict[str, str]) -> bool:
    """Whether the same classes are in both, but for a few that are missing or empty."""
    names, others = {*classes}, {*its}
    shared = len(names & others)
    # `good`, and `good` beside `broken`: no such class is trained on, on purpose.
    least = 1 if others < names else 2
    if len(names) < 2 or shared < least or 2 * shared < len(names | others):
        return False
    if names == others and not any(map(_is_empty, (*classes.values(), *its.values()))):
        return False
    return not any(map(_holds_captions, islice(classes.values(), _SOME)))


def _is_empty(folder: str) -> bool:
    inner = []
    try:
        with os.scandir(folder) as entries:
            for one in entries:
                if is_image(one.name):
                    return False
                if one.is_dir(follow_symlinks=False):
                    inner.append(one.path)
    except OSError:
        return False
    return all(map(_is_empty, inner))


def _holds_captions(folder: str) -> bool:
    names = names_in(folder)
    images = list(filter(is_image, names))
    return bool(images) and are_captioned(images, names)
