"""cache-unverifiable notes once a folder what no checksum vouches for."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import preflight
from preflight.facts import Alike, CacheFolderFacts
from preflight.finding import Finding, Location, Severity
from preflight.testing import ask


@pytest.fixture
def no_checksums() -> Iterator[None]:
    """Let torch write none."""
    before = torch.serialization.get_crc32_options()
    torch.serialization.set_crc32_options(compute_crc32=False)
    yield
    torch.serialization.set_crc32_options(before)


def found(folder: Path) -> list[Finding]:
    report = preflight.run(
        "cache=cache", folder=str(folder), elsewhere=True, select=["cache-unverifiable"]
    )
    assert report.verdict == "go"
    return list(report.findings)


def test_what_has_checksums_and_formats_that_never_have_one_are_left_alone(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    torch.save({"a": torch.zeros(3)}, cache / "a.pt")
    (cache / "b.pt").write_bytes(gzip.compress((cache / "a.pt").read_bytes()))
    np.save(cache / "c.npy", np.zeros(3))
    np.savez(cache / "d.npz", x=np.zeros(3))
    (cache / "e.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")

    assert found(tmp_path) == []


@pytest.mark.usefixtures("no_checksums")
def test_a_folder_without_checksums_is_one_note(tmp_path: Path) -> None:
    """However many files, and whatever the reason."""
    cache = tmp_path / "cache"
    cache.mkdir()
    for number in range(3):
        torch.save({"a": torch.zeros(3)}, cache / f"{number}.pt")
    torch.save({"a": torch.ones(3)}, cache / "old.pt", _use_new_zipfile_serialization=False)

    (finding,) = found(tmp_path)

    assert finding.severity is Severity.NOTE
    assert finding.at == Location(file="cache")
    assert finding.message == (
        "4 files of 4 have no checksum: 3 written without checksums (set_crc32_options(False)), "
        "such as 0.pt; 1 in torch's format from before 1.6, such as old.pt"
    )


def test_a_format_that_is_not_judged_is_passed_over() -> None:
    facts = CacheFolderFacts(
        file="cache", entries=2, unverified=(Alike(what="unknown", count=2, names=("a", "b")),)
    )

    assert ask("cache-unverifiable", facts) == []
