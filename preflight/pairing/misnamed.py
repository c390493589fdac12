"""Finds captions that are there under names by which they are not read, and what was meant.

Trainers that read folders (sd-scripts, OneTrainer, SimpleTuner, diffusers' scripts) put the
caption's extension in the place of the image's: `dog.jpg.txt` is no caption of `dog.jpg` to any of
them. On Linux `IMG1.txt` is not `img1.txt`, and a letter with an accent has two spellings.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from preflight.formats.magic import head_of, what_is
from preflight.formats.suffixes.images import PILLOW
from preflight.pairing.facts import Unpaired
from preflight.pairing.rules import is_doubled


def suffix_by_content(path: str) -> str:
    """Give the suffix of what a file begins as an image of; empty where it is none."""
    what, _, kind = (what_is(head_of(path) or b"") or "").partition(" ")
    return PILLOW.get(what.upper(), ("",))[0] if kind == "image" else ""


class Meant(NamedTuple):
    """A text that was meant to caption an image, and why it is not read as its caption."""

    text: str
    """Its file name."""

    because: str


def _loosely(stem: str) -> str:
    """Write all spellings that people take for the same alike."""
    return stem.lower() if stem.isascii() else unicodedata.normalize("NFC", stem).lower()


def _why(one: str, other: str) -> str:
    same = unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", other)
    return "unicode" if same else "letters"


def _unique(stems: Iterable[str]) -> dict[str, str]:
    """Give each stem by its loose spelling, where no other one has the same."""
    found: dict[str, str | None] = {}
    for stem in stems:
        loose = _loosely(stem)
        found[loose] = None if loose in found else stem
    return {loose: stem for loose, stem in found.items() if stem is not None}


def match(images: Mapping[str, str], texts: Mapping[str, str]) -> dict[str, Meant]:
    """Find what was meant for images of one folder, by their stems.

    Takes the stems of images without a caption and of texts without an image, with their suffixes.
    """
    found: dict[str, Meant] = {}
    left = {}
    for stem, suffix in texts.items():
        short, dot, head = stem.rpartition(".")
        if dot and short in images and is_doubled(head):
            found[short] = Meant(f"{stem}.{suffix}", "double")
        else:
            left[stem] = suffix
    if left:
        loose = _unique(stem for stem in images if stem not in found)
        for spelling, stem in _unique(left).items():
            image = loose.get(spelling)
            if image is not None:
                found[image] = Meant(f"{stem}.{left[stem]}", _why(image, stem))
    return found


def joined_by_meaning(found: list[Unpaired]) -> list[Unpaired]:
    """Put an image and the text that was meant for it, of two samples of a shard, into one."""
    images = {_key(one.name): one for one in found if _is_plain(one, "caption")}
    texts = [(_key(one.name), one.name) for one in found if _is_plain(one, "image")]
    meant = match(dict.fromkeys(images, ""), {key: name[len(key) + 1 :] for key, name in texts})
    told = {
        images[key].name: images[key]._replace(
            expected=key + text[len(_key(text)) :], instead=text, because=because
        )
        for key, (text, because) in meant.items()
    }
    dropped = {one.text for one in meant.values()}
    return [told.get(one.name, one) for one in found if one.name not in dropped]


def _key(name: str) -> str:
    """Split off the suffix, which in a shard begins at the first dot of the base name."""
    slash = name.rfind("/") + 1
    return name[: name.index(".", slash)]


def _is_plain(one: Unpaired, lacks: str) -> bool:
    return one.lacks == lacks and not one.because and one.instead is None
