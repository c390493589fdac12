"""Whenever a process is killed, each file is whole in one of the two places, and comes back."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import said_by

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills copies of processes")


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A folder in memory, where there is a file system for that."""
    folder = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    yield Path(folder)
    shutil.rmtree(folder)


@pytest.fixture
def elsewhere(tmp_path: Path, in_memory: Path) -> Path:
    """A folder on another file system than that of the job."""
    if in_memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system")
    return tmp_path


def steps(work: str, *prepared: str) -> str:
    """Do some of the steps in a process that may fork; give what it says."""
    before = "\n".join(f"steps.{one}()" for one in ("without_waiting_for_disks", *prepared))
    return said_by(
        f"from pathlib import Path\nfrom tests.quarantine import steps\n{before}\nprint({work})"
    )


@pytest.mark.parametrize("prepared", [(), ("without_the_one_step",)])
@pytest.mark.parametrize("restores", [False, True])
def test_at_every_line_a_renamed_file_is_whole(
    in_memory: Path, *, restores: bool, prepared: tuple[str, ...]
) -> None:
    """In just one place; where a rename takes two steps, the one file may have both names."""
    job, state = in_memory / "job", in_memory / "state"
    both = bool(prepared)

    lines = steps(
        f"steps.at_every_line(Path({str(job)!r}), Path({str(state)!r}), "
        f"copies=False, both={both}, restores={restores})",
        *prepared,
    )

    assert int(lines) > 100


@pytest.mark.parametrize("restores", [False, True])
def test_at_every_line_a_copied_file_is_whole(
    in_memory: Path, elsewhere: Path, *, restores: bool
) -> None:
    """Its original goes once the copy is whole; of two that are whole, one goes at the end."""
    job, state = in_memory / "job", elsewhere / "state"

    lines = steps(
        f"steps.at_every_line(Path({str(job)!r}), Path({str(state)!r}), "
        f"copies=True, both=True, restores={restores})"
    )

    assert int(lines) > 100


@pytest.mark.parametrize("prepared", [(), ("without_the_one_step",)])
def test_several_at_once_lose_nothing(in_memory: Path, prepared: tuple[str, ...]) -> None:
    job, state = in_memory / "job", in_memory / "state"

    steps(
        f"steps.at_once(Path({str(job)!r}), Path({str(state)!r}), "
        f"copies=False, both={bool(prepared)})",
        *prepared,
    )


def test_several_that_copy_at_once_lose_nothing(in_memory: Path, elsewhere: Path) -> None:
    job, state = in_memory / "job", elsewhere / "state"

    steps(f"steps.at_once(Path({str(job)!r}), Path({str(state)!r}), copies=True, both=True)")
