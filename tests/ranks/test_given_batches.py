"""What stands around loaders is run, and gives ranks as many batches as it does in real ones."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import preflight
from preflight.finding import Finding
from preflight.findings.report import Report
from tests.warming import copies

pytestmark = pytest.mark.slow

WORLD = 4
LOADERS = Path(__file__).with_name("loaders_around.py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("around")
    shutil.copy(LOADERS, made / "train.py")
    return made


@pytest.fixture(scope="module")
def real(folder: Path) -> dict[str, list[int]]:
    """How many batches real ranks have of each."""
    if sys.platform != "linux":
        pytest.skip("ranks are forked of a process that has torch")
    with copies():
        words = [sys.executable, str(folder / "train.py"), str(folder), str(WORLD)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2_000:]
    each = [json.loads((folder / f"around-{rank}.json").read_text()) for rank in range(WORLD)]
    return {name: [one[name] for one in each] for name in each[0]}


def looked(folder: Path, *names: str) -> Report:
    with copies():
        words = (f"loader=train.py:{name}" for name in names)
        return preflight.run(*words, folder=str(folder), world_size=WORLD, select=["world-steps"])


def found(report: Report) -> dict[str, Finding]:
    return {(one.at.name or "").rpartition(":")[2]: one for one in report.findings}


def test_ranks_have_as_many_batches_as_real_ones_have(
    folder: Path, real: dict[str, list[int]]
) -> None:
    """Of classes, generators and loaders of the job's own, quick ones and slow ones."""
    short = {name for name, counts in real.items() if len({*counts}) > 1}

    seen = found(looked(folder, *real))

    assert len(short) == 6
    assert seen.keys() == short
    for name, one in seen.items():
        assert [row.count for row in one.rows] == real[name], name
        assert "on all of them" in (one.fix or ""), name


def test_what_goes_on_for_ever_is_not_counted_nor_what_gives_loaders(folder: Path) -> None:
    """One is no sign of ranks that stop, though its loader is; the other is taken apart."""
    report = looked(folder, "again_and_again", "loaders")

    assert found(report).keys() == {"loaders.more"}
    (outcome,) = (one for one in report.checks if one.id == "world-steps")
    assert any("do not end" in one.reason for one in outcome.skipped)
