"""What becomes of samples without a caption is said of the reader that this job has."""

from __future__ import annotations

import contextlib
import gc
import runpy
import types
from pathlib import Path

import pytest

import preflight
from preflight.findings.finding import Finding, Severity
from tests.archives import photo, tarred
from tests.files import put

pytestmark = [pytest.mark.usefixtures("at_hand"), pytest.mark.filterwarnings("ignore")]

STAGES = 'to_tuple("jpg", "txt", handler=HANDLER)'
SOURCE = """import webdataset as wds
ds = wds.WebDataset("d/{0..2}.tar", shardshuffle=False).STAGES
if __name__ == "__main__":
    came = sum(1 for _ in ds)
"""


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two shards whose images have texts, and a third of which one in three has."""
    monkeypatch.setattr("webdataset.handlers.time", types.SimpleNamespace(sleep=lambda _: None))
    monkeypatch.chdir(tmp_path)
    for number in range(3):
        members = {}
        for key in range(6):
            members[f"{number}{key}.jpg"] = photo(width=16, height=16)
            if number < 2 or key > 3:
                members[f"{number}{key}.txt"] = b"a dog"
        put(tmp_path, f"d/{number}.tar", content=tarred(members))
    return tmp_path


def unpaired(job: Path, *words: str) -> Finding:
    report = preflight.run(*words, folder=str(job), no_ledger=True, elsewhere=True)
    assert not any(one.broken for one in report.checks)
    found = [one for one in report.findings if one.check == "sample-unpaired"]
    assert {one.at.file for one in found} == {"d/2.tar"}
    (told,) = [one for one in found if "of the data set have one" in (one.why or "")]
    return told


def come_through() -> int | None:
    """Run the script itself; None where it stops."""
    came: int | None = None
    with contextlib.suppress(ValueError):
        came = runpy.run_path("train.py", run_name="__main__")["came"]
    gc.collect()  # a pipeline that stops leaves its shard open, which no other test shall meet
    return came


@pytest.mark.parametrize(
    ("handler", "said", "came"),
    [
        ("wds.reraise_exception", "raises at the first of them", None),
        ("wds.warn_and_continue", "drops them with no more than a warning", 14),
        ("wds.warn_and_stop", "ends the stream at the first of them", 12),
    ],
)
def test_it_is_what_the_handler_of_the_source_does(
    job: Path, handler: str, said: str, came: int | None
) -> None:
    source = SOURCE.replace("STAGES", STAGES.replace("HANDLER", handler))
    put(job, "train.py", content=source.encode())
    found = unpaired(job)
    assert f'to_tuple("jpg", "txt") (train.py:2), as the source is written, {said}' in (
        found.why or ""
    )
    assert come_through() == came


def test_of_a_reader_that_nobody_knows_nothing_is_said_for_sure(job: Path) -> None:
    found = unpaired(job, "d/{0..2}.tar")
    assert "to_tuple" not in (found.why or "")
    assert "nobody says what reads them" in (found.why or "")


def test_of_a_loader_that_asks_for_no_field_it_is_said(job: Path) -> None:
    """Nothing raises before somebody takes the text out of the sample."""
    source = SOURCE.replace("STAGES", "decode()") + (
        "\n\ndef make():\n    return wds.WebLoader(ds, batch_size=None)\n"
    )
    put(job, "train.py", content=source.encode())
    found = unpaired(job, "d/{0..2}.tar", "train:make")
    assert "train:make asks for no field" in (found.why or "")
    assert found.severity is Severity.ERROR
    assert come_through() == 18
