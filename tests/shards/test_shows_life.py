"""A shard that takes long shows that work goes on, whatever is in it."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from preflight.file_access.place import HERE
from preflight.shards.read import read_shard
from preflight.targets.targets import CaptionRule, Shard
from tests.archives import shard_facts, tarred


def longest_silence(folder: Path, content: bytes) -> tuple[int, float]:
    """Read a shard; give how often anything was told, and the seconds of the longest silence.

    Whenever it is told, it is known how much was read up to then.
    """
    (folder / "x.tar").write_bytes(content)
    times = [time.monotonic()]
    places: list[int] = []
    shard = Shard(path="x.tar", captions=CaptionRule(rule="none"))

    def tell(_: str) -> None:
        times.append(time.monotonic())
        places.append(HERE.at)

    HERE.at, HERE.size = 0, 0
    read_shard(shard, str(folder), tell)
    assert places == sorted(places)
    assert HERE.size == len(content)
    assert HERE.size / 2 < HERE.at <= HERE.size
    times.append(time.monotonic())
    return len(times), max(then - now for now, then in pairwise(times))


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda content: gzip.compress(content, 1),
    "bzip2": lambda content: bz2.compress(content, 1),
    "xz": lambda content: lzma.compress(content, preset=0),
}


@pytest.mark.parametrize("packer", PACKERS)
def test_a_packed_shard_without_images_is_never_silent(tmp_path: Path, packer: str) -> None:
    chance = random.Random(0)
    whole = tarred({f"{number}.bin": chance.randbytes(1 << 19) for number in range(8)})

    told, silence = longest_silence(tmp_path, PACKERS[packer](whole))

    assert told > len(whole) >> 19
    assert silence < 1


def test_a_shard_that_is_packed_to_nearly_nothing_is_never_silent(tmp_path: Path) -> None:
    """Little is read, and much is unpacked."""
    whole = tarred({"a.bin": bytes(40 << 20)})

    told, silence = longest_silence(tmp_path, gzip.compress(whole, 9))

    assert told > 40
    assert silence < 1


def test_a_long_shard_of_small_files_is_never_silent(tmp_path: Path) -> None:
    whole = tarred({f"{number:06}.bin": b"x" for number in range(20_000)})

    told, _ = longest_silence(tmp_path, whole)

    assert told > 20


def test_a_large_array_in_a_packed_shard_is_passed(tmp_path: Path) -> None:
    """It is not held to be looked into: what was unpacked of it is gone when its end is known."""
    array = io.BytesIO()
    np.save(array, np.ones(65 << 20, dtype=np.uint8))
    content = gzip.compress(tarred({"0.npy": array.getvalue(), "1.cls": b"1"}), 1)

    facts = shard_facts(tmp_path, content)

    assert (facts.damage, facts.samples, dict(facts.undecodable)) == ((), 2, {})
