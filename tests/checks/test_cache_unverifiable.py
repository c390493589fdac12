"""cache-unverifiable notes once a folder what no checksum vouches for."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import preflight
from preflight.caches.facts import Alike, CacheFolderFacts, Unread
from preflight.findings.finding import Finding, Location, Severity
from preflight.formats.bytes.crc import with_zeros
from preflight.testing import ask
from tests.contents import archive, of_torch

pytestmark = pytest.mark.usefixtures("at_hand")


@pytest.fixture
def no_checksums() -> Iterator[None]:
    have = of_torch("serialization.set_crc32_options")
    before = torch.serialization.get_crc32_options()
    have(compute_crc32=False)
    yield
    have(before)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    (tmp_path / "cache").mkdir()
    return tmp_path / "cache"


def found(folder: Path) -> list[Finding]:
    report = preflight.run(
        "cache=cache", folder=str(folder), elsewhere=True, select=["cache-unverifiable"]
    )
    assert report.verdict == "go"
    return list(report.findings)


def test_what_has_checksums_and_formats_that_never_have_one_are_left_alone(cache: Path) -> None:
    torch.save({"a": torch.zeros(3)}, cache / "a.pt")
    (cache / "b.pt").write_bytes(gzip.compress((cache / "a.pt").read_bytes()))
    np.save(cache / "c.npy", np.zeros(3))
    np.savez(cache / "d.npz", x=np.zeros(3))
    (cache / "e.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")

    assert found(cache.parent) == []


@pytest.mark.usefixtures("no_checksums")
def test_a_folder_without_checksums_is_one_note(cache: Path) -> None:
    """However many files, and whatever the reason."""
    for number in range(3):
        torch.save({"a": torch.zeros(3)}, cache / f"{number}.pt")
    torch.save({"a": torch.ones(3)}, cache / "old.pt", _use_new_zipfile_serialization=False)

    (finding,) = found(cache.parent)

    assert finding.severity is Severity.NOTE
    assert finding.at == Location(file="cache")
    assert finding.message == (
        "4 files of 4 have no checksum: 3 written without checksums (set_crc32_options(False)), "
        "such as 0.pt; 1 in torch's format from before 1.6, such as old.pt"
    )


def test_a_single_file_is_called_by_its_name(tmp_path: Path) -> None:
    torch.save({}, tmp_path / "old.pt", _use_new_zipfile_serialization=False)

    report = preflight.run("old.pt", folder=str(tmp_path), elsewhere=True)

    assert [one.message for one in report.findings] == [
        "1 file of 1 has no checksum: 1 in torch's format from before 1.6, such as old.pt"
    ]


def test_a_format_that_is_not_judged_is_passed_over() -> None:
    facts = CacheFolderFacts(
        file="cache", entries=2, unverified=(Alike(what="unknown", count=2, names=("a", "b")),)
    )

    assert ask("cache-unverifiable", facts) == []


def huge(path: Path) -> None:
    """Write an array of 4 GiB of zeros as numpy packs it: 18 MB, with headers as they should be.

    Its zeros are packed once, and what that gives is written again and again.
    """
    start = io.BytesIO()
    described = {"descr": "|u1", "fortran_order": False, "shape": (1 << 32,)}
    np.lib.format.write_array_header_1_0(start, described)
    packing = zlib.compressobj(1, wbits=-zlib.MAX_WBITS)
    first = packing.compress(start.getvalue()) + packing.flush(zlib.Z_FULL_FLUSH)
    zeros = packing.compress(bytes(1 << 24)) + packing.flush(zlib.Z_FULL_FLUSH)
    packed = first + zeros * (1 << 8) + packing.flush()
    record = zipfile.ZipInfo("mask.npy")
    record.compress_type, record.header_offset = zipfile.ZIP_DEFLATED, 0
    record.CRC = with_zeros(zlib.crc32(start.getvalue()), 1 << 32)
    record.file_size, record.compress_size = len(start.getvalue()) + (1 << 32), len(packed)
    with zipfile.ZipFile(path, "w") as file:
        assert file.fp is not None
        file.fp.write(record.FileHeader(zip64=True) + packed)
        file.filelist.append(record)
        file.start_dir, file._didModify = file.fp.tell(), True  # type: ignore[attr-defined]


def test_what_is_too_much_to_be_unpacked_is_told_with_its_sizes(cache: Path) -> None:
    huge(cache / "huge.npz")
    np.savez(cache / "small.npz", x=np.zeros(3))
    (finding,) = found(cache.parent)

    assert finding.severity is Severity.NOTE
    assert finding.message.startswith(
        "1 file of 2 is not verified whole: not looked at to the end: huge.npz (mask.npy, 4.3 GB "
        "from 1"
    )
    assert "python -m zipfile -t FILE" in (finding.fix or "")


@pytest.mark.usefixtures("no_checksums")
def test_both_reasons_are_one_note(cache: Path) -> None:
    torch.save({"a": torch.zeros(3)}, cache / "a.pt")
    (cache / "b.pt").write_bytes(gzip.compress(bytes(10) + bytes(range(256)) * 140_000))
    (cache / "c.npz").write_bytes(archive(("x.npy", b"abc"), method=zipfile.ZIP_LZMA))
    (finding,) = found(cache.parent)

    assert finding.message.startswith(
        "3 files of 3 are not verified whole: 1 written without checksums "
        "(set_crc32_options(False)), such as a.pt; not looked at to the end: b.pt (what is in its "
        "gzip stream, 35.8 MB from "
    )
    assert "c.npz (x.npy, 3 bytes from" in finding.message


def test_only_the_first_few_are_named() -> None:
    unread = tuple(Unread(name=f"{at}\x1b.npz", what="x.npy, 9 GB from 1 MB") for at in range(5))
    facts = CacheFolderFacts(file="cache", entries=9, unread=unread, unread_count=7)
    (finding,) = ask("cache-unverifiable", facts)

    assert isinstance(finding, Finding)
    assert finding.message == (
        "7 files of 9 are not verified whole: not looked at to the end: "
        "0\\x1b.npz (x.npy, 9 GB from 1 MB), 1\\x1b.npz (x.npy, 9 GB from 1 MB), "
        "2\\x1b.npz (x.npy, 9 GB from 1 MB), 4 more"
    )
