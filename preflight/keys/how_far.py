"""How far each rule came that was tried, where none leads from most samples to an entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from preflight.keys.compare import compare
from preflight.keys.entries import Entries
from preflight.keys.facts import CacheKeys, Respelled
from preflight.keys.layouts import Finder, Way, behind_keys, best_way, led_by, ways_of
from preflight.keys.samples.of_data_sets import KeyedSamples
from preflight.settings.key_rule import KeyRule, parse_rule


class RulesTried(NamedTuple):
    """What rules were tried on."""

    samples: KeyedSamples
    total: int
    entries: Entries
    finder: Finder
    nested: bool
    """Whether samples lie in folders of their data set."""

    respelled: Mapping[str, Respelled]
    """By rule, the spelling of paths by which it leads farther."""

    def told(self, bare: CacheKeys) -> CacheKeys:
        """Say how far each rule came."""
        came = [one for text in bare.tried for one in self._how_far(text)]
        return replace(
            bare,
            tried=tuple(text for text, _, _ in came),
            tried_led=tuple(led for _, led, _ in came),
            tried_of=max((asked for _, _, asked in came), default=0),
        )

    def _how_far(self, text: str) -> Iterator[tuple[str, int, int]]:
        """Give a rule, with whom it leads to an entry, and of how many.

        And the same rule with something behind its keys or by other paths, where that leads
        farther: it is nearer to what the job does.
        """
        rule = parse_rule(text)
        ways = ways_of(rule, self.entries, nested=self.nested)
        led, asked = led_by(ways, self.samples, self.total, self.finder)
        if led and rule.by_caption:  # of ways to read captions, one is settled for all
            way = best_way(ways, self.samples, self.total, self.finder)
            led = compare(way, self.samples, self.finder).matched * asked // self.total
        yield text, led, asked
        if may_have_several(rule):
            yield from self._behind(rule, ways, led, asked)
        other = self.respelled.get(text)
        if other is not None and (number := other.samples * asked // self.total) > led:
            yield f"{text} of {other.made}", number, asked

    def _behind(
        self, rule: KeyRule, ways: tuple[Way, ...], led: int, asked: int
    ) -> Iterator[tuple[str, int, int]]:
        numbered = ways_of(rule, self.entries, nested=self.nested, numbered=True)
        number = led_by(numbered, self.samples, self.total, self.finder)[0]
        if number > led:
            yield f"{rule.text} + a number", number, asked
        if "(" in rule.text:
            return
        most, ending = 0, ""
        for way in ways:
            behind, keys = behind_keys(way, self.samples, self.total, self.finder)
            count, here = max(behind.values(), default=(0, ""))
            if count * asked > most * keys:
                most, ending = count * asked // keys, here
        if most > max(led, number, 1):  # and not one by chance
            yield f"{rule.text} + {ending}", most, asked


def may_have_several(rule: KeyRule) -> bool:
    """Whether entries of one sample may be told from each other by what stands behind its key."""
    return rule.shape is None and not rule.placed and not rule.is_shared
