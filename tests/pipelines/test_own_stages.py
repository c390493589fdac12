"""What a function of the user's does with samples that lack a caption is told by what it did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import preflight
from tests.archives import photo, tarred
from tests.pipelines.test_survival import ended

pytestmark = pytest.mark.usefixtures("at_hand")

SOURCE = """
import webdataset as wds
from torch.utils.data import DataLoader, IterableDataset


def of(*stages):
    first = wds.SimpleShardList(["0.tar"]), wds.tarfile_to_samples(), wds.decode("torchrgb")
    return DataLoader(wds.DataPipeline(*first, *stages), batch_size=2)


def fill_in(source):
    for sample in source:
        sample.setdefault("txt", "")
        yield sample


def drop(source):
    yield from (sample for sample in source if "txt" in sample)


def with_text(sample): return sample["jpg"], sample["txt"]
def or_none(sample): return sample["jpg"], sample.get("txt", "")


class Around(IterableDataset):
    def __init__(self):
        first = wds.SimpleShardList(["0.tar"]), wds.tarfile_to_samples(), wds.decode("torchrgb")
        self.samples = wds.DataPipeline(*first)

    def __iter__(self): return map(or_none, self.samples)


def filled_in(): return of(fill_in, wds.to_tuple("jpg", "txt"))
def has_a_default(): return of(wds.map(or_none))
def given_as_pairs(): return of(lambda source: map(or_none, source))
def raises(): return of(wds.map(with_text))
def dropped(): return of(drop, wds.map(with_text))
def drops_by_a_handler(): return of(wds.map(with_text, handler=wds.ignore_and_continue))
def goes_around(): return DataLoader(Around(), batch_size=2)
def asked_for(): return of(wds.to_tuple("jpg", "txt", handler=wds.ignore_and_continue))
"""

IMAGE = photo(width=32, height=32)


@pytest.mark.parametrize(
    ("name", "batches", "severities", "verdict"),
    [
        ("filled_in", 4, set(), "go"),
        ("has_a_default", 4, set(), "go"),
        ("given_as_pairs", 4, set(), "go"),
        ("goes_around", 4, {"WARNING"}, "go"),
        ("dropped", 3, {"WARNING"}, "go"),
        ("drops_by_a_handler", 3, {"WARNING"}, "go"),
        ("raises", 0, {"WARNING"}, "no-go"),
        ("asked_for", 3, {"ERROR"}, "no-go"),
    ],
)
def test_what_a_function_of_the_users_fills_in_is_not_missing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    batches: int,
    severities: set[str],
    verdict: str,
) -> None:
    """And is at least a warning where nobody has seen that all samples come through."""
    monkeypatch.chdir(tmp_path)
    fields = [{"jpg": IMAGE} | ({"txt": b"a cat"} if at % 4 else {}) for at in range(8)]
    members = [(f"{at}.{end}", what) for at, one in enumerate(fields) for end, what in one.items()]
    (tmp_path / "0.tar").write_bytes(tarred(members))
    (tmp_path / "data.py").write_text(SOURCE, encoding="utf-8")
    given: dict[str, Any] = {}
    exec(compile(SOURCE, "data.py", "exec"), given)

    came, _ = ended(given[name]())
    report = preflight.run("0.tar", f"data:{name}")

    assert came == batches
    found = [one for one in report.findings if one.check == "sample-unpaired"]
    assert {one.severity.name for one in found} == severities
    assert report.verdict == verdict
