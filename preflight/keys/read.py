"""Holds the entries of a cache against the samples they were made of, by names and ages alone."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from preflight.keys.compare import Compared, cased_keys, compare, shared_keys
from preflight.keys.entries import SUFFIXES, Entries
from preflight.keys.entry_kinds import lacked_kinds, lacked_texts
from preflight.keys.facts import CacheKeys, LackedKind, Respelled
from preflight.keys.how_far import RulesTried, may_have_several
from preflight.keys.layouts import UNSURE, Finder, Way, best_way, ways_of, with_endings
from preflight.keys.places import Places, labels_of
from preflight.keys.respelled import led_below, respelled
from preflight.keys.samples.of_data_sets import KeyedSamples
from preflight.keys.samples.sample import Tell
from preflight.kinds.asked import Asked, CannotLookError
from preflight.settings.key_expression import Values
from preflight.settings.key_rule import (
    AUTO,
    AUTO_CAPTIONS,
    AUTO_PATHS,
    AUTO_STEMS,
    KeyRule,
    parse_rule,
)
from preflight.targets.targets import CacheOf
from preflight.users_code.key_function import UsersKey, users_key
from preflight.values.code_name import is_code_name, parse_spec
from preflight.values.names import name_of
from preflight.values.tally import NAMED, First
from preflight.values.wire import from_wire

_NOT_SAID = (None, "auto")

# Of so large a share of the samples, entries that lead to none are of a kind of their own.
_LEARNT = 0.5


def look(asked: Asked) -> Iterator[CacheKeys]:
    """Hold the cache that is asked about against its data sets."""
    owed = from_wire(CacheOf, asked.wire)
    key = key_of(owed, asked)
    with contextlib.nullcontext() if key is None else asked.step(f"call {owed.key}"):
        facts = read_keys(owed, asked.root, asked.alive, key)
    yield facts


def key_of(owed: CacheOf, asked: Asked) -> UsersKey | None:
    """Import the function that makes the keys, where the settings name one."""
    if parse_spec(owed.key or "") is None:
        return None
    return users_key(owed.key or "", asked.options, asked.step)


def read_keys(owed: CacheOf, root: str, tell: Tell, key: UsersKey | None = None) -> CacheKeys:
    """Hold a cache against its data sets.

    Raises:
        OSError: the cache cannot be listed.
        CannotLookError: part of it cannot be listed, or captions that are needed are not known.
    """
    if os.path.isfile(os.path.join(root, owed.path)):
        return CacheKeys(file=name_of(owed.path, root), entry=owed.entry, is_file=True)
    rule = _rule_of(owed, root, key)
    if rule is not None and rule.by_caption and not _has_captions(owed):
        raise CannotLookError(
            'captions = "prompt" says that all samples have one caption, and not which; the keys '
            f"of this cache are {rule.text}"
        )
    caches = [os.path.join(root, one) for one in (owed.path, *owed.others)]
    samples = KeyedSamples(owed.of, root, tell, caches)
    is_there = not owed.is_to_be or os.path.lexists(caches[0])
    look = _Look(owed, root, samples, Entries(caches[0], rule, tell, caches[1:], is_there=is_there))
    if rule is not None:
        return look.facts(look.by((rule,)), ())
    found, tried = look.by_any()
    return look.facts(found or look.by_another_spelling(), tried)


def _rule_of(owed: CacheOf, root: str, key: UsersKey | None) -> KeyRule | None:
    if owed.key is None or owed.key in _NOT_SAID:
        return None
    if not is_code_name(owed.key):
        return parse_rule(owed.key)
    if key is None:
        raise CannotLookError(f"{owed.key} is a function, and nobody has imported it")
    cache, make = os.path.join(root, owed.path), key.make

    def named(values: Values) -> str:
        return _below(make(values["path"], values.get("caption")), cache, root)

    needs = frozenset({"path", "caption"} if key.takes_caption else {"path"})
    return KeyRule(text=owed.key, make=named, needs=needs)


def _below(given: str, cache: str, root: str) -> str:
    """Take what a user's function gave for the path of an entry below the cache, or its stem."""
    with contextlib.suppress(ValueError):  # on another drive of Windows
        inside = os.path.relpath(os.path.join(root, given), cache)
        if not inside.startswith(os.pardir):
            given = inside
    stem, suffix = os.path.splitext(os.path.normpath(given).replace(os.sep, "/"))
    return stem if suffix.lower() in SUFFIXES else stem + suffix


def _has_captions(owed: CacheOf) -> bool:
    return all(data.captions.rule != "prompt" for data in owed.of)


class _Look:
    """One cache and its samples, for all that is asked of them."""

    def __init__(self, owed: CacheOf, root: str, samples: KeyedSamples, entries: Entries) -> None:
        self._owed = owed
        self._root = root
        self._samples = samples
        self._entries = entries
        self._total = 0
        folders: set[str] = set()
        self._nested = self._accented = False
        for one in samples:
            self._total += 1
            self._nested = self._nested or bool(one.folder)
            self._accented = self._accented or not one.name.isascii()
            folders.add(one.folder)
        was_said = owed.key not in _NOT_SAID
        places = Places(entries, owed.of, folders, root, cache=owed.path, was_said=was_said)
        self._finder = Finder(entries, root, places)
        self._respelled: dict[str, Respelled] = {}

    def by(self, rules: Iterable[KeyRule]) -> Compared:
        """Compare by the rule and the layout that lead most samples to an entry."""
        rules = tuple(rules)
        found = self._by([way for rule in rules for way in self._ways(rule)])
        if not len(self._entries):
            return found
        if not found.fits:
            ways = [
                way
                for rule in rules
                if may_have_several(rule)
                for way in self._ways(rule, numbered=True)
            ]
            another = self._by(ways) if ways else found
            found = another if another.fits else found
        return self._by_endings(found, rules)

    def _by_endings(self, found: Compared, rules: Iterable[KeyRule]) -> Compared:
        """Compare by what stands behind the keys of most samples, where that explains more."""
        if len(self._entries) - found.led < self._total * _LEARNT or found.way.rule.by_caption:
            return found
        ways = [found.way] if found.fits else [way for rule in rules for way in self._ways(rule)]
        ways = [
            with_endings(way, self._samples, self._total, self._finder)
            for way in ways
            if may_have_several(way.rule) and "(" not in way.rule.text
        ]
        ways = [way for way in ways if way.endings]
        another = self._by(ways) if ways else found
        explains_more = another.led > found.led and another.matched >= found.matched
        return another if another.fits and explains_more else found

    def _by(self, ways: Sequence[Way]) -> Compared:
        way = best_way(ways, self._samples, self._total, self._finder)
        return compare(way, self._samples, self._finder)

    def by_any(self, but: KeyRule | None = None) -> tuple[Compared | None, tuple[str, ...]]:
        """Compare by the first rule that fits, and say which were tried.

        Of those but one: another one that tells fewer samples apart is no better advice.
        """
        tried: tuple[str, ...] = ()
        if not len(self._entries) or not self._total:
            return None, tried
        for texts in (AUTO, AUTO_CAPTIONS if _has_captions(self._owed) else ()):
            others = [one for one in map(parse_rule, texts) if but is None or one.may_replace(but)]
            tried += tuple(one.text for one in others)
            found = self.by(others) if others else None
            if found is not None and found.fits:
                return found, tried
        return None, tried

    def by_another_spelling(self) -> Compared | None:
        """Compare by a rule that fits once paths are spelled otherwise, where there is one."""
        of_folder = any(one.folder is not None for one in self._owed.of)
        stems = AUTO_STEMS * (self._accented or (of_folder and self._entries.is_deep))
        rules = AUTO_PATHS * of_folder + stems
        for text in rules if len(self._entries) else ():
            rule = parse_rule(text)
            found = self._by(self._ways(rule))
            other = respelled(found, self._ways(rule), self._samples, self._finder)
            if other is None:
                continue
            self._respelled[text] = other
            if min(found.samples, len(self._entries)) < 2 * other.samples:
                return found
        return None

    def _use_captions(self, found: Compared) -> tuple[LackedKind, ...]:
        """Take entries named by captions for no orphans: `text/` in a folder of latents."""
        if found.way.rule.is_shared or found.unused < self._total * _LEARNT or not found.fits:
            return ()
        if not _has_captions(self._owed):
            return ()
        other = self.by(map(parse_rule, AUTO_CAPTIONS))
        if 2 * other.matched <= other.samples:
            return ()
        found.use(other)
        return lacked_texts(other, self._samples)

    def _elsewhere(self, found: Compared) -> tuple[str, ...]:
        """Name the folders in which entries are, where the rule leads to none.

        Where none was said, only one that is called as the data set, of which there is one: its
        path may have been put there once more.
        """
        if found.way.layout not in UNSURE:
            return ()
        names = zip(found.used, self._entries.names(), strict=True)
        tops = {name.partition("/")[0] for is_led, name in names if is_led and "/" in name}
        if self._owed.key in _NOT_SAID:
            of = self._owed.of
            tops &= labels_of(of[0]) if len(of) == len(tops) == 1 else set()
        return tuple(sorted(tops)[:NAMED])

    def _named_below(self, found: Compared) -> str:
        names, by = self._entries.names(), lambda rule: self.by((rule,))
        led = led_below(found, names, by, nested=self._nested)
        samples, finder = self._samples, self._finder
        return next((text for text, one in led if not shared_keys(one, samples, finder)), "")

    def _ways(self, rule: KeyRule, *, numbered: bool = False) -> tuple[Way, ...]:
        return ways_of(rule, self._entries, nested=self._nested, numbered=numbered)

    def facts(self, found: Compared | None, tried: tuple[str, ...]) -> CacheKeys:
        owed, samples = self._owed, self._samples
        bare = CacheKeys(
            file=name_of(owed.path, self._root),
            entry=owed.entry,
            of=tuple(dict.fromkeys(one.name for one in owed.of if one.name)),
            tried=tried,
            samples=self._total,
            entries=len(self._entries),
            others=self._entries.others.count,
            other_names=tuple(self._entries.others.names),
            stores=tuple(self._entries.stores.names),
            unread=tuple(sorted(set(samples.unread))[:NAMED]),
            changed=self._entries.has_changed(),
        )
        if found is not None:
            return self._filled(bare, found)
        finder, nested = self._finder, self._nested
        return RulesTried(
            samples, self._total, self._entries, finder, nested, self._respelled
        ).told(bare)

    def _filled(self, bare: CacheKeys, found: Compared) -> CacheKeys:
        missing = First()
        for one in found.without_entry(self._samples):
            missing.add(one.home.shown(one))
        texts = self._use_captions(found)
        orphans, stale = found.named(self._entries)
        shared = shared_keys(found, self._samples, self._finder)
        rule = found.way.rule
        other = respelled(found, self._ways(rule), self._samples, self._finder)
        instead = None
        if other is None and not found.matched and self._owed.key not in _NOT_SAID:
            instead = self.by_any(but=rule)[0]
        said = None if instead is None else instead.way.rule.text
        if instead is not None and instead.way.layout in UNSURE:
            said = self._named_below(instead) or None
        elsewhere = self._elsewhere(found)
        return replace(
            bare,
            rule=rule.text,
            was_said=self._owed.key not in _NOT_SAID,
            by_caption=rule.is_shared,
            samples=found.samples,
            uncaptioned=found.bare,
            matched=found.matched,
            missing=missing.count,
            missing_names=tuple(missing.names),
            orphans=orphans.count,
            orphan_names=tuple(orphans.names),
            stale=stale.count,
            stale_names=tuple(stale.names),
            younger=found.younger.count,
            younger_names=tuple(found.younger.names),
            dated=found.dated,
            oldest=found.oldest,
            lacked=lacked_kinds(found, self._samples, self._finder) + texts,
            shared=len(shared),
            shared_samples=sum(one.samples for one in shared),
            shared_keys=tuple(shared[:NAMED]),
            cased=cased_keys(found, self._samples, self._finder),
            elsewhere=elsewhere,
            elsewhere_rule=self._named_below(found) if elsewhere else None,
            respelled=other,
            instead=said,
            instead_matched=0 if instead is None else instead.matched,
        )
