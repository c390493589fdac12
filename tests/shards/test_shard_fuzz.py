"""Whatever is changed in a sound shard: no crash, no false alarm, and no sample lost unnoticed."""

from __future__ import annotations

import functools
import random
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from preflight.kinds.asked import CannotLookError
from preflight.shards.facts import ShardFacts
from tests.archives import epoch, shard_facts, tarred

pytestmark = pytest.mark.slow

FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
ROUNDS = 700
"""Of each format."""

SAMPLES = 12
MADE_OF = ("jpg", "json", "txt")


def sound(chance: random.Random, tar_format: int) -> tuple[bytes, tuple[str, ...]]:
    """Pack a shard as people's own ones are: names short and long, in folders and in Chinese.

    Give the names of its files, too.
    """
    folder = chance.choice(["", "a/", "狗/", "folder/" * 20, "./"])
    names = tuple(f"{folder}{n:04}.{suffix}" for n in range(SAMPLES) for suffix in MADE_OF)
    return tarred([(name, b"x" * chance.randrange(1400)) for name in names], tar_format), names


@functools.cache
def samples_of(names: tuple[str, ...], tar_format: int) -> list[tuple[str, frozenset[str]]]:
    """Give what webdataset makes of a sound shard of these names, whatever is in its files."""
    given, raised = epoch(tarred([(name, b"x") for name in names], tar_format))
    assert not raised
    return given


Mutation = Callable[[random.Random, bytearray], bytes]


def flip(chance: random.Random, content: bytearray) -> bytes:
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    return bytes(content)


def flip_in_a_header(chance: random.Random, content: bytearray) -> bytes:
    """With the checksum made right again, half of the time."""
    at = chance.choice(headers(content))
    content[at + chance.randrange(512)] = chance.choice([0, 0x20, 0x30, 0x37, 0x80, 0xFF])
    if chance.random() < 0.5:
        mend(content, at)
    return bytes(content)


def lie_about_a_size(chance: random.Random, content: bytearray) -> bytes:
    at = chance.choice(headers(content))
    sizes = [b"%011o\0" % chance.randrange(1 << 33), b"\x80" + chance.randbytes(11), b"\xff" * 12]
    content[at + 124 : at + 136] = chance.choice(sizes)
    mend(content, at)
    return bytes(content)


def cut(chance: random.Random, content: bytearray) -> bytes:
    at = chance.randrange(len(content))
    return bytes(content[: at // 512 * 512 if chance.random() < 0.5 else at])


def lose(chance: random.Random, content: bytearray) -> bytes:
    begin = chance.randrange(len(content))
    begin = begin // 512 * 512 if chance.random() < 0.5 else begin
    end = begin + chance.choice([1, 512, 1024, 4096, len(content)])
    if chance.random() < 0.5:
        content[begin:end] = bytes(min(end, len(content)) - begin)
    else:
        del content[begin:end]
    return bytes(content)


def repeat(chance: random.Random, content: bytearray) -> bytes:
    begin = chance.randrange(len(content)) // 512 * 512
    end = begin + 512 * chance.randrange(1, 9)
    at = chance.randrange(len(content)) // 512 * 512
    return bytes(content[:at] + content[begin:end] + content[at:])


def go_on(chance: random.Random, content: bytearray) -> bytes:
    return bytes(content) + chance.choice([bytes(content), chance.randbytes(700), bytes(5000)])


MUTATIONS: tuple[Mutation, ...] = (
    *(flip, flip_in_a_header, flip_in_a_header, lie_about_a_size),
    *(cut, lose, repeat, go_on),
)


def headers(content: bytes | bytearray) -> list[int]:
    """Find where headers stand."""
    blocks = range(0, len(content) - 511, 512)
    return [at for at in blocks if content[at + 257 : at + 262] == b"ustar"] or [0]


def mend(content: bytearray, at: int) -> None:
    header = content[at : at + 512]
    content[at + 148 : at + 156] = b"%06o\0 " % (sum(header[:148]) + 8 * 32 + sum(header[156:]))


def is_sound_again(
    content: bytes, given: list[tuple[str, frozenset[str]]], *, raised: bool
) -> bool:
    """Whether what is left is a shard of whole samples, all of them, or with no member unread.

    Nobody can see that of such a shard more samples were written once, or under other names. A
    sample is whole that has its image and its caption.
    """
    files = sum(content[at + 156 : at + 157] == b"0" for at in headers(content))
    whole = all({"jpg", "txt"} <= suffixes for _, suffixes in given)
    all_read = len(given) == SAMPLES or files == sum(len(suffixes) for _, suffixes in given)
    return not raised and whole and all_read


look = functools.partial(shard_facts, rule="textfile")


def is_anything_told(facts: ShardFacts) -> bool:
    """Whether a check has something to say of these facts."""
    pairing = facts.pairing
    return bool(facts.damage or facts.oddities or (pairing is not None and pairing.unpaired))


@pytest.mark.parametrize("tar_format", FORMATS.values(), ids=FORMATS)
def test_what_loses_samples_in_webdataset_is_told(tmp_path: Path, tar_format: int) -> None:
    chance = random.Random(tar_format)
    missed = []
    for number in range(ROUNDS):
        whole, names = sound(chance, tar_format)
        mutation = chance.choice(MUTATIONS)
        content = mutation(chance, bytearray(whole))
        try:
            told = is_anything_told(look(tmp_path, content))
        except CannotLookError:
            continue
        if told:  # and nothing can be missed
            continue
        # tarfile raises whatever it likes: TypeError, OverflowError.
        given, raised = epoch(content, Exception)
        if given == samples_of(names, tar_format) and not raised:
            continue
        if not is_sound_again(content, given, raised=raised):
            missed.append((number, mutation.__name__, len(given), raised))
    assert missed == []


@pytest.mark.parametrize("tar_format", FORMATS.values(), ids=FORMATS)
def test_what_was_not_changed_is_sound(tmp_path: Path, tar_format: int) -> None:
    chance = random.Random(tar_format)
    for _ in range(60):
        content = sound(chance, tar_format)[0] + bytes(512 * chance.randrange(300))
        facts = look(tmp_path, content)
        assert not is_anything_told(facts)
        assert facts.samples == SAMPLES
