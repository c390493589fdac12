"""With `--depth index` only what tells of the structure of a cached file is read."""

from __future__ import annotations

import gzip
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

import preflight
from preflight.cached_files.facts import CacheFacts
from preflight.cached_files.read import read_cache
from preflight.file_access.outline import Outline
from preflight.formats.bytes.blocks import BLOCK, reads_every
from tests.archives import flipped
from tests.contents import safetensors, saved, written


def outline(path: Path) -> CacheFacts:
    """Look at the structure of one file."""
    return read_cache(str(path), str(path.parent), lambda _: None, "index")


def safetensors_of(size: int) -> bytes:
    """Give a file of two tensors of so many bytes each."""
    return safetensors(a=("U8", [size], os.urandom(size)), b=("U8", [size], os.urandom(size)))


NOISE = np.random.default_rng(1).standard_normal(9_000).astype(np.float32)
EMBEDDING = {"embeds": torch.from_numpy(NOISE), "mask": torch.ones(77, dtype=torch.bool)}
WHOLE = saved(EMBEDDING)
WRONG = flipped(WHOLE, WHOLE.index(NOISE.tobytes()[:64]) + 20_000, 0xFF)
FILES: dict[str, tuple[bytes, str]] = {
    "zip.pt": (WHOLE, "torch zip"),
    "legacy.pt": (saved(EMBEDDING, _use_new_zipfile_serialization=False), "torch legacy"),
    "packed.pt": (gzip.compress(saved(EMBEDDING), 1), "gzip"),
    "plain.npz": (written(np.savez, a=NOISE, b=NOISE), "npz"),
    "deflated.npz": (written(np.savez_compressed, a=NOISE, b=NOISE), "npz"),
    "array.npy": (written(np.save, NOISE), "npy"),
    "tensors.safetensors": (safetensors_of(20_000), "safetensors"),
    "raw.pt": (pickle.dumps({"caption": "a dog" * 99}), "pickle"),
}


@pytest.mark.parametrize("name", list(FILES))
def test_a_whole_file_is_left_alone_and_not_called_verified(tmp_path: Path, name: str) -> None:
    """No checksum is compared."""
    content, kind = FILES[name]
    (tmp_path / name).write_bytes(content)

    facts = outline(tmp_path / name)

    assert (facts.damage, facts.format, facts.verified) == (None, kind, False)


@pytest.mark.parametrize("name", list(FILES))
def test_a_file_cut_anywhere_is_found_all_the_same(tmp_path: Path, name: str) -> None:
    """But for a gzip stream, of which only reading it to its end tells that."""
    content, kind = FILES[name]
    path = tmp_path / name

    for end in {*range(0, len(content), len(content) // 50), len(content) - 1} - {1}:
        path.write_bytes(content[:end])
        assert (outline(path).damage is not None) or (kind == "gzip" and end > 3), end


@pytest.mark.parametrize("name", ["zip.pt", "plain.npz", "deflated.npz"])
def test_it_finds_what_reading_all_finds_but_for_wrong_bytes_inside(
    tmp_path: Path, name: str
) -> None:
    """Each byte of the directory and of the headers is looked at in the same way."""
    content, _ = FILES[name]
    path = tmp_path / name
    for at in [*range(0, 400, 7), *range(len(content) - 500, len(content), 5)]:
        path.write_bytes(flipped(content, at, 0x15))
        whole = read_cache(str(path), str(tmp_path), lambda _: None).damage
        found = outline(path).damage
        if found is None:
            assert whole is None or whole.kind == "checksum", at
        else:
            assert whole is not None, at
            assert whole.kind in (found.kind, "checksum"), at


def test_a_wrong_byte_inside_is_not_found(tmp_path: Path) -> None:
    """What is not read is not known: that is what --depth bytes is for."""
    path = tmp_path / "a.pt"
    path.write_bytes(WRONG)

    assert outline(path).damage is None
    assert read_cache(str(path), str(tmp_path), lambda _: None).damage is not None


def test_a_wrong_byte_in_the_pickle_is_found(tmp_path: Path) -> None:
    """It is read, to be held against the storages."""
    path = tmp_path / "a.pt"
    path.write_bytes(WHOLE.replace(b"embeds", b"Embeds", 1))

    damage = outline(path).damage

    assert damage and damage.kind == "checksum"


@pytest.mark.parametrize("name", ["zip.pt", "array.npy", "tensors.safetensors", "legacy.pt"])
def test_little_of_a_large_file_is_read(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever its tensors take."""
    size = 6 << 20
    contents = {
        "zip.pt": lambda: saved({"a": torch.zeros(size // 4), "b": torch.zeros(9)}),
        "legacy.pt": lambda: saved([torch.zeros(size // 4)], _use_new_zipfile_serialization=False),
        "array.npy": lambda: written(np.save, np.zeros(size // 4, np.float32)),
        "tensors.safetensors": lambda: safetensors_of(size // 2),
    }
    path = tmp_path / name
    path.write_bytes(contents[name]())
    taken = []
    plainly = os.read

    def read(descriptor: int, count: int) -> bytes:
        taken.append(plainly(descriptor, count))
        return taken[-1]

    def pread(descriptor: int, count: int, offset: int) -> bytes:
        os.lseek(descriptor, offset, os.SEEK_SET)
        return read(descriptor, count)

    monkeypatch.setattr(os, "read", read)
    monkeypatch.setattr(os, "pread", pread, raising=False)

    assert outline(path).damage is None
    assert 0 < sum(map(len, taken)) < (5 * BLOCK if name == "legacy.pt" else 32_768)


def test_any_piece_can_be_had_with_and_without_pread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At both ends, and beyond; Windows has no pread."""
    content = os.urandom(20_000)
    path = tmp_path / "file"
    path.write_bytes(content)
    for there in (True, False):
        if not there:
            monkeypatch.delattr(os, "pread", raising=False)
        with path.open("rb", buffering=0) as file:
            read = Outline(file.fileno(), len(content))
            for offset in (0, 5, 4_000, 15_000, 19_990, 12_000, 20_000, 30_000):
                for size in (0, 1, 22, 5_000):
                    assert bytes(read(offset, size)) == content[offset : offset + size]
            assert not reads_every(read)
            with pytest.raises(OSError, match="became shorter"):
                read.pass_over(19_000, 1_001)


def test_a_run_says_that_it_did_not_read_all_and_remembers_it_so(tmp_path: Path) -> None:
    """The next run, which reads every byte, does so; and nobody is told of missing checksums."""
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "whole.pt").write_bytes(WHOLE)
    (cache / "wrong.pt").write_bytes(WRONG)
    os.utime(cache / "wrong.pt", (1_700_000_000, 1_700_000_000))

    shallow = preflight.run("cache", folder=str(tmp_path), elsewhere=True, depth="index")
    deep = preflight.run("cache", folder=str(tmp_path), elsewhere=True)

    assert (shallow.verdict, list(shallow.findings)) == ("go", [])
    assert [found.check for found in deep.findings] == ["cache-damaged"]
