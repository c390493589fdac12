"""Two live loaders are held against each other by the labels that they give to folders."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from preflight.datasets.class_facts import OtherNumbers
from preflight.datasets.class_folders import otherwise_numbered
from preflight.findings.finding import Severity
from preflight.pipelines.class_numbers import class_numbers
from preflight.pipelines.facts import ClassNumber, Reads
from preflight.testing import ask


def rows(split: str, **numbers: int) -> list[tuple[str, int]]:
    files = ("1.jpg", "2.jpg")
    return [(f"/d/{split}/{name}/{one}", to) for name, to in numbers.items() for one in files]


def loader(name: str, split: str, **numbers: int) -> Reads:
    listed = rows(split, **numbers)
    return Reads(
        name=name,
        files=tuple(path for path, _ in listed),
        numbers=class_numbers(SimpleNamespace(samples=listed)),
    )


@pytest.mark.parametrize(
    "dataset",
    [
        SimpleNamespace(samples=rows("a", cat=0, dog=1), target_transform=None),
        SimpleNamespace(dataset=SimpleNamespace(imgs=rows("a", cat=0, dog=1)), indices=[0, 3]),
    ],
)
def test_the_label_of_each_folder_is_read_off_the_rows(dataset: Any) -> None:
    assert class_numbers(dataset) == (ClassNumber("cat", 0), ClassNumber("dog", 1))


@pytest.mark.parametrize(
    "dataset",
    [
        SimpleNamespace(samples=rows("a", cat=0, dog=1), target_transform=abs),
        SimpleNamespace(samples=rows("a", cat=0)),
        SimpleNamespace(samples=rows("a", cat=1, dog=1)),
        SimpleNamespace(samples=[("/d/x/1.jpg", 0), ("/d/x/2.jpg", 1), ("/d/y/2.jpg", 2)]),
        SimpleNamespace(samples=[("/d/x/1.mp4", 300), ("/d/y/1.mp4", 250)]),
        SimpleNamespace(samples=[("/d/x/1.jpg", True), ("/d/x/2.jpg", True)]),
        SimpleNamespace(samples=["/d/x/1.jpg"], size=(3, 4)),
    ],
)
def test_where_folders_have_no_labels_of_their_own_nothing_is_known(dataset: Any) -> None:
    assert class_numbers(dataset) == ()


def found(*loaders: Reads) -> list[tuple[str, Severity]]:
    findings = [
        one for facts in otherwise_numbered([*loaders]) for one in ask("dataset-classes", facts)
    ]
    return [(one.message, one.severity) for one in findings]


def test_a_class_less_moves_those_behind_it() -> None:
    train = loader("train:make_train", "train", cat=0, dog=1, emu=2)
    other = loader("train:make_val", "val", cat=0, emu=1)

    message = "gives 1 of 2 classes other labels than train:make_train: emu is 1 here, and 2 there"
    assert found(other, train) == [(message, Severity.ERROR)]


@pytest.mark.parametrize("numbers", [{"cat": 0, "dog": 1}, {"cat": 0, "emu": 2}, {"ox": 0}])
def test_the_same_labels_are_left_alone(numbers: dict[str, int]) -> None:
    train = loader("make_train", "train", cat=0, dog=1, emu=2)

    assert found(train, loader("make_val", "val", **numbers)) == []


def test_labels_of_two_data_sets_are_a_warning() -> None:
    facts = OtherNumbers(name="b", train="a", shared=2, moved=(("cat", 1, 0),), apart=True)

    (finding,) = ask("dataset-classes", facts)
    assert finding.severity is Severity.WARNING


PATHS = ["/d/x/1.jpg", "/d/x/2.jpg", "/d/y/1.jpg"]


@pytest.mark.parametrize(
    "dataset",
    [
        SimpleNamespace(reader=SimpleNamespace(samples=list(zip(PATHS, [0, 0, 1], strict=True)))),
        SimpleNamespace(paths=PATHS, labels=[0, 0, 1], size=(224, 224)),
        SimpleNamespace(files=tuple(PATHS), targets=numpy.array([0, 0, 1])),
        SimpleNamespace(rows=[{"image": one, "label": int("y" in one)} for one in PATHS]),
        SimpleNamespace(rows=[(Path(one), "a name", int("y" in one)) for one in PATHS]),
    ],
    ids=["timm", "two lists", "a vector", "dicts", "paths, and names"],
)
def test_labels_stand_beside_paths_in_several_ways(dataset: Any) -> None:
    assert class_numbers(dataset) == (ClassNumber("x", 0), ClassNumber("y", 1))


@pytest.mark.parametrize(
    "dataset",
    [
        SimpleNamespace(paths=PATHS, labels=[0, 0, 1], boxes=[4, 5, 6]),
        SimpleNamespace(paths=PATHS, masks=PATHS, labels=[0, 0, 1]),
        SimpleNamespace(paths=PATHS, labels=[0, 1]),
        SimpleNamespace(paths=PATHS, labels=[0.0, 0.0, 1.0]),
        SimpleNamespace(rows=[(one, 3, int("y" in one)) for one in PATHS]),
        SimpleNamespace(rows=[*zip(PATHS, [0, 0, 1], strict=True), None]),
    ],
)
def test_what_may_be_no_label_is_none(dataset: Any) -> None:
    assert class_numbers(dataset) == ()
