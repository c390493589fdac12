"""A shard's structure is looked at in a fraction of the time that one epoch of reading it takes."""

from __future__ import annotations

import io
import random
import shutil
import subprocess
import tarfile
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from preflight.formats.images import JPEG, JPEG_END
from preflight.formats.tar import hop
from preflight.readers.opened import reading
from preflight.readers.pairing import pair
from preflight.readers.samples import Samples
from preflight.readers.shard import read_shard
from preflight.targets import CaptionRule, Shard

pytestmark = pytest.mark.benchmark

SAMPLES = 1000


@pytest.fixture(scope="module", params=["ustar", "pax"])
def shard(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """Pack 1,000 samples of an image (110 kB), a json and a caption; in pax, Chinese names.

    The images begin and end as JPEGs do.
    """
    path = tmp_path_factory.mktemp("tar") / "shard.tar"
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
        return sum(1 for _ in hop(reading(stream, size), size, 0, []))


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


def test_all_of_them_see_the_same_samples(shard: Path) -> None:
    assert structure(shard) == 3 * SAMPLES
    assert structure_and_pairing(shard) == index(shard) == one_epoch(shard) == SAMPLES


def test_structure_against_an_epoch_of_webdataset(shard: Path, ratio: Callable[..., float]) -> None:
    measured = ratio(
        "structure of a shard / an epoch of webdataset",
        lambda: structure(shard),
        lambda: one_epoch(shard),
        goal="1/12 = 0.08",
    )

    assert measured < 1 / 12


def test_structure_and_pairing_against_an_epoch_of_webdataset(
    shard: Path, ratio: Callable[..., float]
) -> None:
    measured = ratio(
        "structure and pairing of a shard / an epoch of webdataset",
        lambda: structure_and_pairing(shard),
        lambda: one_epoch(shard),
        goal="1/15 = 0.07",
    )

    assert measured < 1 / 12


def test_index_against_an_epoch_of_webdataset(shard: Path, ratio: Callable[..., float]) -> None:
    measured = ratio(
        "a shard at index, in process / an epoch of webdataset",
        lambda: index(shard),
        lambda: one_epoch(shard),
        goal="1/12 = 0.08",
    )

    assert measured < 1 / 10


@pytest.mark.skipif(shutil.which("tar") is None, reason="no tar program here")
def test_index_against_gnu_tar(shard: Path, ratio: Callable[..., float]) -> None:
    """GNU tar's own start, a millisecond or two, is in its time."""
    measured = ratio(
        "a shard at index, in process / tar -tf",
        lambda: index(shard),
        lambda: subprocess.run(["tar", "-tf", shard], stdout=subprocess.DEVNULL, check=True),
        goal="1.3",
    )

    assert measured < 2


@pytest.mark.skipif(shutil.which("tar") is None, reason="no tar program here")
def test_structure_and_pairing_against_gnu_tar(shard: Path, ratio: Callable[..., float]) -> None:
    """GNU tar's own start, a millisecond or two, is in its time."""
    measured = ratio(
        "structure and pairing of a shard / tar -tf",
        lambda: structure_and_pairing(shard),
        lambda: subprocess.run(["tar", "-tf", shard], stdout=subprocess.DEVNULL, check=True),
        goal="1.3",
    )

    assert measured < 2
