"""A cache is verified in a fraction of the time that it takes to load it, and large files too."""

from __future__ import annotations

import os
import random
import shutil
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from preflight.cached_files.read import read_cache
from tests.benchmarks.measuring import (
    best_of,
    compare,
    compared,
    peak,
    preflight,
    process,
    python,
    seen,
)
from tests.evicting import evict

pytestmark = pytest.mark.benchmark

# Archives that are looked at; so many of them are written, and each goes by several names.
FILES = 10_000
WRITTEN = 2_500


@pytest.fixture(scope="module")
def caches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of text embeddings of 67 to 254 kB, as a trainer caches them."""
    import torch

    folder = tmp_path_factory.mktemp("caches") / "many"
    folder.mkdir()
    chance = random.Random(3)
    noise = torch.randint(0, 256, (1 << 22,), dtype=torch.uint8)
    then = time.time() - 3_600
    for index in range(FILES):
        path = folder / f"{index:06}.pt"
        if index >= WRITTEN:
            os.link(folder / f"{index % WRITTEN:06}.pt", path)
            continue
        tokens = chance.randrange(520, 1980)
        begin = 2 * chance.randrange((len(noise) - tokens * 128) // 2)
        embeds = noise[begin : begin + tokens * 128].clone().view(torch.float16)
        mask = torch.ones(77, dtype=torch.bool)
        torch.save({"prompt_embeds": embeds.view(tokens, 64), "mask": mask}, path)
        os.utime(path, (then, then))
    return folder.parent


LOAD = """
import os, sys, torch
torch.set_num_threads(1)
for name in os.listdir(sys.argv[1]):
    torch.load(os.path.join(sys.argv[1], name), weights_only=True)
"""
TEST = """
import os, sys, zipfile
for name in os.listdir(sys.argv[1]):
    with zipfile.ZipFile(os.path.join(sys.argv[1], name)) as archive:
        assert archive.testzip() is None
"""


def test_archives_against_loading_them_and_against_testzip(caches: Path) -> None:
    works = [
        preflight("many", "--elsewhere", "--no-ledger", folder=caches),
        python(LOAD, "many", folder=caches),
        python(TEST, "many", folder=caches),
    ]
    ours, load, test = best_of(works, rounds=4)

    compared("torch.load / preflight run, 10,000 archives", load, ours)
    compared("zipfile.testzip / preflight run, 10,000 archives", test, ours)


@pytest.mark.parametrize("evicted", [False, True], ids=["in memory", "on the disk"])
def test_the_first_run_against_the_second(caches: Path, *, evicted: bool) -> None:
    """On the disk: a night later, when no file is in memory any more."""
    written = [caches / "many" / f"{index:06}.pt" for index in range(WRITTEN)]

    def prepare() -> None:
        if evicted:
            evict(written)

    def forget() -> None:
        shutil.rmtree(caches / ".preflight", ignore_errors=True)
        prepare()

    run = preflight("many", "--elsewhere", folder=caches)
    first, again = best_of([run, run], rounds=2 if evicted else 6, before=[forget, prepare])

    more = ", none in memory" if evicted else ""
    compared(f"the first run / the second, 10,000 archives{more}", first, again)


def test_memory_of_many_archives(caches: Path) -> None:
    seen("memory of 10,000 archives", peak(caches, "many") / 1e6)


# --- large files ----------------------------------------------------------------------------------

LARGE = 24 << 26


@pytest.fixture(scope="module", params=[1 << 26, 1 << 22], ids=["64 MiB", "4 MiB"])
def large(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """One archive of 1.6 GB, as a checkpoint is, in records of a size; taken away at once."""
    folder = tmp_path_factory.mktemp("large")
    if shutil.disk_usage(folder).free < 8 * LARGE:
        pytest.skip("there is too little room for a file of 1.6 GB")
    path = folder / f"{request.param >> 20} MiB.pt"
    noise = os.urandom(request.param)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x/data.pkl", b"\x80\x02}q\x00.")
        for number in range(LARGE // request.param):
            archive.writestr(f"x/data/{number}", noise)
    yield path
    path.unlink()


def verify(path: Path, *, verified: bool = True, depth: str = "bytes") -> None:
    facts = read_cache(str(path), str(path.parent), lambda _: None, depth)
    assert facts.damage is None
    assert facts.verified == verified


def test_a_large_archive_against_testzip(large: Path) -> None:
    """It is verified on all cores; testzip uses one."""

    def test() -> None:
        with zipfile.ZipFile(large) as archive:
            assert archive.testzip() is None

    name = f"an archive of 1.6 GB, records of {large.stem} / zipfile.testzip"
    compare(name, lambda: verify(large), test, rounds=6)


@pytest.mark.skipif(shutil.which("cat") is None, reason="there is no cat")
def test_a_large_archive_against_cat(large: Path) -> None:
    """It is verified on all cores; cat uses one."""
    name = f"an archive of 1.6 GB, records of {large.stem} / cat"
    compare(name, lambda: verify(large), process("cat", large), rounds=6)


def test_memory_of_a_large_archive(large: Path) -> None:
    took = peak(large.parent, large.name)
    seen(f"memory of an archive of 1.6 GB, records of {large.stem}", took / 1e6)


@pytest.mark.parametrize(
    ("what", "files", "size", "shapes", "depth"),
    [
        ("400 safetensors, every byte", 400, 10_000, 1, "bytes"),
        ("800 safetensors in 40 shapes, the geometry", 800, 9_600, 40, "index"),
        ("800 safetensors in 800 shapes, the geometry", 800, 9_600, 800, "index"),
    ],
    ids=["every byte", "40 shapes", "800 shapes"],
)
def test_safetensors_against_loading_them(
    tmp_path: Path, what: str, files: int, size: int, shapes: int, depth: str
) -> None:
    """A cache of latents has as many shapes as its buckets."""
    safetensors = pytest.importorskip("safetensors.torch")
    import torch

    paths = [tmp_path / f"{number}.safetensors" for number in range(files)]
    for number, path in enumerate(paths):
        tensors = {f"w{part}": torch.randn(size + number % shapes) for part in range(4)}
        safetensors.save_file(tensors, path)

    def look() -> None:
        for path in paths:
            verify(path, verified=False, depth=depth)

    def load() -> None:
        for path in paths:
            safetensors.load_file(path)

    compare(f"{what} / load_file", look, load, rounds=9)
