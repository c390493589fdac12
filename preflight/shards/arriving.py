"""Counts the samples of a shard by what they are made of when webdataset hands them on."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from preflight.formats.bytes.flaw import Flaw
from preflight.formats.suffixes.images import is_image
from preflight.pairing.rules import Groups
from preflight.pipelines.arrived import Arrived
from preflight.shards.samples import key_of

_KEYS = 3
"""Samples of a kind that are named."""

_MOST = 200
"""Kinds that are told apart; of what lies beyond, nobody makes a pipeline."""

_AFTER = re.compile(r", after ([\d,]+) of its [\d,]+ bytes").search


class Cut(NamedTuple):
    """The end of a damaged archive."""

    key: str = ""
    field: str = ""
    """The member that the end of the file cuts off, and that readers take for whole."""

    broken: bool = False
    """Whether the last sample lacks something for it."""

    @classmethod
    def of(cls, flaw: Flaw | None, *, broken: bool) -> Cut:
        """Say what stands at the end, by what was said of it.

        tarfile gives what is there of a member of which at least one byte is.
        """
        if flaw is None or flaw.kind != "cut" or flaw.member is None or flaw.quiet:
            return cls(broken=broken)
        said = _AFTER(flaw.text)
        split = key_of(flaw.member)
        if split is None or said is None or said[1] == "0":
            return cls(broken=broken)
        return cls(split[0], split[1].lower(), broken)


def arriving(
    groups: Groups, spoiled: Mapping[int, AbstractSet[str]], cut: Cut
) -> tuple[Arrived, ...]:
    """Count samples by their fields, and by those of them that a decoder refuses."""
    last = len(groups) - 1
    begun = bool(cut.field) and last >= 0 and groups.keys[last] == cut.key
    odd = {*spoiled, *((last,) if last >= 0 and (begun or cut.broken) else ())}
    counted = Counter(groups.made_of)  # most samples are alike, and nothing is wrong with them
    counted.subtract(groups.made_of[number] for number in odd)
    kinds: Counter[_Kind] = Counter()
    for made_of, samples in counted.items():
        kinds[_Kind(_fields(made_of), (), whole=True)] += samples
    names = _first_keys(groups, odd, +counted)
    for number in sorted(odd):
        fields, ill = _fields(groups.made_of[number]), set(spoiled.get(number, ()))
        if number == last and begun:
            fields, ill = _fields((*fields, cut.field)), ill | _ill(cut)
        whole = number != last or not (begun or cut.broken)
        kind = _Kind(fields, tuple(sorted(ill)), whole=whole)
        kinds[kind] += 1
        names[kind].append(groups.keys[number])
    if cut.field and not begun:
        kind = _Kind((cut.field,), tuple(_ill(cut)), whole=False)
        kinds[kind] += 1
        names[kind].append(cut.key)
    return tuple(
        Arrived(one.fields, one.spoiled, samples, tuple(names[one][:_KEYS]), one.whole)
        for one, samples in kinds.most_common(_MOST)
        if samples
    )


class _Kind(NamedTuple):
    """What tells samples apart here."""

    fields: tuple[str, ...]
    spoiled: tuple[str, ...]
    whole: bool


def _fields(made_of: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({one.lower() for one in made_of}))


def _first_keys(
    groups: Groups, odd: AbstractSet[int], counted: Mapping[tuple[str, ...], int]
) -> defaultdict[_Kind, list[str]]:
    """Give the keys of the first few samples of each kind, and look no further than needed."""
    missing = {made_of: min(_KEYS, samples) for made_of, samples in counted.items()}
    names: defaultdict[_Kind, list[str]] = defaultdict(list)
    for number, made_of in enumerate(groups.made_of):
        if not missing:
            break
        if made_of in missing and number not in odd:
            names[_Kind(_fields(made_of), (), whole=True)].append(groups.keys[number])
            missing[made_of] -= 1
            if not missing[made_of]:
                del missing[made_of]
    return names


def _ill(cut: Cut) -> set[str]:
    return {cut.field} if is_image(f"x.{cut.field}") else set()
