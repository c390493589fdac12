"""Every kind of damage to a cached file, beside every healthy file that looks like it.

What torch.load, numpy.load or safetensors would give differently is found, in one finding a file;
what they give as it was written is left alone where nothing is wrong with it.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import struct
import subprocess
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from preflight.cached_files.facts import CacheFacts
from preflight.cached_files.read import read_cache
from preflight.file_access import facts as of_files
from preflight.file_access.lfs import refined
from preflight.formats.bytes.crc import combined
from preflight.formats.stored import look
from preflight.testing import ask
from tests.contents import archive, loaded, of_torch, safetensors, saved, unchecked, written


def facts_of(content: bytes, folder: Path, name: str = "file.pt") -> CacheFacts:
    """Read a file of such bytes; if anything is wrong with it, that is one finding.

    Whichever way it is read, the same is seen.
    """
    path = folder / name
    path.write_bytes(content)
    facts = read_cache(str(path), str(folder), lambda _: None)
    assert len(ask("cache-damaged", facts)) == (facts.damage is not None)
    exact = look(lambda at, size: content[at : at + size], len(content), path.suffix)
    seen = (facts.format, facts.verified, facts.globals)
    assert (exact.format, exact.verified, exact.globals) == seen
    flaw = exact.flaw
    told = flaw and refined(of_files.Damage(kind=flaw.kind, text=flaw.text), str(path)).text
    assert told == (facts.damage and facts.damage.text)
    return facts


def embedding(value: float) -> dict[str, Any]:
    """Make what a trainer caches for one caption, of five pages or so."""
    chance = np.random.default_rng(int(value))
    return {
        "prompt_embeds": torch.from_numpy(chance.standard_normal((77, 64)).astype(np.float32)),
        "mask": torch.ones(77, dtype=torch.bool),
        "pooled": torch.full((512,), value),
    }


def legacy(thing: Any) -> bytes:
    return saved(thing, _use_new_zipfile_serialization=False)


# --- damage ---------------------------------------------------------------------------------------

Damage = Callable[[bytes, bytes, random.Random], bytes]
PAGE = 4096


def page_in(content: bytes, chance: random.Random) -> int:
    return chance.randrange(len(content) // PAGE) * PAGE


def interleaved(one: bytes, other: bytes, chance: random.Random) -> bytes:
    """Take each page from one or the other, as two writers leave them."""
    size = max(len(one), len(other))
    pages = (chance.choice((one, other))[at : at + PAGE] for at in range(0, size, PAGE))
    return b"".join(pages)


def put(content: bytes, at: int, new: bytes) -> bytes:
    return content[:at] + new + content[at + len(new) :]


def joined(one: bytes, other: bytes, at: int, *, lost: int = 0) -> bytes:
    return one[:at] + other[at + lost :]


def flipped(content: bytes, begin: int, end: int, chance: random.Random) -> bytes:
    at = chance.randrange(begin, end)
    return put(content, at, bytes([content[at] ^ 1 << chance.randrange(8)]))


def storage_in(content: bytes) -> tuple[int, int]:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        record = max(file.infolist(), key=lambda one: one.file_size)
    begin = content.index(b"data/0", record.header_offset)
    return begin + PAGE, begin + record.file_size - PAGE


# Each of these, and what torch.load may make of it.
DAMAGES: dict[str, Damage] = {
    "nothing of it": lambda a, _b, _c: a[:0],
    "a page of HTML": lambda _a, _b, c: b"<!DOCTYPE html><html>%d</html>" % c.randrange(9**9),
    "a pointer of Git LFS": lambda _a, _b, c: (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:%064x\nsize %d\n"
        % (c.getrandbits(256), c.randrange(10**9))
    ),
    "all zeros": lambda a, _b, _c: bytes(len(a)),
    "cut anywhere": lambda a, _b, c: a[: c.randrange(1, len(a))],
    "cut at a page": lambda a, _b, c: a[: max(PAGE, page_in(a, c))],
    "a page of zeros": lambda a, _b, c: put(a, page_in(a, c), bytes(PAGE)),
    "a tail of zeros": lambda a, _b, c: a[: page_in(a, c)].ljust(len(a), b"\0"),
    "a bit in a tensor": lambda a, _b, c: flipped(a, *storage_in(a), c),
    "a bit in the pickle": lambda a, _b, c: flipped(a, 64, 500, c),
    "a bit in the directory": lambda a, _b, c: flipped(a, a.index(b"PK\1\2"), len(a), c),
    "pages of two writers": interleaved,
    "a shorter one over it": lambda a, b, _c: b[:-800] + a[len(b) - 800 :],
    "its head and the tail of another": lambda a, b, c: joined(a, b, c.randrange(1, len(a))),
    "a page of another": lambda a, b, c: put(a, at := page_in(a, c), b[at : at + PAGE]),
    "512 bytes lost": lambda a, _b, c: joined(a, a, c.randrange(len(a)), lost=512),
    "much behind it": lambda a, _b, c: a + c.randbytes(c.randrange(70_000, 99_000)),
    "many zeros behind it": lambda a, _b, c: a + bytes(c.randrange(70_000, 99_000)),
}


@pytest.mark.parametrize("way", list(DAMAGES.values()), ids=list(DAMAGES))
def test_damage_that_changes_what_is_loaded_is_found(tmp_path: Path, way: Damage) -> None:
    """What torch refuses, and what it gives without a word; of the same size, and of another."""
    kinds: Counter[str] = Counter()
    for seed in range(30):
        chance = random.Random(seed)
        one, other = embedding(1), embedding(2)
        if seed % 3 == 0:  # another size
            other["pooled"] = torch.full((700,), 2.0)
        first, second = saved(one), saved(other)
        damaged = way(first, second, chance)
        result = loaded(damaged, one, other)
        facts = facts_of(damaged, tmp_path)
        kinds[result] += 1

        assert (facts.damage is not None) or result == "whole", (seed, result)
        assert facts.damage is None or damaged not in (first, second), (seed, facts.damage)

    assert kinds["refused"] + kinds["changed"], "it must do harm"


@pytest.mark.parametrize("seed", range(0, 500, 100))
def test_five_hundred_random_damages_are_found_where_they_change_anything(
    tmp_path: Path, seed: int
) -> None:
    """One of all the ways above, or two of them, one after the other; seeds 0 to 499."""
    one, other = embedding(1), embedding(2)
    first, second = saved(one), saved(other)
    for number in range(seed, seed + 100):
        chance = random.Random(number)
        damaged = first
        for way in chance.sample(list(DAMAGES.values())[4:], chance.choice((1, 1, 2))):
            if len(damaged) > 3 * PAGE and zipfile.is_zipfile(io.BytesIO(damaged)):
                damaged = way(damaged, second, chance)
        result = loaded(damaged, one, other)

        assert facts_of(damaged, tmp_path).damage is not None or result == "whole", number


@pytest.mark.parametrize("write", [unchecked, legacy], ids=["without checksums", "legacy"])
def test_what_has_no_checksums_is_judged_by_its_structure_and_said_to_be_unverified(
    tmp_path: Path, write: Callable[[Any], bytes]
) -> None:
    """What torch refuses is found all the same, but for a few bits of a pickle that still ends."""
    one = embedding(1)
    content = write(one)
    silent = 0
    for seed in range(200):
        chance = random.Random(seed)
        at = chance.randrange(len(content))
        damaged = chance.choice(
            [
                content[:at],
                put(content, at, bytes([content[at] ^ 1 << chance.randrange(8)])),
                content[:at] + content[at + 300 :],
            ]
        )
        facts = facts_of(damaged, tmp_path)
        assert not facts.verified
        silent += facts.damage is None and loaded(damaged, one) == "refused"

    assert silent <= 6


# --- the healthy neighbours -----------------------------------------------------------------------


def aligned(thing: Any) -> bytes:
    """Write it with each record at the beginning of a page."""
    config = of_torch("utils.serialization.config.save")
    before = config.storage_alignment
    config.storage_alignment = PAGE
    try:
        return saved(thing)
    finally:
        config.storage_alignment = before


def renamed(thing: Any, folder: Path) -> bytes:
    """Write it to a name of its own, by which torch calls the folder in it, and move that."""
    torch.save(thing, folder / "some other.name.pt.tmp")
    os.replace(folder / "some other.name.pt.tmp", folder / "moved.pt")
    return (folder / "moved.pt").read_bytes()


def streamed(thing: Any) -> bytes:
    """Write it to what cannot be gone back in, as a pipe."""

    class Pipe(io.RawIOBase):
        held = b""

        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            self.held += bytes(data)
            return len(data)

    pipe = Pipe()
    torch.save(thing, pipe)  # type: ignore[arg-type]
    return pipe.held


def appended(content: bytes) -> bytes:
    """Add a note to it, as `zip` does."""
    out = io.BytesIO(content)
    with zipfile.ZipFile(out, "a") as file:
        file.writestr(f"{file.namelist()[0].partition('/')[0]}/note.txt", "by hand")
    return out.getvalue()


HEALTHY: dict[str, Callable[[Any, Path], bytes]] = {
    "as usual": lambda thing, _: saved(thing),
    "at the beginnings of pages": lambda thing, _: aligned(thing),
    "without checksums": lambda thing, _: unchecked(thing),
    "legacy": lambda thing, _: legacy(thing),
    "protocol 5": lambda thing, _: saved(thing, pickle_protocol=5),
    "legacy of protocol 4": lambda thing, _: saved(
        thing, pickle_protocol=4, _use_new_zipfile_serialization=False
    ),
    "moved": renamed,
    "through a pipe": lambda thing, _: streamed(thing),
    "with 20 bytes behind it": lambda thing, _: saved(thing) + b"x" * 20,
    "with a sector of zeros behind it": lambda thing, _: saved(thing) + bytes(512),
    "with a note in it": lambda thing, _: appended(saved(thing)),
    "with a note in it, and no checksums": lambda thing, _: appended(unchecked(thing)),
    "packed by gzip": lambda thing, _: gzip.compress(saved(thing), mtime=0),
    "legacy, packed by gzip": lambda thing, _: gzip.compress(legacy(thing), mtime=0),
}
THINGS: dict[str, Callable[[], Any]] = {
    "an embedding": lambda: embedding(3),
    "an empty dict": dict,
    "a tuple": lambda: (torch.zeros(5), torch.ones(3)),
    "a view": lambda: torch.arange(10_000.0)[100:200:3],
    "zeros": lambda: torch.zeros(100_000),
    "a tensor of nothing": lambda: torch.zeros(0),
    "a text": lambda: "x" * 70_000,
    "more than is held at once": lambda: torch.arange(700_000.0),
}


@pytest.mark.parametrize("write", list(HEALTHY.values()), ids=list(HEALTHY))
@pytest.mark.parametrize("make", list(THINGS.values()), ids=list(THINGS))
def test_nothing_healthy_is_called_damaged(
    tmp_path: Path, write: Callable[[Any, Path], bytes], make: Callable[[], Any]
) -> None:
    """And torch loads each of them, unpacked where it is packed."""
    content = write(make(), tmp_path)
    plain = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    torch.load(io.BytesIO(plain), weights_only=False)  # which takes all protocols

    assert facts_of(content, tmp_path).damage is None


def test_bytes_behind_an_archive_are_damage_where_torch_does_not_find_its_end(
    tmp_path: Path,
) -> None:
    """It goes back in steps of 4,093 bytes, and must not step in front of the file."""
    results: Counter[str] = Counter()
    for seed in range(300):
        chance = random.Random(seed)
        thing = {"a": torch.arange(chance.choice([1, 500, 5_000, 20_000]))}
        count = chance.choice([0, 1, 512, 4000, 4096, 8192, chance.randrange(75_000)])
        content = saved(thing) + chance.randbytes(count)
        result = loaded(content, thing)
        results[result] += 1

        assert (facts_of(content, tmp_path).damage is None) == (result == "whole"), seed

    assert results["whole"] > 50
    assert results["refused"] > 20


def test_only_files_with_checksums_are_verified(tmp_path: Path) -> None:
    """So that whoever says that a cache is whole can say how much of that is known."""
    verified = {
        name: facts_of(write(embedding(1), tmp_path), tmp_path).verified
        for name, write in HEALTHY.items()
    }

    assert {name for name, known in verified.items() if not known} == {
        "without checksums",
        "with a note in it, and no checksums",
        "legacy",
        "legacy of protocol 4",
    }


# --- more than 4 GiB ------------------------------------------------------------------------------

LARGE = 4_400_000_000


def sparse(path: Path, *, checksum: int) -> None:
    """Write what torch.save writes of 4.4 GB of zeros, in a file that takes no room."""
    content = saved(torch.zeros(1_000, dtype=torch.uint8))
    pickle = content[content.index(b"\x80\x02") : content.index(b"PK\7\x08")]
    pickle = pickle.replace(b"M\xe8\x03", b"\x8a\x05" + LARGE.to_bytes(5, "little"))
    records = {"archive/data.pkl": pickle, "archive/data/0": None, "archive/version": b"3\n"}
    directory = b""
    with open(path, "wb") as file:
        for name, data in records.items():
            size, crc = (LARGE, checksum) if data is None else (len(data), zlib.crc32(data))
            at, large = file.tell(), data is None
            extra = struct.pack("<2H2Q", 1, 16, size, size) if large else b""
            short = 0xFFFFFFFF if large else size
            fields = struct.pack("<5H3L", 45, 0, 0, 0, 0, crc, short, short)
            sizes = struct.pack("<2H", len(name), len(extra))
            file.write(b"PK\3\4" + fields + sizes + name.encode() + extra)
            if data is None:
                file.seek(size, os.SEEK_CUR)
            else:
                file.write(data)
            far = struct.pack("<Q", at) if at > 0xFFFFFFFF else b""
            inner = (extra[4:] if large else b"") + far
            outer = struct.pack("<2H", 1, len(inner)) + inner if inner else b""
            directory += b"PK\1\2" + struct.pack("<H", 45) + fields
            directory += struct.pack(
                "<5H2L", len(name), len(outer), 0, 0, 0, 0, min(at, 0xFFFFFFFF)
            )
            directory += name.encode() + outer
        at = file.tell()
        ends = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 3, 3, len(directory), at)
        ends += struct.pack("<4sLQL", b"PK\6\7", 0, at + len(directory), 1)
        ends += struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 3, 3, len(directory), 0xFFFFFFFF, 0)
        file.write(directory + ends)


def checksum_of_zeros(size: int) -> int:
    """Work out the checksum of so many zero bytes, without having them."""
    found, power, length = 0, zlib.crc32(b"\0"), 1
    while size:
        if size & 1:
            found = combined(found, power, length)
        power = combined(power, power, length)
        length *= 2
        size >>= 1
    return found


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="files with holes differ elsewhere")
def test_an_archive_of_more_than_4_gib_is_read_to_its_end(tmp_path: Path) -> None:
    """Its sizes and places take 64 bits; torch maps it as it is."""
    path = tmp_path / "large.pt"
    assert checksum_of_zeros(100_003) == zlib.crc32(bytes(100_003))
    sparse(path, checksum=checksum_of_zeros(LARGE))
    tensor = torch.load(str(path), mmap=True, weights_only=True)
    assert tensor.shape == (LARGE,)
    del tensor

    facts = read_cache(str(path), str(tmp_path), lambda _: None)
    assert (facts.damage, facts.verified) == (None, True)

    with open(path, "r+b") as file:
        file.seek(LARGE - 1_000_000)
        file.write(b"\x01")
    facts = read_cache(str(path), str(tmp_path), lambda _: None)
    assert facts.damage and facts.damage.kind == "checksum"


# --- other formats --------------------------------------------------------------------------------


NOISE = random.Random(1).randbytes(4102)
ARRAYS = {"a": np.arange(3000.0), "b": np.arange(7)}
OTHERS: dict[str, tuple[str, bytes]] = {
    "npz": ("a.npz", written(np.savez, **ARRAYS)),
    "packed npz": ("a.npz", written(np.savez_compressed, **ARRAYS)),
    "npy": ("a.npy", written(np.save, np.arange(3000.0))),
    "safetensors": (
        "a.safetensors",
        safetensors(a=("F32", [2, 512], NOISE[6:]), b=("BF16", [3], NOISE[:6])),
    ),
    "gzip'd torch": ("a.pt", gzip.compress(saved(embedding(1)), mtime=0)),
}


@pytest.mark.parametrize(("name", "content"), OTHERS.values(), ids=list(OTHERS))
def test_other_formats_are_found_cut_emptied_and_replaced(
    tmp_path: Path, name: str, content: bytes
) -> None:
    """At any place; with zeros, a page and a pointer."""
    assert facts_of(content, tmp_path, name).damage is None
    chance = random.Random(8)
    for damaged in (
        *(content[: chance.randrange(len(content))] for _ in range(60)),
        *(content[:size] for size in (0, 1, 7, 8, 9, len(content) - 1)),
        bytes(len(content)),
        b"<!DOCTYPE html><html></html>",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n",
    ):
        assert facts_of(damaged, tmp_path, name).damage is not None, damaged[:40]


@pytest.mark.parametrize("name", ["npz", "packed npz", "gzip'd torch"])
def test_other_formats_that_have_checksums_are_compared_with_them(
    tmp_path: Path, name: str
) -> None:
    """A bit anywhere is found, or changes nothing: seeds 0 to 299."""
    file, content = OTHERS[name]
    for seed in range(300):
        damaged = flipped(content, 0, len(content), random.Random(seed))
        facts = facts_of(damaged, tmp_path, file)
        if facts.damage is None:
            assert unpacked(damaged) == unpacked(content), seed


def unpacked(content: bytes) -> object:
    if content[:2] == b"\x1f\x8b":
        return gzip.decompress(content)
    with np.load(io.BytesIO(content)) as held:
        return {key: held[key].tobytes() for key in held.files}


# --- hostile --------------------------------------------------------------------------------------


def stored(*records: tuple[str, bytes]) -> bytes:
    return archive(*records, method=zipfile.ZIP_STORED)


def overlapping() -> bytes:
    content = stored(EMPTY, ("x/data/0", b"abc" * 99))
    second = content.rindex(b"PK\1\2")
    return put(content, second + 42, bytes(4))


def planted(folder: Path) -> bytes:
    """A pickle that writes a file when it is loaded."""
    command = f"open({str(folder / 'planted')!r}, 'w').close()".encode()
    return b"\x80\x02c__builtin__\nexec\nX" + struct.pack("<L", len(command)) + command + b"\x85R."


EMPTY = ("x/data.pkl", b"\x80\x02}q\x00.")
VERSION = ("x/version", b"3\n")
HOSTILE: dict[str, tuple[Callable[[Path], bytes], bool]] = {
    "2^32 records": (
        lambda _: (
            b"PK\3\4"
            + bytes(60)
            + struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 2**32, 2**32, 0, 64)
            + struct.pack("<4sLQL", b"PK\6\7", 0, 64, 1)
            + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 65535, 65535, 0, 0xFFFFFFFF, 0)
        ),
        True,
    ),
    "records that overlap": (lambda _: overlapping(), True),
    "a memo of gigabytes": (
        lambda _: stored(("x/data.pkl", b"\x80\x02Nr\xff\xff\xff\xff."), VERSION),
        False,
    ),
    "a text of gigabytes": (
        lambda _: stored(("x/data.pkl", b"\x80\x04\x8d" + b"\xff" * 7 + b"\x7f.")),
        True,
    ),
    "a million marks": (lambda _: stored(("x/data.pkl", b"(" * 400_000), VERSION), True),
    "a bomb for a pickle": (
        lambda _: archive(("x/data.pkl", bytes(200_000_000)), VERSION),
        False,
    ),
    "a bomb for a tensor": (lambda _: archive(EMPTY, ("x/data/0", bytes(300_000_000))), False),
    "a bomb of gzip": (lambda _: gzip.compress(bytes(300_000_000), 1, mtime=0), False),
    "a pickle that runs a program": (
        lambda folder: stored(("x/data.pkl", planted(folder)), VERSION),
        False,
    ),
    "a bare pickle that runs a program": (planted, False),
}

# Reads each file under the limits of one of our processes, and says how much memory that took.
READER = """
import json, sys
sys.path.insert(0, sys.argv[1])
from preflight.cached_files.read import read_cache
facts = read_cache(sys.argv[2], ".", lambda _: None)
with open("/proc/self/status") as status:  # ru_maxrss has what our parent took in it
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
assert "torch" not in sys.modules and "numpy" not in sys.modules
print(json.dumps([facts.damage is not None, peak, facts.globals]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is told in other units elsewhere")
@pytest.mark.parametrize(("make", "damaged"), HOSTILE.values(), ids=list(HOSTILE))
def test_what_was_made_to_do_harm_takes_little_time_and_memory_and_runs_nothing(
    tmp_path: Path, make: Callable[[Path], bytes], *, damaged: bool
) -> None:
    """The whole process stays below 150 MB; what a pickle would call is named."""
    path = tmp_path / "hostile.pt"
    content = make(tmp_path)
    path.write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-S", "-c", READER, str(Path(__file__).parents[2]), str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=tmp_path,
    )
    found, peak, names = json.loads(done.stdout)

    assert found == damaged
    assert peak * 1024 < 150_000_000
    assert not (tmp_path / "planted").exists()
    assert names == (["builtins.exec"] if b"planted" in content else [])


def test_names_that_lead_elsewhere_are_only_names(tmp_path: Path) -> None:
    """Nothing is unpacked to disk, and what a console would obey is escaped."""
    content = stored(("../../x\x1b[2J/data.pkl", EMPTY[1]), ("/etc/passwd", b"abc"))
    damaged = put(content, content.index(b"abc"), b"?")

    facts = facts_of(damaged, tmp_path)
    assert facts.damage is not None
    assert "\x1b" not in facts.damage.text
    assert os.listdir(tmp_path) == ["file.pt"]
