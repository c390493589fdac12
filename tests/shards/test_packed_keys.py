"""Keys are packed into a few bytes, and those that two shards share are found again."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import pytest

from preflight.datasets.key_names import name_keys
from preflight.shards.packed_keys import Pair, SampleIndex, hash_of, pack, pairs, shared
from tests.archives import samples, shard_facts, tarred


def index_of(*shards: Sequence[tuple[str, int]]) -> SampleIndex:
    """Build an index of shards, each of (key, size)."""
    index = SampleIndex()
    for one in shards:
        index.add(pack([key for key, _ in one], [size for _, size in one]))
    return index


def told(index: SampleIndex) -> list[tuple[int, int, int, int]]:
    return [(one.first, one.other, one.samples, one.alike) for one in pairs(index, range(99))]


def many(count: int, shard: int) -> list[tuple[str, int]]:
    return [(f"{shard:05}{number:06}", number) for number in range(count)]


def test_shards_of_other_keys_share_nothing() -> None:
    assert told(index_of(many(100, 0), many(100, 1), [])) == []
    assert told(index_of()) == told(index_of([])) == []


def test_keys_of_two_shards_are_counted_by_pairs_and_by_size() -> None:
    first, second = [("a", 1), ("b", 2), ("c", 3)], [("x", 1), ("b", 2), ("c", 9)]

    assert told(index_of(first, [("y", 0)], second)) == [(0, 2, 2, 1)]


def test_a_key_twice_in_one_shard_is_no_business_of_two() -> None:
    assert told(index_of([("a", 1), ("a", 1)], [("b", 1)])) == []
    assert told(index_of([("a", 1), ("a", 1)], [("a", 1), ("a", 1)])) == [(0, 1, 1, 1)]


def test_a_key_in_many_shards_is_told_with_the_first() -> None:
    assert told(index_of(*[[("a", 1)]] * 4)) == [(0, 1, 1, 1), (0, 2, 1, 1), (0, 3, 1, 1)]


def test_a_great_index_finds_what_a_small_one_finds() -> None:
    """Beyond some number of samples numpy looks."""
    chance = random.Random(5)
    shards = [many(20_000, number) for number in range(6)]
    shared = chance.sample(shards[0], 70)
    shards[3] += shared
    shards[5] += [(key, size + 1) for key, size in shared[:20]]

    found = told(index_of(*shards))

    assert found == [(0, 3, 70, 70), (0, 5, 20, 0)]


@pytest.mark.parametrize("count", [1_000, 200_000])
def test_a_sample_takes_sixteen_bytes_at_most(count: int) -> None:
    """Beside what sorting takes, which does not grow with the data set."""
    packed = [pack([key for key, _ in one], [0] * len(one)) for one in [many(count, 0)] * 2]
    index = SampleIndex()
    index.add(packed[0])
    tracemalloc.start()
    for _ in range(9):
        index.add(packed[1])
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert taken / (10 * count) <= 16


@pytest.mark.parametrize("key", ["", "dog", "数据/1", "\udcff", "a" * 10_000])
def test_any_key_is_told_from_others(key: str) -> None:
    assert hash_of(key) != hash_of(f"{key}x")
    assert told(index_of([(key, 1)], [(key, 1)])) == [(0, 1, 1, 1)]


def test_keys_are_named_by_what_is_known_of_them(tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_bytes(tarred(samples(5)))
    hashes = [hash_of(one) for one in ("dog-0003", "cat", "dog-0001")]

    found = name_keys(str(tmp_path / "x.tar"), str(tmp_path), hashes, lambda _: None)

    assert found.names == ("dog-0003", "", "dog-0001")


def test_a_shard_gives_the_sizes_of_its_samples(tmp_path: Path) -> None:
    """Of all their files; what belongs to no sample counts for none."""
    files = [("a.jpg", b"x" * 10), ("a.txt", b"y"), ("folder/", b""), ("b.jpg", b"z" * 5)]
    facts = shard_facts(tmp_path, tarred(files))

    index = SampleIndex()
    index.add(facts.keys)

    assert list(index.sizes) == [11, 5]
    assert list(index.hashes) == [hash_of("a"), hash_of("b")]


def test_a_sample_that_was_cut_counts_among_those_that_there_are() -> None:
    told = shared(Pair(0, 1, samples=2), ["a.tar", "b.tar"], [4, 1], ["00", "01"])

    assert (told.samples, told.of) == (2, 2)
