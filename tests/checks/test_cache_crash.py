"""cache-crash tells the moments at which several damaged files were last written."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch

import preflight
from preflight.findings.finding import Finding, Severity
from tests.contents import saved

pytestmark = pytest.mark.usefixtures("at_hand")


def found(folder: Path, *ages: float) -> list[Finding]:
    """Leave a cut file for each time, beside ten whole ones of the day before."""
    (folder / "cache").mkdir()
    for number in range(10 + len(ages)):
        path = folder / "cache" / f"{number:02}.npz"
        np.savez(path, x=np.zeros(4096, np.float32))
        then = 1_700_000_000.0 - 86_400
        if number >= 10:
            os.truncate(path, 4096)
            then = 1_700_000_000.0 + ages[number - 10]
        os.utime(path, (then, then))
    report = preflight.run(
        "cache=cache", folder=str(folder), elsewhere=True, select=["cache-crash"]
    )
    assert [one.outcome for one in report.checks if one.id == "cache-crash"] != ["broken"]
    return list(report.findings)


@pytest.mark.parametrize(
    "ages",
    [(), (0.0,), (0.0, 1.0), (0.0, 3_600.0, 7_200.0), (-86_400.0, -86_399.0, -86_398.0)],
    ids=["none", "one", "two", "hours apart", "all copied at once"],
)
def test_damages_that_no_moment_explains_are_left_alone(
    tmp_path: Path, ages: tuple[float, ...]
) -> None:
    assert found(tmp_path, *ages) == []


def test_each_moment_is_told_once_with_its_time(tmp_path: Path) -> None:
    first, second = found(tmp_path, 0.0, 2.0, 4.5, 5_000.0, 9_000.0, 9_001.0, 9_009.0, 9_018.0)

    assert first.severity is Severity.NOTE
    assert first.message == (
        "3 of its 8 damaged files were last written within 4.5 s, from 2023-11-14 22:13:20 UTC "
        "on: most likely left by one crash or one full disk"
    )
    assert second.evidence == {"files": 4, "seconds": 18.0}


def test_files_of_one_time_are_said_to_be_of_one_moment(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, 0.0, 0.0, 0.0)

    assert finding.message.startswith(
        "3 of its 3 damaged files were last written at the same moment, 2023-11-14 22:13:20 UTC: "
    )


@pytest.mark.parametrize(
    "content",
    [
        b"version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 123456\n" % 7,
        b"<!DOCTYPE html><html>",
        saved(torch.zeros(3).untyped_storage(), _use_new_zipfile_serialization=False),
    ],
    ids=["a pointer of Git LFS", "an error page", "what torch writes and cannot read"],
)
def test_files_that_were_written_to_their_end_were_left_by_no_crash(
    tmp_path: Path, content: bytes
) -> None:
    """A checkout writes all pointers at once."""
    for number in range(4):
        (tmp_path / f"{number}.pt").write_bytes(content)

    report = preflight.run(f"cache={tmp_path}", folder=str(tmp_path), elsewhere=True)

    assert {one.check for one in report.findings} == {"cache-damaged"}
