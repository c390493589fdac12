"""Numbers with their nouns."""

from __future__ import annotations

import pytest

from preflight.values.names import counted


@pytest.mark.parametrize(
    ("number", "noun", "said"),
    [
        (1, "first batch", "1 first batch"),
        (3, "first batch", "3 first batches"),
        (0, "class", "0 classes"),
        (2_000, "shard", "2,000 shards"),
    ],
)
def test_a_noun_is_one_or_many_by_its_number(number: int, noun: str, said: str) -> None:
    assert counted(number, noun) == said
