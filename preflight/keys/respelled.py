"""Finds the entries that another spelling of a path leads to, or has put into another folder."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from preflight.keys.compare import Compared
from preflight.keys.data_samples import SAID, SPELLINGS, Spelling, differs, values_of
from preflight.keys.facts import Respelled
from preflight.keys.layouts import Finder, Way, captions_for
from preflight.keys.sample import Sample

# Samples without an entry by which other spellings are tried.
_FEW = 500


def respelled(
    found: Compared, ways: Iterable[Way], samples: Iterable[Sample], finder: Finder
) -> Respelled | None:
    """Find the spelling that leads most of the samples without an entry to one."""
    rule = found.way.rule
    lost = found.samples - found.matched
    spellings = [one for one in SPELLINGS if differs(one, rule.needs)]
    if not lost or not len(finder.entries):
        return None
    hits = {
        Way(rule=rule, layout=layout, spelling=spelling): 0
        for spelling in spellings
        for layout in dict.fromkeys((found.way.layout, *(way.layout for way in ways)))
    }
    if finder.entries.is_deep and not rule.by_caption:
        hits[Way(rule=rule, layout="inner", again=True)] = 0
    if not hits:
        return None
    step = max(1, lost // _FEW)
    for one in itertools.islice(found.without_entry(samples), 0, None, step):
        captions = captions_for(one, rule)
        for way in hits:
            hits[way] += bool(finder.find(one, way, captions)[0])
    best = max(hits, key=lambda way: hits[way])
    return _told(found, best, samples, finder) if hits[best] else None


def _told(found: Compared, way: Way, samples: Iterable[Sample], finder: Finder) -> Respelled:
    """Count whom a spelling leads to an entry, and show how it differs."""
    number, first = 0, None
    for one in found.without_entry(samples):
        if finder.find(one, way, captions_for(one, way.rule))[0]:
            number += 1
            if first is None or one.home.shown(one) < first.home.shown(first):
                first = one
    assert first is not None  # noqa: S101  one of a few has led to it
    data, spelling = first.home.data, way.spelling
    if way.again:
        (entry, *_), _ = finder.find(first, way, None)
        return Respelled(
            samples=number,
            said=data.spelled or data.folder or "",
            made=finder.folders(data, Spelling(folder="bare"))[1],
            below=finder.places.free(first, finder.places.folder(entry)),
        )
    said, other = finder.folders(data, SAID), finder.folders(data, spelling)
    kind = "path" if "path" in way.rule.needs or "absolute" not in way.rule.needs else "absolute"
    folder, other_folder = said[kind == "absolute"], other[kind == "absolute"]
    of_folder = data.folder is not None and folder != other_folder
    return Respelled(
        samples=number,
        said=values_of(first, *said)[kind],
        made=values_of(first, *other, spelling)[kind],
        folder=folder if of_folder else None,
        other_folder=other_folder.replace("/", spelling.slash) if of_folder else None,
    )
