"""Counts what was seen of each target, for the page to say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from preflight.kinds.kind import Kind
from preflight.kinds.target import Target


@dataclass(slots=True)
class Counts:
    """What was counted of each target that was asked about: images, samples, files."""

    _counts: dict[Target, dict[str, int] | None] = field(default_factory=dict)
    """None where nothing was counted, as yet or at all: there may be very many shards."""

    _gave: dict[Target, set[type]] = field(default_factory=dict)
    _summed_up: dict[Target, dict[Kind, list[Any]]] = field(default_factory=dict)
    """Facts of which a page says something together."""

    def begin(self, target: Target) -> None:
        """Take in that a target is asked about."""
        self._counts.setdefault(target, None)

    def take(self, target: Target, facts: Any, kind: Kind | None) -> None:
        """Take in what came of it, and the row whose facts those are."""
        if kind is None or target not in self._counts:
            return
        if kind.target is not type(target):
            self._gave.setdefault(target, set()).add(type(facts))
        if type(facts) in kind.sums_up:
            self._summed_up.setdefault(target, {}).setdefault(kind, []).append(facts)
        numbers = kind.counts(facts) if kind.counts is not None else {}
        if numbers:
            before: Mapping[str, int] = self._counts[target] or {}
            sums = {noun: before.get(noun, 0) + number for noun, number in numbers.items()}
            self._counts[target] = {**before, **sums}

    def has(self, target: Target) -> bool:
        """Whether it was asked about."""
        return target in self._counts

    def gave(self, target: Target) -> set[type]:
        """Give the types of facts of other rows that came of it."""
        return self._gave.get(target, set())

    def remarks(self, targets: Iterable[Target]) -> list[str]:
        """Give what is to be said of targets beside what was counted."""
        said: dict[Kind, list[str]] = {}
        for target in targets:
            for kind, found in self._summed_up.get(target, {}).items():
                for facts, sum_up in kind.sums_up.items():
                    text = sum_up([one for one in found if type(one) is facts])
                    said.setdefault(kind, []).extend([] if text is None else [text])
        return [those[0] for those in said.values() if len(those) == 1]

    def of(self, targets: Sequence[Target]) -> Counter[str]:
        """Sum up what was seen of targets, each of which counts once."""
        total: Counter[str] = Counter()
        for target in dict.fromkeys(targets):
            total.update(self._counts.get(target) or {})
        return total
