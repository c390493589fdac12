"""What a `select` of the job's takes out of shards itself is no fault of the data."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import preflight
from preflight.findings.finding import Severity
from tests.archives import tarred
from tests.pipelines.shards_to_lose import good

pytestmark = pytest.mark.usefixtures("at_hand")

TRAIN = """
import webdataset as wds
from torch.utils.data import DataLoader


def has_text(sample):
    return bool(sample.get("txt"))


def is_large(sample):
    return len(sample["jpg"]) > 10


def make():
    pairs = wds.WebDataset("{{000..001}}.tar", shardshuffle=False).select({}).to_tuple("jpg", "txt")
    return DataLoader(pairs, batch_size=2)
"""


def job(folder: Path, select: str, **texts: Any) -> None:
    for number in range(2):
        files = {**good(12, 12 * number)}
        for name in [name for name in files if name.endswith(".txt")][: texts["missing"]]:
            del files[name]
        for name in [name for name in files if name.endswith(".txt")][: texts["empty"]]:
            files[name] = b""
        (folder / f"{number:03}.tar").write_bytes(tarred(files))
    (folder / "train.py").write_text(TRAIN.format(select))


def really_ends(folder: Path) -> bool:
    code = "import train\nfor batch in train.make(): pass"
    ran = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, check=False)
    return ran.returncode == 0


def run(folder: Path, **flags: Any) -> preflight.Report:
    return preflight.run("train:make", folder=str(folder), elsewhere=True, **flags)


def severities(report: preflight.Report) -> dict[str, Severity]:
    return {one.check: one.severity for one in report.findings}


def test_samples_without_a_caption_that_are_taken_out_before_they_are_asked_are_left_alone(
    tmp_path: Path,
) -> None:
    job(tmp_path, "has_text", missing=2, empty=0)

    report = run(tmp_path)

    assert really_ends(tmp_path)
    assert (report.verdict, severities(report)) == ("go", {})
    assert ".select(has_text) takes out 4 of 24 samples" in str(report)


OWN = """
import webdataset as wds


def only_captioned(samples):
    for sample in samples:
        if "txt" in sample:
            yield sample


def make():
    data = wds.WebDataset("{{000..001}}.tar", shardshuffle=False).compose({0})
    return wds.WebLoader(data.decode("pil").to_tuple("jpg", "txt"), batch_size=None)
"""


def test_what_a_function_of_the_jobs_own_lets_through_is_said(tmp_path: Path) -> None:
    job(tmp_path, "has_text", missing=2, empty=0)
    (tmp_path / "train.py").write_text(OWN.format("only_captioned"))

    report = run(tmp_path)

    assert really_ends(tmp_path)
    assert "only_captioned gives 20 for 24 samples" in " ".join(str(report).split())


def test_half_of_a_shard_that_is_taken_out_is_told_as_a_warning(tmp_path: Path) -> None:
    job(tmp_path, "has_text", missing=6, empty=0)

    report = run(tmp_path)

    assert really_ends(tmp_path)
    assert (report.verdict, severities(report)) == ("go", {"sample-unpaired": Severity.WARNING})
    assert "select (train.py:15) of train:make takes them out" in (report.findings[0].why or "")


def test_what_a_select_leaves_in_is_told_where_it_ends_the_run(tmp_path: Path) -> None:
    job(tmp_path, "is_large", missing=2, empty=0)

    report = run(tmp_path)

    assert not really_ends(tmp_path)
    assert report.verdict == "no-go"
    assert "loader-end" in severities(report) or "dataset-survival" in severities(report)


def test_where_no_epoch_was_run_it_is_a_guess_and_said_to_be_one(tmp_path: Path) -> None:
    job(tmp_path, "has_text", missing=2, empty=0)

    report = run(tmp_path, select=["sample", "dataset"])

    found = [one for one in report.findings if one.check == "sample-unpaired"]
    assert {one.severity for one in found} == {Severity.WARNING}
    assert all("unless select (train.py:15) takes them out" in (one.why or "") for one in found)


def test_captions_without_a_text_that_a_select_may_take_out_say_so(tmp_path: Path) -> None:
    job(tmp_path, "has_text", missing=0, empty=8)

    report = run(tmp_path)

    assert really_ends(tmp_path)
    assert (report.verdict, severities(report)) == ("go", {"caption-empty": Severity.WARNING})
    assert "unless select (train.py:15) takes" in (report.findings[0].why or "")
