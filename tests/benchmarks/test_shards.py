"""Shards are looked at in a fraction of the time that one epoch of reading them takes."""

from __future__ import annotations

import io
import random
import shutil
import tarfile
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from preflight.file_access.opened import reading
from preflight.formats.pictures.picture import JPEG, JPEG_END
from preflight.formats.tar.walk import hop
from preflight.pairing.pair import pair
from preflight.shards.read import read_shard
from preflight.shards.samples import Samples
from preflight.targets.targets import CaptionRule, Shard
from tests.archives import tarred
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

pytestmark = pytest.mark.benchmark

SHARDS, SAMPLES = 10, 1000

ITERATE = """
import sys, warnings
warnings.simplefilter("ignore")
import webdataset
for sample in webdataset.WebDataset(sys.argv[1:], shardshuffle=False){decoded}:
    pass
"""


def pictures(least: int) -> list[bytes]:
    """Make JPEGs, gradients and noise, with sides of so many pixels or some more."""
    from PIL import Image

    dice = random.Random(1)
    found = []
    for number in range(12):
        side = least + 32 * (number % 4)
        noise = Image.frombytes("RGB", (side, side), dice.randbytes(3 * side * side))
        waves = Image.radial_gradient("L").resize((side, side)).convert("RGB")
        file = io.BytesIO()
        Image.blend(noise, waves, 0.72).save(file, "JPEG", quality=88)
        found.append(file.getvalue())
    return found


def pack(folder: Path, shard: int, images: list[bytes], samples: int) -> None:
    """Write a shard of samples of three files; no key stands in two shards."""
    dice = random.Random(2)
    path = folder / f"{shard:03}.tar"
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for number in range(shard * samples, (shard + 1) * samples):
            contents = {"jpg": dice.choice(images), "json": b'{"a": 1}', "txt": b"a dog"}
            for suffix, content in contents.items():
                member = tarfile.TarInfo(f"{number:09}.{suffix}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))


def look(folder: Path, depth: str) -> Callable[[], object]:
    """Give what runs the command over all shards of a folder, and remembers nothing."""
    names = sorted(path.name for path in folder.glob("*.tar"))
    options = ("--no-ledger", "--select", "shard,sample,image", "--depth", depth)
    return preflight(*names, *options, folder=folder)


def test_shards_against_iterating_over_them(tmp_path: Path) -> None:
    images = pictures(448)
    for shard in range(SHARDS):
        pack(tmp_path, shard, images, 300)
    names = sorted(path.name for path in tmp_path.glob("*.tar"))
    codes = (ITERATE.format(decoded=""), ITERATE.format(decoded='.decode("pil")'))
    epochs = (python(code, *names, folder=tmp_path) for code in codes)
    works = [look(tmp_path, "index"), look(tmp_path, "bytes"), *epochs]
    index, every_byte, undecoded, decoded = best_of(works, rounds=7)

    compared("webdataset / preflight run --depth index, 10 shards", undecoded, index)
    compared("webdataset / preflight run --depth bytes, 10 shards", undecoded, every_byte)
    compared("webdataset, decoding / preflight run --depth bytes, 10 shards", decoded, every_byte)


@pytest.mark.skipif(shutil.which("tar") is None, reason="no tar program here")
def test_a_hundred_shards_against_tar(tmp_path: Path) -> None:
    images = pictures(96)
    for shard in range(100):
        pack(tmp_path, shard, images, SAMPLES)
    theirs = process("sh", "-c", 'for f in *.tar; do tar -tf "$f"; done', folder=tmp_path)

    name = "preflight run --depth index, 100 shards / tar -tf"
    compare(name, look(tmp_path, "index"), theirs, rounds=5)


def test_memory_of_many_shards(tmp_path: Path) -> None:
    """Ten shards and two thousand, of ten samples each."""
    for name, number in (("few", 10), ("many", 2_000)):
        (tmp_path / name).mkdir()
        for shard in range(number):
            files = {f"{shard:05}-{sample}.txt": b"a dog" for sample in range(10)}
            (tmp_path / name / f"{shard:05}.tar").write_bytes(tarred(files))
    few, many = peak(tmp_path, "few"), peak(tmp_path, "many")

    seen("memory of 2,000 shards", many / 1e6, f"{few / 1e6:.1f} MB of ten")
    seen("memory of each shard more", (many - few) / 1_990)


# --- calls ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["ustar", "pax"])
def shard(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """Pack 1,000 samples of an image (110 kB), a json and a caption; in pax, Chinese names.

    The images begin and end as JPEGs do.
    """
    path = tmp_path_factory.mktemp("tar") / f"{request.param}.tar"
    chance = random.Random(7)
    noise = chance.randbytes(1 << 20)
    folder = "data" if request.param == "ustar" else "数据"
    sizes = {"jpg": (60_000, 160_000), "json": (300, 900), "txt": (40, 200)}
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        for number in range(SAMPLES):
            for suffix, between in sizes.items():
                member = tarfile.TarInfo(f"{folder}/{number:09}.{suffix}")
                member.size, member.mtime = chance.randrange(*between), 1_700_000_000 + number
                begin = chance.randrange(len(noise) - member.size)
                content = noise[begin : begin + member.size]
                if suffix == "jpg":
                    content = JPEG + content[len(JPEG) : -len(JPEG_END)] + JPEG_END
                archive.addfile(member, io.BytesIO(content))
    return path


def structure(path: Path) -> int:
    """Walk over all members."""
    with path.open("rb", buffering=0) as stream:
        size = path.stat().st_size
        return sum(1 for _ in hop(reading(stream, size), size, 0, [])) // 3


def structure_and_pairing(path: Path) -> int:
    """Walk over all members, group them into samples, and pair these."""
    samples = Samples()
    with path.open("rb", buffering=0) as stream:
        size = path.stat().st_size
        for _ in samples.gather(hop(reading(stream, size), size, 0, [])):
            continue
    samples.strange.told(samples.groups)
    return pair(samples.groups, CaptionRule(), shard=True, links=samples.links).whole


def index(path: Path) -> int:
    """Read the shard as the command does that is asked for names and ends."""
    facts = read_shard(Shard(path=path.name), str(path.parent), lambda _: None, "index")
    assert facts.images == SAMPLES
    assert not facts.damaged_images
    assert facts.pairing is not None
    return facts.pairing.whole


def one_epoch(path: Path) -> int:
    """Iterate over the shard as webdataset does, without decoding anything."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from webdataset.tariterators import group_by_keys, tar_file_expander

    with path.open("rb") as stream:
        source = [{"url": str(path), "stream": stream}]
        return sum(1 for _ in group_by_keys(tar_file_expander(source)))


def test_one_shard_against_an_epoch_and_against_tar(shard: Path) -> None:
    """The start of tar, a millisecond or two, is in its time."""
    looks = {
        "structure of a shard": structure,
        "structure and pairing of a shard": structure_and_pairing,
        "a shard at index": index,
    }
    for work in (*looks.values(), one_epoch):
        assert work(shard) == SAMPLES
    tar = process("tar", "-tf", shard)
    works = [lambda work=work: work(shard) for work in (*looks.values(), one_epoch)]
    *ours, epoch, listed = best_of([*works, tar], rounds=9)

    for what, took in zip(looks, ours, strict=True):
        compared(f"{what} ({shard.stem}) / webdataset", took, epoch)
        if what != "structure of a shard":
            compared(f"{what} ({shard.stem}) / tar -tf", took, listed)
