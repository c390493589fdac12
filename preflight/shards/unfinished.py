"""Holds a shard that ends in zeros against the shards beside it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from preflight.file_access.facts import Damage
from preflight.formats.tar.end import record_of
from preflight.formats.tar.header import BLOCK
from preflight.shards.facts import ShardFacts
from preflight.values.byte_sizes import format_size
from preflight.values.names import counted

_FEWEST = 2
"""Shards beside one, which say how many samples it should have."""


_TELLING = 1 << 17
"""Bytes of a record: of 64 archives of the usual 10,240 bytes, one is made of such records too."""


class Beside(NamedTuple):
    """A shard, as those of its name are held against it."""

    file: str
    samples: int
    size: int
    """Of the file, in bytes."""

    padding: int = 0
    record: int = 0


def unfinished(facts: ShardFacts, beside: Sequence[Beside]) -> ShardFacts:
    """Say that samples are missing where zeros stand, if whole shards beside it have more of them.

    Those have so many samples each. Where no number is usual, it has to have fewer than any but
    one, since the last shard of a data set is often the shortest. Shards of one writer are all of
    whole records, or none is; where all are of one size, that says little, so it is only told,
    unless all others have one number of samples, and others follow it, or tarfile has written it.

    Args:
        facts: of a shard that ends in zeros.
        beside: it, and those that were written with it.
    """
    if not facts.record and not facts.is_of_tarfile:
        facts = replace(facts, record=_record_of_all(facts, beside))
    whole = [one for one in beside if not one.padding]
    if not whole:
        # Others that are padded as it is show how long the records are.
        alike = sum(one.record == facts.record for one in beside) > 1
        fewer = _alone_has_fewer(facts, beside)
        if fewer and facts.record and not _in_records(facts, beside):
            return _damaged(facts, max(one.samples for one in beside))
        is_odd = facts.is_of_tarfile and not alike
        return replace(facts, record=0) if is_odd or fewer else facts
    others = whole if facts.is_of_tarfile else beside
    in_records = facts.record > 0 and _in_records(facts, others)
    if in_records and {one.size for one in others} != {facts.size}:
        return replace(facts, record=0) if facts.is_of_tarfile else facts
    counts = sorted(one.samples for one in whole)
    usual, count = Counter(counts).most_common(1)[0]
    if 2 * count < len(counts):
        usual = counts[min(1, len(counts) - 1)]
    if in_records and not (facts.is_of_tarfile or _alone_has_fewer(facts, beside)):
        return replace(facts, record=0) if facts.samples < usual else facts
    if facts.samples >= usual:  # nothing is missing, and `tar -b` leaves as many zeros by itself
        return replace(facts, record=0) if facts.is_of_tarfile else facts
    # The last one may be short, and of another `tar -b`.
    by_another = facts.record >= _TELLING or (facts.record and not _is_followed(facts, beside))
    if by_another and not facts.is_of_tarfile:
        return replace(facts, record=0)
    return _damaged(facts, usual)


def _record_of_all(facts: ShardFacts, beside: Sequence[Beside]) -> int:
    """Give the records of any length that explain its zeros and the sizes of all: 0 for none.

    Shards of one size may be as long for another reason, and two are of one record by chance.
    """
    sizes = {one.size for one in beside}
    every = math.gcd(facts.size, *sizes)
    if len(beside) <= _FEWEST or sizes == {facts.size}:
        return 0
    return every if facts.padding - 2 * BLOCK < every else 0


def _in_records(facts: ShardFacts, beside: Sequence[Beside]) -> bool:
    """Whether all are of whole records that explain its zeros.

    Those are often longer than the shortest ones of which it can be made by itself. Nothing of
    the kind excuses what tarfile has written, which has one length of records.
    """
    every = math.gcd(facts.size, *(one.size for one in beside))
    if facts.is_of_tarfile:
        return every % facts.record == 0
    return every % facts.record == 0 or record_of(facts.padding, every) > 0


def _damaged(facts: ShardFacts, usual: int) -> ShardFacts:
    text = (
        f"is zeros from some place to its end ({format_size(facts.padding)}), and shards beside it "
        f"have {counted(usual, 'sample')}"
    )
    return replace(facts, damage=(Damage(kind="cut", text=text),), quiet=True)


def _alone_has_fewer(facts: ShardFacts, beside: Sequence[Beside]) -> bool:
    """Whether all others have one number of samples, and it has fewer, and is not the last."""
    others = [one for one in beside if one.file != facts.file]
    counts = {one.samples for one in others}
    if len(others) < _FEWEST or len(counts) != 1 or facts.samples >= counts.pop():
        return False
    return _is_followed(facts, beside)


def _is_followed(facts: ShardFacts, beside: Sequence[Beside]) -> bool:
    """Whether another shard comes after it."""
    return any(_order_of(one.file) > _order_of(facts.file) for one in beside)


def _order_of(file: str) -> list[tuple[int, str]]:
    """Give what shards are sorted by: their numbers, however many digits they have."""
    parts = re.split(r"([0-9]+)", file)
    return [(int(one) if one.isdigit() else 0, one) for one in parts]
