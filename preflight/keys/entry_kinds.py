"""Finds the samples that lack a kind of entries which nearly all others have."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable

from preflight.keys.compare import Compared
from preflight.keys.facts import LackedKind
from preflight.keys.index import ANY_NUMBER, OF_TEXT
from preflight.keys.layouts import Finder
from preflight.keys.samples.caption_texts import is_blank
from preflight.keys.samples.sample import Sample
from preflight.values.tally import First

# The share of samples that have a kind of entries from which on the others lack it. No job reads
# latents without texts, or texts without latents: of these two, more than so many will do.
_MOST = 0.9
_MOST_BESIDE_TEXT = 0.5


def lacked_kinds(
    found: Compared, samples: Iterable[Sample], finder: Finder
) -> tuple[LackedKind, ...]:
    """Find the kinds of entries that samples lack which have another.

    A sample that has an entry of a kind which is not usual may have it in place of the other:
    latents may lie in folders by their shape.
    """
    index = finder.index(found.way)
    usual, counted = _usual(found, index.kinds)
    if len(usual) < 1 + 1:
        return ()
    mixtures = {number: kinds for kinds, number in _mixtures(found).items()}
    few = {number for number, kinds in mixtures.items() if kinds and kinds < usual}
    if not few:
        return ()
    lacked = {kind: First() for kind in usual}
    for number, one in zip(found.held, samples, strict=True):
        if number in few and not one.home.is_mask(one):
            for kind in usual - mixtures[number]:
                if not (OF_TEXT.search(index.kinds[kind]) and is_blank(one.home.captions(one))):
                    lacked[kind].add(one.home.shown(one))
    return tuple(
        LackedKind(
            kind=_shown(index.called[kind]),
            have=counted[kind],
            samples=those.count,
            names=tuple(those.names),
        )
        for kind, those in sorted(lacked.items())
        if those.count
    )


def lacked_texts(found: Compared, samples: Iterable[Sample]) -> tuple[LackedKind, ...]:
    """Find the samples without an entry of their caption, in a cache that holds latents, too."""
    lost = First()
    for one in found.without_entry(samples):
        lost.add(one.home.shown(one))
    kind = f"an entry by {found.way.rule.text}"
    names = tuple(lost.names)
    few = LackedKind(kind=kind, have=found.matched, samples=lost.count, names=names)
    return (few,) if lost.count else ()


def _mixtures(found: Compared) -> dict[frozenset[int], int]:
    return {frozenset(array("i", packed)): one for packed, one in found.mixtures.items()}


def _usual(found: Compared, names: Iterable[str]) -> tuple[frozenset[int], Counter[int]]:
    """Find the kinds that most samples have which have any, and count these samples."""
    counts = Counter(found.held)
    counted: Counter[int] = Counter()
    total = 0
    for kinds, number in _mixtures(found).items():
        total += counts[number] if kinds else 0
        for kind in kinds:
            counted[kind] += counts[number]
    texts = {kind for kind, name in enumerate(names) if OF_TEXT.search(name)}
    often = {kind for kind, count in counted.items() if count > _MOST_BESIDE_TEXT * total}
    is_pair = len(often) == 1 + 1 and len(often & texts) == 1
    least = _MOST_BESIDE_TEXT if is_pair else _MOST
    return frozenset(kind for kind in often if counted[kind] >= least * total and kind), counted


def _shown(kind: str) -> str:
    """Name a kind as a pattern that its names fit."""
    folder, slash, ending = kind.rpartition("/")
    return f"{folder}{slash}*{ending}".replace(ANY_NUMBER, "*")
