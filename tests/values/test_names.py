"""Numbers with their nouns."""

from __future__ import annotations

import pytest

from preflight.values.names import counted, with_article


@pytest.mark.parametrize(
    ("number", "noun", "said"),
    [
        (1, "first batch", "1 first batch"),
        (3, "first batch", "3 first batches"),
        (0, "class", "0 classes"),
        (2_000, "shard", "2,000 shards"),
        (3, "epoch", "3 epochs"),
    ],
)
def test_a_noun_is_one_or_many_by_its_number(number: int, noun: str, said: str) -> None:
    assert counted(number, noun) == said


@pytest.mark.parametrize("said", ["a Linear", "an Embedding", "an IdentityMap", "a UNet"])
def test_an_article_goes_by_the_first_letter(said: str) -> None:
    assert with_article(said.partition(" ")[2]) == said
