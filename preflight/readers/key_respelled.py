"""Finds the spelling of paths under which a cache was made, where the job's leads to nothing."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from preflight.facts import Respelled
from preflight.readers.key_compared import Compared
from preflight.readers.key_layouts import Finder, Way, captions_for
from preflight.readers.key_sample import Sample
from preflight.readers.key_samples import SPELLINGS, folder_as, values_of

# Samples without an entry by which other spellings are tried.
_FEW = 500


def respelled(
    found: Compared, ways: Iterable[Way], samples: Iterable[Sample], finder: Finder
) -> Respelled | None:
    """Find the spelling that leads most of the samples without an entry to one.

    Args:
        found: by the job's own spelling.
        ways: that its rule leaves open.
        samples: all of them.
        finder: of entries.
    """
    rule = found.way.rule
    lost = found.samples - found.matched
    if not lost or not len(finder.entries) or not rule.needs & {"path", "relative", "name"}:
        return None
    hits = {
        Way(rule=rule, layout=layout, spelling=spelling): 0
        for spelling in SPELLINGS
        if "path" in rule.needs or spelling.folder == "said"
        for layout in dict.fromkeys((found.way.layout, *(way.layout for way in ways)))
    }
    step = max(1, lost // _FEW)
    for one in itertools.islice(found.without_entry(samples), 0, None, step):
        captions = captions_for(one, rule)
        for way in hits:
            hits[way] += bool(finder.find(one, way, captions))
    best = max(hits, key=lambda way: hits[way])
    return _told(found, best, samples, finder) if hits[best] else None


def _told(found: Compared, way: Way, samples: Iterable[Sample], finder: Finder) -> Respelled:
    """Count whom a spelling leads to an entry, and show how it differs."""
    number, first = 0, None
    for one in found.without_entry(samples):
        if finder.find(one, way, captions_for(one, way.rule)):
            number += 1
            if first is None or one.home.shown(one) < first.home.shown(first):
                first = one
    assert first is not None  # noqa: S101  one of a few has led to it
    data, spelling = first.home.data, way.spelling
    said = folder_as(data, "said", finder.root)
    other = folder_as(data, spelling.folder, finder.root)
    of_folder = data.folder is not None and spelling.folder != "said"
    return Respelled(
        samples=number,
        said=values_of(first, said)["path"],
        made=values_of(first, other, spelling.extension)["path"],
        folder=said if of_folder else None,
        other_folder=other if of_folder else None,
    )
