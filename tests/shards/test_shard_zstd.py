"""Shards packed with zstd are read as through `zstd -d`, which is how webdataset comes to them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import preflight
from preflight.findings.finding import Finding, Severity
from preflight.kinds.asked import CannotLookError
from preflight.shards.facts import ShardFacts
from preflight.shards.read import read_shard
from preflight.targets.targets import CaptionRule, Shard
from preflight.testing import ask
from tests.archives import SAMPLE, flipped, photo, samples, tarred

pytestmark = pytest.mark.usefixtures("at_hand")

zstandard = pytest.importorskip("zstandard")

WHOLE = tarred(samples(6))
COPY = "Copy it again from where it came from, or pack it again."

behind_a_pipe = pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="tarfile reads the first frame by itself"
)


def frame(content: bytes) -> bytes:
    done: bytes = zstandard.ZstdCompressor(write_checksum=True).compress(content)
    return done


def read(folder: Path, content: bytes, name: str = "x.tar.zst") -> ShardFacts:
    (folder / name).write_bytes(content)
    shard = Shard(path=name, captions=CaptionRule(rule="none"))
    return read_shard(shard, str(folder), lambda _: None)


def found(folder: Path, content: bytes) -> Finding:
    (finding,) = ask("shard-damaged", read(folder, content))
    return finding


@pytest.mark.parametrize("name", ["x.tar.zst", "x.tar.zstd", "x.tzst", "x.tar"])
def test_a_whole_shard_is_read_to_its_end(tmp_path: Path, name: str) -> None:
    facts = read(tmp_path, frame(WHOLE), name)

    assert (facts.damage, facts.members, facts.samples) == ((), 12, 6)


@behind_a_pipe
def test_shards_of_several_frames_are_whole(tmp_path: Path) -> None:
    """As pzstd and archives that can be sought in have them."""
    note = b"\x5e\x2a\x4d\x18\x04\0\0\0abcd"
    content = note + frame(WHOLE[: 2 * SAMPLE + 99]) + note + frame(WHOLE[2 * SAMPLE + 99 :]) + note

    facts = read(tmp_path, content)

    assert (facts.damage, facts.samples) == ((), 6)


def test_images_in_it_are_looked_at(tmp_path: Path) -> None:
    content = frame(tarred({"a.jpg": photo(), "b.jpg": photo()[:-99]}))

    facts = read(tmp_path, content)

    assert (facts.images, [one.name for one in facts.damaged_images]) == (2, ["b.jpg"])


def test_a_shard_of_which_nothing_unpacks_is_cut_and_not_empty(tmp_path: Path) -> None:
    content = frame(WHOLE)[:40]

    assert found(tmp_path, content).message.startswith("ends inside its zstd stream, at 40 bytes")
    assert found(tmp_path, frame(b"")).message.startswith("is a zstd stream of nothing")


def test_a_shard_cut_short_says_how_much_of_it_is_whole(tmp_path: Path) -> None:
    content = b"".join(frame(WHOLE[at : at + SAMPLE]) for at in range(0, 4 * SAMPLE, SAMPLE))
    if sys.version_info >= (3, 14):
        content = frame(WHOLE[: 4 * SAMPLE])[:-9]
    finding = found(tmp_path, content[:-9])

    assert finding.message.startswith("is a zstd stream that ")
    assert (finding.severity, finding.fix) == (Severity.ERROR, COPY)
    assert finding.why is not None
    assert finding.why.startswith("zstd -d ends with an error here. webdataset reads zstd through")


def test_a_wrong_checksum_is_loud_here(tmp_path: Path) -> None:
    """Other than with gzip, which tarfile unpacks itself, and does not compare."""
    finding = found(tmp_path, flipped(frame(WHOLE), -1))

    assert finding.message.startswith("unpacks to other bytes than were packed: zstd says")
    assert (finding.why or "").startswith("zstd -d ends with an error here.")


@behind_a_pipe
def test_a_checksum_that_is_missing_is_a_stream_cut_short(tmp_path: Path) -> None:
    finding = found(tmp_path, frame(WHOLE)[:-4])

    assert finding.message.startswith("ends inside a zstd frame, at ")
    assert (finding.why or "").startswith("zstd -d ends with an error here.")
    assert finding.severity is Severity.ERROR


@behind_a_pipe
def test_bytes_behind_the_stream_are_an_error_as_zstd_has_it(tmp_path: Path) -> None:
    finding = found(tmp_path, frame(WHOLE) + bytes(512))

    assert finding.message.startswith("has bytes behind its zstd stream that are none of it: 00 00")
    assert (finding.why or "").startswith("zstd -d ends with an error here.")
    assert (finding.severity, finding.fix) == (Severity.ERROR, COPY)


def test_a_damaged_header_inside_is_as_quiet_as_ever(tmp_path: Path) -> None:
    finding = found(tmp_path, frame(flipped(WHOLE, 3 * SAMPLE + 130)))

    assert "counted in what zstd unpacks; 3 samples before it are whole" in finding.message
    assert (finding.why or "").startswith("tarfile and webdataset take this for the end")


def test_a_packed_page_is_no_shard(tmp_path: Path) -> None:
    finding = found(tmp_path, frame(b"<html>" * 99))

    assert finding.message == "is a zstd stream of what is no tar archive"


def test_a_dictionary_that_is_missing_is_no_damage(tmp_path: Path) -> None:
    trained = zstandard.train_dictionary(2048, [WHOLE[at : at + 512] for at in range(0, 15360, 64)])
    content = zstandard.ZstdCompressor(dict_data=trained).compress(WHOLE)

    with pytest.raises(CannotLookError, match="zstd dictionary") as raised:
        read(tmp_path, content)

    assert "-D DICTIONARY" in (raised.value.fix or "")


@behind_a_pipe
def test_without_the_package_a_run_is_broken_and_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package of that name which is of no use stands in the way of the real one."""
    (tmp_path / "in_the_way").mkdir()
    (tmp_path / "in_the_way" / "zstandard.py").write_text("raise ImportError('not built')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "in_the_way"))
    (tmp_path / "x.tar.zst").write_bytes(frame(WHOLE))

    report = preflight.run("x.tar.zst", folder=str(tmp_path), select=["shard-damaged"])

    (check,) = [one for one in report.checks if one.id == "shard-damaged"]
    assert (report.verdict, report.findings) == ("cannot-judge", ())
    assert "zstandard, which unpacks it, cannot be imported: not built" in check.broken[0].error
    assert "pip install zstandard" in str(check.broken[0])


@behind_a_pipe
@pytest.mark.skipif(shutil.which("zstd") is None, reason="the command zstd is not installed")
def test_webdataset_and_tarfile_do_what_is_said_of_them(tmp_path: Path) -> None:
    """By its path it is not read; through a pipe it is, and a damaged stream is loud.

    In a process of its own, since it leaves the files open that it cannot read.
    """
    (tmp_path / "x.tar.zst").write_bytes(frame(WHOLE))
    (tmp_path / "bad.tar.zst").write_bytes(flipped(frame(tarred(samples(900))), -1))
    code = (
        "import sys, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "import webdataset\n"
        "print(sum(1 for _ in webdataset.WebDataset(sys.argv[1], shardshuffle=False)))"
    )

    def counted(url: str) -> str:
        command = [sys.executable, "-c", code, url]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.stdout.strip() or done.stderr

    assert counted("pipe:zstd -dc x.tar.zst") == "6"
    assert "tarfile.ReadError" in counted("x.tar.zst")
    unpacked = subprocess.run(
        ["zstd", "-dc", "bad.tar.zst"], cwd=tmp_path, capture_output=True, check=False
    )
    assert unpacked.returncode != 0
