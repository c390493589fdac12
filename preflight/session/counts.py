"""Counts what was seen of each target, for the page to say."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from preflight.findings.looks import Left
from preflight.kinds.kind import Kind
from preflight.kinds.rooms import kind_of_facts, kinds_of
from preflight.kinds.target import Target
from preflight.values.names import counted

T = TypeVar("T", bound=Target)


@dataclass(slots=True)
class Counts:
    """What was counted of each target that was asked about: images, samples, files."""

    asked: dict[Target, dict[str, int] | None] = field(default_factory=dict)
    """None where nothing was counted, as yet or at all: there may be very many shards."""

    looked_at: defaultdict[str, set[Target]] = field(default_factory=lambda: defaultdict(set))
    """Of which facts came that tell of the job, by what a report calls these."""

    left: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Things that were left out on purpose, by what a report calls them and what each is."""

    _names: defaultdict[tuple[Target, str], set[str]] = field(
        default_factory=lambda: defaultdict(set)
    )
    """Of each and a part of the job, what its loaders or models are called: it may hold several."""

    _left_of: defaultdict[Target, Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    """The same by the target that they are part of, where that is known."""

    gave: defaultdict[Target, set[Kind]] = field(default_factory=lambda: defaultdict(set))
    """The other rows of which facts came of each."""

    beside: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """By the part of the job, what was looked at for the sake of a target of another part: the
    shards, and the files, that a loader says it reads."""

    _summed_up: dict[Target, dict[Kind, list[Any]]] = field(default_factory=dict)
    """Facts of which a page says something together."""

    def take(self, target: Target, facts: Any, kind: Kind | None) -> None:
        """Take in what came of it, and the row whose facts those are."""
        if kind is None or target not in self.asked:
            return
        if kind.of_job:
            self.looked_at[kind.word].add(target)
        if kind.live and type(facts) in kind.facts:
            self._names[target, kind.part].add(facts.name)
        if kind.target is not type(target):
            self.gave[target].add(kind)
        if type(facts) in kind.sums_up:
            self._summed_up.setdefault(target, {}).setdefault(kind, []).append(facts)
        if kind.lacks is not None:
            self.left.update((kind.word, one) for one in kind.lacks(facts))
        numbers = kind.counts(facts) if kind.counts is not None else {}
        if numbers and kind.part and kind.target is None:
            self.beside[kind.part].update(numbers)
        for noun, number in numbers.items():
            sums = self.asked[target] = self.asked[target] or {}
            sums[noun] = sums.get(noun, 0) + number

    def leave(self, look: Left, kind: Kind | None) -> None:
        """Count what was left out on purpose, and the row whose facts it would have given."""
        if look.noun is None:
            return
        self.left[kind.word if kind else "", look.noun] += look.count
        if look.target is not None:
            self._left_of[look.target][look.noun] += look.count

    def number_of(self, target: Target, part: str) -> int:
        """Count the things that a target stands for: the loaders, say, that were made of it."""
        return max(1, len(self._names.get((target, part), ())))

    def remarks(self, targets: Iterable[Target]) -> list[str]:
        """Give what is to be said of targets beside what was counted."""
        said: dict[type, list[str]] = {}
        for target in targets:
            for kind, found in self._summed_up.get(target, {}).items():
                for facts, sum_up in kind.sums_up.items():
                    text = sum_up([one for one in found if type(one) is facts])
                    said.setdefault(facts, []).extend([] if text is None else [text])
        return [those[0] for those in said.values() if len(those) == 1]

    def divided(self, datasets: Iterable[T]) -> list[T]:
        """Give data sets of which a page says something, also where nobody read what is in them."""
        return [one for one in datasets if self.remarks((one,))]

    def summed_up(self, targets: Iterable[Target], part: str) -> str:
        """Say of a part of the job what a page says of all targets together; empty: nothing."""
        found: dict[Kind, list[Any]] = {}
        for target in targets:
            for kind, those in self._summed_up.get(target, {}).items():
                found.setdefault(kind, []).extend(those if kind.part == part else ())
        said = (
            sum_up([one for one in those if type(one) is facts])
            for kind, those in found.items()
            for facts, sum_up in kind.sums_up.items()
            if those
        )
        return "; ".join(filter(None, said))

    def of(self, targets: Sequence[Target]) -> Counter[str]:
        """Sum up what was seen of targets, each of which counts once."""
        total: Counter[str] = Counter()
        for target in dict.fromkeys(targets):
            total.update(self.asked.get(target) or {})
        return total

    def shares(self, row: Kind, targets: Sequence[Target]) -> list[str]:
        """Say how much was seen of targets of a row: `3 of 12 images`, `12 captions`."""
        left: Counter[str] = Counter()
        for target in dict.fromkeys(targets):
            left.update(self._left_of.get(target, {}))
        said = []
        for noun, number in self.of(targets).items():
            without = sum(n for what, n in left.items() if f" {what}".endswith(f" {noun}"))
            # A folder of data counts all that it holds; of others, each file is counted once seen.
            there = number if row.part == "data" and not row.each_file else number + without
            said += [share(max(there - without, 0), there, noun)] if there else []
        return said


def may_come_of(target: Target) -> set[Kind]:
    """Give the other rows of which facts may come of a target."""
    may_give = (facts for one in kinds_of(type(target)) for facts in one.may_give)
    return set(filter(None, map(kind_of_facts, may_give)))


def by_row(targets: Iterable[Target]) -> Iterable[tuple[Kind, list[Target]]]:
    """Give the targets of each row together."""
    found: dict[Kind, list[Target]] = {}
    for target in targets:
        found.setdefault(kinds_of(type(target))[0], []).append(target)
    return found.items()


def share(number: int, of: int, noun: str) -> str:
    """Say how many of so many were looked at: `3 of 12 images`, or `12 images` of all."""
    return f"{number:,} of {counted(of, noun)}" if number < of else counted(of, noun)
