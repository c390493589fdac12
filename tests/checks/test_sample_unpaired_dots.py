"""Samples of which every name has a dot more have none of the fields that a reader asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

import preflight
from preflight.datasets.uncaptioned import dotted_fields
from preflight.findings.finding import Severity
from preflight.shards.facts import FieldSet, SampleFields
from tests.archives import tarred
from tests.files import put

PIPELINE = 'import webdataset as wds\nds = wds.WebDataset("{{0..1}}.tar").to_tuple({})\n'


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        ([("v2.jpg", "v2.txt")], ("v2.jpg", "v2.txt")),
        ([("v2.cls", "v2.jpg")], ("v2.jpg", "v2.cls")),
        ([("v2.final.jpg", "v2.final.txt"), ("v3.jpg", "v3.txt")], ("v2.final.jpg",)),
        ([("v2.jpg", "v2.txt"), ("json",)], ("v2.jpg", "v2.txt")),
        ([("v2.jpg", "v2.txt"), ("jpg", "txt")], ()),
        ([("jpg", "txt")], ()),
        ([("v2.jpg",)], ()),
        ([("rgb.jpg", "seg.png", "txt")], ()),
        ([("caption.txt", "depth.png", "rgb.jpg")], ()),
        ([("left.jpg", "left.txt", "right.jpg", "right.txt")], ()),
        ([("v2.json", "v2.npy")], ()),
        ([], ()),
    ],
)
def test_fields_that_all_begin_alike_are_ends_of_names(
    sets: list[tuple[str, ...]], expected: tuple[str, ...]
) -> None:
    whole = SampleFields(sets=tuple(FieldSet(one, 9 - place) for place, one in enumerate(sets)))

    assert dotted_fields(whole)[0][: len(expected) or 1] == expected


@pytest.mark.usefixtures("at_hand")
@pytest.mark.parametrize(
    ("asked", "checks"),
    [
        (None, [("sample-unpaired", Severity.WARNING)]),
        ('"jpg", "txt"', [("dataset-survival", Severity.ERROR)]),
        ('"v2.jpg", "v2.txt"', []),
    ],
)
def test_what_asks_for_fields_overrules_the_guess(
    tmp_path: Path, asked: str | None, checks: list[tuple[str, Severity]]
) -> None:
    for shard in range(2):
        keys = [f"{shard}{n}" for n in range(6)]
        files = {f"{key}.v2.{end}": b"a dog" for key in keys for end in ("jpg", "txt")}
        put(tmp_path, f"{shard}.tar", content=tarred(files))
    if asked is not None:
        put(tmp_path, "train.py", content=PIPELINE.format(asked).encode())

    report = preflight.run(
        folder=str(tmp_path), elsewhere=True, no_ledger=True, ignore=["image-damaged"]
    )

    assert [(one.check, one.severity) for one in report.findings] == checks
    if not asked:
        (finding,) = report.findings
        assert finding.message.startswith("has no .jpg in 12 samples, and .v2.jpg and .v2.txt")
