"""Copies of shards that were never finished: packed ones, and those that end in zeros."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import preflight
from preflight.findings.finding import Finding, Severity
from preflight.formats.tar.end import USUAL_PADDING, record_of
from preflight.formats.tar.header import BLOCK
from preflight.testing import ask
from tests.archives import epoch, shard_facts, tarred

pytestmark = pytest.mark.usefixtures("at_hand")

PAGE = 4096


def files(count: int, *, seed: int = 0) -> dict[str, bytes]:
    """Give samples that do not pack, as images do not."""
    chance = random.Random(seed)
    found = {}
    for number in range(count):
        found[f"{number:04}.latent"] = (
            b"\1" + chance.randbytes(chance.randrange(2000, 9000)) + b"\1"
        )
        found[f"{number:04}.txt"] = b"a dog on a beach"
    return found


WHOLE = tarred(files(40))
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lambda content: lzma.compress(content, preset=0),
    "lzma": lambda content: lzma.compress(content, format=lzma.FORMAT_ALONE),
}


def found(folder: Path, content: bytes) -> list[Finding]:
    return ask("shard-damaged", shard_facts(folder, content, rule="none"))


def severities(folder: Path) -> dict[str, Severity]:
    report = preflight.run(".", folder=str(folder), select=["shard-damaged"])
    return {str(one.at.file): one.severity for one in report.findings}


@pytest.mark.parametrize("suffix", PACKERS)
def test_packed_shards_that_lose_anything_at_their_end_are_damaged(
    tmp_path: Path, suffix: str
) -> None:
    """Where bytes were packed as they are, zeros in their place unpack to an end marker."""
    packed = PACKERS[suffix](WHOLE)
    cuts = [*range(PAGE, len(packed), 4 * PAGE), *(len(packed) - cut for cut in (1, 4, 8, 16, 48))]
    silent = []
    for at in cuts:
        for content in (packed[:at], packed[:at] + bytes(len(packed) - at)):
            told = found(tmp_path, content)
            if not any(one.severity is Severity.ERROR for one in told):
                silent.append((at, len(content)))

    assert found(tmp_path, packed) == []
    # A last byte that is zero by itself is no loss.
    assert [one for one in silent if packed[one[0] :].strip(b"\0")] == []


@pytest.mark.parametrize("method", [0, 7, 9, 255])
def test_a_gzip_stream_of_an_unknown_method_is_damaged(tmp_path: Path, method: int) -> None:
    packed = gzip.compress(WHOLE)

    (finding,) = found(tmp_path, packed[:2] + bytes([method]) + packed[3:])

    assert finding.severity is Severity.ERROR


def test_zeros_behind_a_whole_gzip_stream_are_nothing(tmp_path: Path) -> None:
    assert found(tmp_path, gzip.compress(WHOLE) + bytes(3 * PAGE)) == []


@pytest.mark.parametrize("blocks", [1, 20, 64, 72, 128, 200, 1000, 2048, 4096, 20_000])
def test_what_tar_writes_by_itself_is_left_alone(tmp_path: Path, blocks: int) -> None:
    tar = shutil.which("tar")
    if (
        tar is None
        or b"GNU tar"
        not in subprocess.run([tar, "--version"], check=True, capture_output=True).stdout
    ):
        pytest.skip("GNU tar is not here")
    for name, content in files(9).items():
        (tmp_path / name).write_bytes(content)
    command = [tar, "-b", str(blocks), "-cf", str(tmp_path / "x.tar"), *files(9)]
    subprocess.run(command, cwd=tmp_path, check=True)

    assert found(tmp_path, (tmp_path / "x.tar").read_bytes()) == []


@pytest.mark.parametrize("form", ["posix", "ustar", "gnu"])
@pytest.mark.parametrize("blocks", [40, 64, 100, 120])
def test_each_format_that_tar_writes_in_longer_records_is_left_alone(
    tmp_path: Path, form: str, blocks: int
) -> None:
    tar = shutil.which("tar")
    version = subprocess.run([tar or "tar", "--version"], check=False, capture_output=True).stdout
    if b"GNU tar" not in version:
        pytest.skip("GNU tar is not here")
    for number in range(6):
        (tmp_path / f"{number}.latent").write_bytes(b"\1" * (700 + 1900 * number))
        made = f"{number}-{form}.tar"
        names = [f"{one}.latent" for one in range(number + 1)]
        options = [f"--format={form}", "-b", str(blocks), "-cf", made]
        subprocess.run([str(tar), *options, *names], cwd=tmp_path, check=True)
        folder = tmp_path / str(number)
        folder.mkdir()
        shutil.move(tmp_path / made, folder / made)

        assert severities(folder) == {}


def test_a_cut_that_is_not_told_leaves_what_tar_itself_writes_of_fewer_members(
    tmp_path: Path,
) -> None:
    """So nobody can know it of the archive alone: byte by byte, it is another sound one."""
    tar = shutil.which("tar") or "tar"
    version = subprocess.run([tar, "--version"], check=False, capture_output=True).stdout
    if b"GNU tar" not in version:
        pytest.skip("GNU tar is not here")
    for name, content in files(40).items():
        (tmp_path / name).write_bytes(content)

    def made(names: Sequence[str], blocks: int = 20) -> bytes:
        command = [tar, "-b", str(blocks), "-cf", "-", *names]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True).stdout

    whole = made([*files(40)])
    with tarfile.open(fileobj=io.BytesIO(whole)) as archive:
        begins = {one.offset: number for number, one in enumerate(archive)}

    silent = []
    for at, number in begins.items():
        zeros = len(whole) - at
        content = whole[:at] + bytes(zeros)
        if number and not found(tmp_path, content):
            blocks = 20 if zeros <= USUAL_PADDING else record_of(zeros, len(whole)) // BLOCK
            silent.append(zeros)
            assert made([*files(40)][:number], blocks) == content

    assert 0 < len(silent) < 8, silent


def test_a_lone_shard_of_tarfile_with_more_zeros_than_it_leaves_is_a_warning(
    tmp_path: Path,
) -> None:
    """A copy laid out in full that ends between two samples: fewer zeros than `tar -b` may leave.

    tarfile, and so webdataset, fills up records of 10,240 bytes and leaves no more.
    """
    from webdataset import TarWriter

    whole = tmp_path / "whole.tar"
    with TarWriter(str(whole)) as writer:
        for number in range(38):
            latent = b"\1" * (4000 + 97 * number)
            writer.write({"__key__": f"{number:04}", "txt": "a dog", "latent": latent})
    content = whole.read_bytes()
    with tarfile.open(whole) as archive:
        begins = [one.offset for one in archive if one.name.endswith(".latent")]

    silent = []
    for at in begins[-9:]:
        folder = tmp_path / str(at)
        folder.mkdir()
        (folder / "x.tar").write_bytes(content[:at] + bytes(len(content) - at))
        if severities(folder) != {"x.tar": Severity.WARNING}:
            silent.append(len(content) - at)

    # As many as these, tarfile leaves itself.
    assert all(zeros <= 10_240 + 1024 for zeros in silent)
    assert len(silent) <= 2


def test_a_folder_written_with_long_records_is_left_alone(tmp_path: Path) -> None:
    """Also where its last shard is the shortest."""
    record = 512 * 4096
    for number, count in enumerate((40, 40, 9)):
        content = tarred(files(count, seed=number))
        (tmp_path / f"{number:03}.tar").write_bytes(content + bytes(-len(content) % record))

    assert severities(tmp_path) == {}


@pytest.mark.parametrize("cut", [False, True])
def test_records_of_any_length_explain_the_zeros_of_shards_that_are_all_made_of_them(
    tmp_path: Path, *, cut: bool
) -> None:
    """As of `tar -b 700`; more zeros than a record has are a copy that was never filled."""
    for number, count in enumerate((90, 90, 180, 20)):
        content = tarred(files(count, seed=number), tarfile.GNU_FORMAT)
        content += bytes(-len(content) % (512 * 700))
        if cut and number == 1:
            kept = len(content) // 3
            content = content[:kept] + bytes(len(content) - kept)
        (tmp_path / f"{number:03}.tar").write_bytes(content)

    assert len({one.stat().st_size for one in tmp_path.iterdir()}) > 1
    assert set(severities(tmp_path)) == ({"001.tar"} if cut else set())


@pytest.mark.parametrize("place", [1, 3])
def test_among_long_records_a_shard_with_fewer_samples_is_told_unless_it_is_the_last(
    tmp_path: Path, place: int
) -> None:
    record = 512 * 4096
    for number in range(4):
        content = tarred(files(90 - 40 * (number == place), seed=number))
        (tmp_path / f"s-{number}.tar").write_bytes(content + bytes(-len(content) % record))

    told = {} if place == 3 else {"s-1.tar": Severity.WARNING}
    assert severities(tmp_path) == told

    # Where another one is in no records as long, its zeros are no padding.
    other = tmp_path / "s-0.tar"
    other.write_bytes(other.read_bytes()[: -(512 * 2048)])
    assert severities(tmp_path).get("s-1.tar") == (None if place == 3 else Severity.ERROR)


@pytest.mark.parametrize("blocks", [48, 64])
def test_records_of_all_shards_explain_the_zeros_of_one_that_shorter_ones_explain_too(
    tmp_path: Path, blocks: int
) -> None:
    """One of them has fewer samples, and whatever length: `tar -b` has left its zeros."""
    record = 512 * blocks
    told = []
    for fewer in range(10, 40, 2):
        for number in range(5):
            samples = files(fewer if number == 2 else 40, seed=10 * fewer + number)
            content = tarred(samples, tarfile.GNU_FORMAT)
            end = content.rstrip(b"\0")
            whole = end + bytes(-len(end) % BLOCK + 2 * BLOCK)  # as before tarfile's own padding
            (tmp_path / f"s-{number}.tar").write_bytes(whole + bytes(-len(whole) % record))
        told += [one for one in severities(tmp_path).values() if one is Severity.ERROR]

    assert told == []


@pytest.mark.parametrize("name", ["README.md", "classes.txt", "zz/labels.json"])
def test_a_file_about_the_data_at_the_end_is_no_half_sample(tmp_path: Path, name: str) -> None:
    for number in range(3):
        content = tarred(files(40, seed=number) | {name: b"cat\ndog\n"})
        (tmp_path / f"{number:03}.tar").write_bytes(content + bytes(-len(content) % (512 * 2048)))

    assert severities(tmp_path) == {}


def test_records_of_the_usual_size_times_a_power_of_two_explain_zeros(tmp_path: Path) -> None:
    content = tarred(files(40), tarfile.GNU_FORMAT)
    content = content.rstrip(b"\0") + bytes(1024)
    content += bytes(-len(content) % (512 * 20_480))

    assert found(tmp_path, content) == []
    assert record_of(9_000_000, len(content)) == 512 * 20_480


@pytest.mark.skipif(shutil.which("tar") is None, reason="there is no tar")
@pytest.mark.parametrize("count", [40, 35])
@pytest.mark.parametrize("blocks", [512, 2048, 4096, 20_480])
def test_one_of_tar_with_long_records_beside_those_of_tarfile_is_no_damage(
    tmp_path: Path, blocks: int, count: int
) -> None:
    """Another program may have made it again; with fewer samples than these it is a warning.

    By its length alone it is told from a copy that was cut between two samples.
    """
    for number in (0, 2):
        (tmp_path / f"{number:03}.tar").write_bytes(tarred(files(40, seed=number)))
    folder = tmp_path / "of"
    folder.mkdir()
    for name, content in files(count, seed=2).items():
        (folder / name).write_bytes(content)
    names = sorted(one.name for one in folder.iterdir())
    command = ["tar", "-b", str(blocks), "-cf", str(tmp_path / "001.tar"), *names]
    subprocess.run(command, cwd=folder, check=True)
    shutil.rmtree(folder)

    assert severities(tmp_path) == ({} if count == 40 else {"001.tar": Severity.WARNING})


def test_what_webdataset_writes_is_left_alone(tmp_path: Path) -> None:
    from webdataset import TarWriter

    with TarWriter(str(tmp_path / "x.tar")) as writer:
        for number in range(9):
            writer.write({"__key__": f"{number:04}", "txt": "a dog", "latent": b"\1" * 5000})

    assert found(tmp_path, (tmp_path / "x.tar").read_bytes()) == []


def test_preallocated_copies_that_were_never_filled_are_never_silent(tmp_path: Path) -> None:
    """The copy has the size of the original; what was not written yet reads as zeros."""
    told: dict[Severity, int] = {}
    for at in range(PAGE, len(WHOLE) - 3 * PAGE, 3 * PAGE):
        copy = WHOLE[:at] + bytes(len(WHOLE) - at)
        assert epoch(copy) != epoch(WHOLE)
        severest = max((one.severity for one in found(tmp_path, copy)), default=Severity.NOTE)
        told[severest] = told.get(severest, 0) + 1

    assert Severity.NOTE not in told
    assert told[Severity.ERROR] > told.get(Severity.WARNING, 0)


@pytest.mark.parametrize("count", [12, 39])
def test_neighbours_say_that_samples_are_missing(tmp_path: Path, count: int) -> None:
    """By itself a copy that ends between two samples is whole."""
    cut = tarred(files(count, seed=3)).rstrip(b"\0")
    cut += bytes(-len(cut) % 512)
    for number in range(3):
        (tmp_path / f"{number:03}.tar").write_bytes(tarred(files(40, seed=number)))
    (tmp_path / "003.tar").write_bytes(cut + bytes(700_000))

    assert severities(tmp_path) == {"003.tar": Severity.ERROR}


def test_zeros_behind_as_many_samples_as_the_neighbours_have_are_a_warning(tmp_path: Path) -> None:
    for number in range(4):
        zeros = bytes(700_000 * (number == 2))
        (tmp_path / f"{number:03}.tar").write_bytes(tarred(files(9, seed=number)) + zeros)

    assert severities(tmp_path) == {"002.tar": Severity.WARNING}


def test_shards_of_another_name_are_no_neighbours(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"train-{number}.tar").write_bytes(tarred(files(40, seed=number)))
    (tmp_path / "val-0.tar").write_bytes(tarred(files(9)) + bytes(700_000))

    assert severities(tmp_path) == {"val-0.tar": Severity.WARNING}


def test_a_member_that_becomes_zeros_within_its_last_bytes_is_cut(tmp_path: Path) -> None:
    """Fewer zeros than make a block of its own, but from just where a page begins."""
    content = tarred({"a.bin": b"\1" * (2 * PAGE - 512 + 40), "b.bin": b"\1" * 9000})
    copy = content[: 2 * PAGE] + bytes(1_000_000)

    (finding,) = found(tmp_path, copy)

    assert finding.severity is Severity.ERROR
    assert "is zeros from inside a.bin to its end" in finding.message


def test_zeros_that_a_member_ends_in_by_itself_are_its_own(tmp_path: Path) -> None:
    content = tarred({"a.bin": b"\1" * 5000 + bytes(40)}, tarfile.GNU_FORMAT)

    assert found(tmp_path, content + bytes(512 * 60 - len(content) % 512)) == []


@pytest.mark.parametrize("place", [1, 3])
def test_where_all_shards_are_of_one_size_their_records_are_no_excuse(
    tmp_path: Path, place: int
) -> None:
    """Samples of one size fill as many bytes in each shard, whatever records they are of."""
    alike = {f"{number:04}.{what}": b"a dog" for number in range(60) for what in ("json", "txt")}
    for number in range(4):
        (tmp_path / f"{number:03}.tar").write_bytes(tarred(alike))
    assert severities(tmp_path) == {}

    whole = tarred(alike)
    cut = tmp_path / f"{place:03}.tar"
    cut.write_bytes(whole[: 25 * PAGE] + bytes(len(whole) - 25 * PAGE))

    assert severities(tmp_path) == {cut.name: Severity.ERROR}
