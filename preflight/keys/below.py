"""Writes rules that name the folders of a cache in which its entries lie."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator

from preflight.keys.compare import Compared
from preflight.keys.layouts import UNSURE
from preflight.settings.key_rule import KeyRule, parse_rule
from preflight.values.first_few import NAMED

# What tells a file of a data set from those of the same name in its other folders.
_WITH_FOLDERS = {"stem": "key", "name": "relative"}


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
        above = (head for folder in folders for head in _above(folder))
        yield from (f"{head}/{{{wider}}}{suffix}" for head in dict.fromkeys((*above, *beside)))
    yield from (f"{head}/{inner}" for head in heads)


def _above(folder: str) -> Iterator[str]:
    """Give a folder and those in which it lies, the outermost first."""
    parts = folder.split("/")
    for count in range(1, len(parts) + 1):
        yield "/".join(parts[:count])
