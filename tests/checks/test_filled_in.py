"""Captions that are not there, and for which a loader puts something else, are told where many."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import preflight
from preflight.findings.finding import Severity
from tests.archives import tarred
from tests.pipelines.shards_to_lose import good

pytestmark = pytest.mark.usefixtures("at_hand")

TRAIN = """
import webdataset as wds


def take(sample):
    return sample["jpg"], sample.get("txt", b"")


def make():
    return wds.WebDataset("{{000..001}}.tar", shardshuffle=False).{}
"""
STAGES = ['to_tuple("jpg", "txt", missing_is_error=False)', "map(take)"]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize(("missing", "told"), [(2, set()), (6, {Severity.WARNING})])
def test_half_without_a_caption_is_no_quiet_go_whatever_is_put_in_its_place(
    tmp_path: Path, stage: str, missing: int, told: set[Severity]
) -> None:
    for number in range(2):
        files = good(12, 12 * number)
        for name in [name for name in files if name.endswith(".txt")][:missing]:
            del files[name]
        (tmp_path / f"{number:03}.tar").write_bytes(tarred(files))
    (tmp_path / "train.py").write_text(TRAIN.format(stage))

    report = preflight.run("train:make", folder=str(tmp_path), elsewhere=True)

    code = "import train; print(sum(1 for sample in train.make()))"
    ran = subprocess.check_output([sys.executable, "-c", code], cwd=tmp_path, text=True)
    assert ran.strip() == "24"
    assert report.verdict == "go"
    found = [one for one in report.findings if one.check == "sample-unpaired"]
    assert {one.severity for one in found} == told
    assert len(report.findings) == len(found)


def test_a_field_that_is_renamed_before_is_not_taken_for_missing(tmp_path: Path) -> None:
    stage = 'rename(image="jpg", text="txt").to_tuple("image", "text", missing_is_error=False)'
    for number in range(2):
        (tmp_path / f"{number:03}.tar").write_bytes(tarred(good(12, 12 * number)))
    (tmp_path / "train.py").write_text(TRAIN.format(stage))

    assert preflight.run("train:make", folder=str(tmp_path), elsewhere=True).findings == ()
