"""Finds the entries of a key, and says of which kind each is: latents, text embeddings."""

from __future__ import annotations

import functools
import os
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

# What trainers put behind a key. A hash, and the kind of the model: SimpleTuner. `_1024x0768_sdxl`,
# also behind the frames of a video: kohya's scripts and musubi. `_te_outputs`, `_flux_te`: texts.
_HASH = re.compile(r"([0-9a-f]{128}|[0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{32})[-_.]")
_BEHIND = tuple(
    re.compile(rf"({stem})(?:{tail})", re.DOTALL)
    for tail in (
        r"(?:_\d{2,6}-\d{2,6})?_\d{3,5}x\d{3,5}(?:_[A-Za-z0-9]+)*",
        r"(?:_[A-Za-z0-9]+)?_(?:te|te_outputs|latents?|embeds?|emb|vae|features?)",
    )
    for stem in (".+?", ".+")
)
# What is in every name that one of these fits: most names are told by it alone.
_MARKED = re.compile(
    r"_(?:[0-9]{3,5}x[0-9]{3,5}|(?:te|te_outputs|latents?|embeds?|emb|vae|features?)$)"
)
_NUMBER = re.compile(r"[-_.][0-9]{1,4}$")
_PARTED = re.compile(r"[-_.]")

# An MD5 behind a stem, in the letters of base64 as ai-toolkit writes it, and in hex.
_BASE64 = re.compile(r"[-_.](?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])[A-Za-z0-9_-]{22}")
_HEX = re.compile(r"(?<=[-_.])(?=[a-f]*\d)[0-9a-f]{8,}(?=[-_.]|$)")
_DIGITS = re.compile(r"\d+")
_LENGTH = 23

ANY_HASH, ANY_NUMBER = "*", "#"
"""What stands in a kind for a hash, and for a number."""

ANY_SIZE = "#x#"

OF_TEXT = re.compile(r"_(?:te|te_outputs|embeds?|emb)(?:\.[^./]*)?$")
"""What ends the kind of an entry that is made of a caption, and not of its sample's file."""

# Kinds that are told apart. Names of which each has a kind of its own tell nothing by it.
_MOST = 1_000

# Endings of which it is remembered what kind they are.
_REMEMBERED = 10_000


def kind_of(ending: str) -> str:
    """Say of which kind an entry is by what stands behind its key: `_#x#_sdxl.npz`."""
    folder, slash, behind = ending.rpartition("/")
    stem, suffix = os.path.splitext(behind)
    if _BASE64.fullmatch(stem):
        return f"{folder}{slash}{stem[0]}{ANY_HASH}{suffix}"
    return _DIGITS.sub(ANY_NUMBER, _HEX.sub(ANY_HASH, ending))


def endings_of(stem: str) -> Iterable[tuple[str, str]]:
    """Give each way to part a name in a key and an ending, with the kind of that ending."""
    if len(stem) > _LENGTH and _BASE64.fullmatch(stem, len(stem) - _LENGTH):
        yield stem[:-_LENGTH], f"{stem[-_LENGTH]}{ANY_HASH}"
    for found in _PARTED.finditer(stem, stem.rfind("/") + 2):
        at = found.start()
        yield stem[:at], _DIGITS.sub(ANY_NUMBER, _HEX.sub(ANY_HASH, stem[at:]))


def places_of(name: str, layout: str) -> Iterable[tuple[str, str]]:
    """Part the path of an entry in what a layout leaves free, and the rest that has to fit."""
    if layout == "anywhere":
        at = name.rfind("/") + 1
        yield name[:at], name[at:]
        return
    yield "", name
    at = name.find("/") + 1 if layout == "inner" else 0
    while at:
        yield name[:at], name[at:]
        at = name.find("/", at) + 1


def keys_of(
    name: str, *, by_stem: bool, numbered: bool, endings: AbstractSet[str]
) -> Sequence[str]:
    """Give the keys for which an entry may stand: its whole name, and what others add to.

    Each is the beginning of its name.
    """
    if not by_stem:
        return (name,)
    name = os.path.splitext(name)[0]
    if numbered:
        return tuple(dict.fromkeys((name, _NUMBER.sub("", name))))
    if endings:
        learnt = (key for key, kind in endings_of(name) if kind in endings)
        return tuple(dict.fromkeys((*_without_known(name), *learnt)))
    return _without_known(name)


def _without_known(name: str) -> Sequence[str]:
    """Give a name, and what is left of it without that which trainers are known to add."""
    folder, slash, stem = name.rpartition("/")
    found = _HASH.match(stem)
    if found is not None:
        return (name, f"{folder}{slash}{found[1]}")
    if _MARKED.search(stem) is None:
        return (name,)
    cores = [match[1] for one in _BEHIND if (match := one.fullmatch(stem)) is not None]
    return (name, *dict.fromkeys(f"{folder}{slash}{core}" for core in cores))


class EntryIndex:
    """Finds entries by their keys, of which it holds sixteen bytes each."""

    def __init__(self, keyed: Iterable[tuple[int, str, str]]) -> None:
        hashes, numbers, kinds = array("q"), array("i"), array("i")
        self.kinds = [""]
        """What may be beside a key in the name of an entry; the first stands for whatever else."""

        self.called = [""]
        """The same as it is written, where it is one and the same in all names."""

        self._known: dict[str, int] = {}
        number_of = functools.lru_cache(_REMEMBERED)(self._number_of)
        for number, key, ending in keyed:
            hashes.append(hash(key))
            numbers.append(number)
            kinds.append(number_of(ending))
        order = sorted(range(len(hashes)), key=hashes.__getitem__)
        self._hashes = array("q", [hashes[one] for one in order])
        self._numbers = array("i", [numbers[one] for one in order])
        self._kinds = array("i", [kinds[one] for one in order])

    def _number_of(self, ending: str) -> int:
        kind = kind_of(ending)
        number = self._known.get(kind)
        if number is not None:
            if self.called[number] != ending:
                self.called[number] = kind
            return number
        if len(self.kinds) == _MOST:
            return 0
        self._known[kind] = len(self.kinds)
        self.kinds.append(kind)
        self.called.append(ending)
        return self._known[kind]

    def find(self, key: str) -> tuple[array[int], array[int]]:
        """Give the numbers of the entries of this key, and the places of theirs among `kinds`."""
        wanted, hashes = hash(key), self._hashes
        at = end = bisect_left(hashes, wanted)
        while end < len(hashes) and hashes[end] == wanted:
            end += 1
        return self._numbers[at:end], self._kinds[at:end]
