"""Finds the entries that another spelling of a path leads to, or has put into another folder.

Of entries in folders of the cache that no rule names, it writes rules that do.
"""

from __future__ import annotations

import itertools
import posixpath
from collections.abc import Callable, Iterable, Iterator

from preflight.keys.compare import Compared
from preflight.keys.facts import Respelled
from preflight.keys.layouts import UNSURE, Finder, Way, captions_for
from preflight.keys.samples.of_data_sets import SAID, SPELLINGS, Spelling, differs, values_of
from preflight.keys.samples.sample import Sample
from preflight.settings.key_rule import KeyRule, parse_rule
from preflight.values.tally import NAMED

# Samples without an entry by which other spellings are tried.
_FEW = 500

# What tells a file of a data set from those of the same name in its other folders.
_WITH_FOLDERS = {"stem": "key", "name": "relative"}


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
        plain = {
            layout: bool(finder.find(one, Way(rule=rule, layout=layout), captions)[0])
            for layout in {way.layout for way in hits if not way.again}
        }
        for way in hits:  # no spelling is at fault for what lies elsewhere as it is spelled
            if way.again or not plain[way.layout]:
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


def led_below(
    found: Compared, names: Iterable[str], by: Callable[[KeyRule], Compared], *, nested: bool
) -> Iterator[tuple[str, Compared]]:
    """Give rules that name the folders of the entries that were found, and lead to as many.

    Args:
        found: by a rule that leads to them wherever they lie.
        names: of all entries, below the cache.
        by: compares by a rule.
        nested: whether samples lie in folders of their data set.
    """
    led = (name for is_led, name in zip(found.used, names, strict=True) if is_led)
    for text in _templates(found.way.rule, led, nested=nested):
        other = by(parse_rule(text))
        if other.way.layout not in UNSURE and other.matched >= found.matched:
            yield text, other


def _templates(rule: KeyRule, names: Iterable[str], *, nested: bool) -> Iterator[str]:
    """Give templates that may lead to these entries, the plainest first."""
    folders: dict[str, None] = {}
    suffix = ".pt"
    for name in names:
        folder = posixpath.dirname(name)
        if folder and folder not in folders:
            suffix = posixpath.splitext(name)[1] if not folders else suffix
            folders[folder] = None
            if len(folders) == NAMED:
                break
    inner = rule.text if "{" in rule.text else f"{{{rule.text}}}{suffix}"
    wider = _WITH_FOLDERS.get(rule.text) if nested else None
    beside = [posixpath.join(posixpath.dirname(one), "{dataset}") for one in folders]
    heads = [*sorted(one for one in folders if "{" not in one), *dict.fromkeys(beside)]
    if wider is not None:
        yield f"{{{wider}}}{suffix}"
        above = (head for folder in folders if "{" not in folder for head in _above(folder))
        yield from (f"{head}/{{{wider}}}{suffix}" for head in dict.fromkeys((*above, *beside)))
    yield from (f"{head}/{inner}" for head in heads)


def _above(folder: str) -> Iterator[str]:
    """Give a folder and those in which it lies, the outermost first."""
    parts = folder.split("/")
    for count in range(1, len(parts) + 1):
        yield "/".join(parts[:count])
