"""What a live data set lists is told of its attributes; none of its code is called."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from PIL import Image
from torch.utils.data import ChainDataset, ConcatDataset, Dataset, IterableDataset, Subset
from torch.utils.data import random_split as split

from preflight.objects.rows_of_names import MOST
from preflight.pipelines.file_lists import listing_of
from tests.archives import bounded
from tests.files import put


class Holds(Dataset[Any]):
    """Holds whatever it is given, and never gives a sample."""

    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)

    def __len__(self) -> int:
        return 6

    def __getitem__(self, place: int) -> Any:
        raise AssertionError("nothing of a data set is read")

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"its code was asked for {name}")


class Like:
    """Is no data set of torch, and is read as one."""

    def __init__(self, inner: object) -> None:
        self.inner = inner

    def __len__(self) -> int:
        return 6

    def __getitem__(self, place: int) -> Any:
        raise AssertionError("nothing of a data set is read")


class Stream(IterableDataset[Any]):
    """A stream of what it is given, which never gives a sample."""

    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)

    def __iter__(self) -> Any:
        raise AssertionError("nothing of a data set is read")


class Row(NamedTuple):
    """A row of a list."""

    place: str
    label: int


@dataclass
class Sample:
    """What some lists hold."""

    image: Path
    caption: str


@pytest.fixture
def names(tmp_path: Path) -> list[str]:
    found = []
    for number in range(6):
        (tmp_path / f"{number}.jpg").write_bytes(b"x")
        found.append(str(tmp_path / f"{number}.jpg"))
    return found


SHAPES: dict[str, Callable[[list[str]], object]] = {
    "a list": lambda names: Holds(paths=names),
    "a tuple": lambda names: Holds(paths=tuple(names)),
    "paths": lambda names: Holds(paths=[Path(name) for name in names]),
    "pairs": lambda names: Holds(samples=[(name, 3) for name in names]),
    "the same list twice": lambda names: Holds(samples=names, imgs=list(names)),
    "named tuples": lambda names: Holds(samples=[Row(name, 3) for name in names]),
    "objects": lambda names: Holds(samples=[Sample(Path(name), "a dog") for name in names]),
    "rows of a table": lambda names: Holds(data=[{"image": n, "text": "a. dog"} for n in names]),
    "columns of a table": lambda names: Holds(data={"image": names, "label": [1] * 6}),
    "texts by path": lambda names: Holds(captions=dict.fromkeys(names, "a dog")),
    "paths by key": lambda names: Holds(paths=dict(enumerate(names))),
    "an array": lambda names: Holds(paths=np.array(names)),
    "an array of objects": lambda names: Holds(paths=np.array([*map(Path, names)], dtype=object)),
    "names below a root": lambda names: Holds(
        root=str(Path(names[0]).parent), names=[Path(name).name for name in names]
    ),
    "a part": lambda names: Subset(Holds(paths=names), [0, 1, 2, 3, 4, 5]),
    "several": lambda names: ConcatDataset([Holds(paths=names[:2]), Holds(paths=names[2:])]),
    "a chain": lambda names: ChainDataset([Stream(paths=names[:2]), Stream(paths=names[2:])]),
    "one inside another": lambda names: Holds(base=Holds(dataset=Holds(paths=names))),
    "by their names": lambda names: Holds(
        parts={"a": Holds(paths=names[:2]), "b": Subset(Holds(paths=names[2:]), range(4))}
    ),
    "in what is like one": lambda names: Holds(reader=Like(Holds(paths=names))),
    "what is like one": lambda names: Like(Subset(Holds(paths=names), range(6))),
    "halves": lambda names: ConcatDataset(split(Holds(paths=names), [4, 2])),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_files_are_told_however_they_are_listed(names: list[str], shape: str) -> None:
    found = listing_of(SHAPES[shape](names))

    assert sorted(found.files) == names
    assert found.listed == 6


def test_of_a_part_only_its_own_files_are_told(names: list[str]) -> None:
    inner = Subset(Holds(samples=[(name, 0) for name in names]), range(1, 6))

    assert sorted(listing_of(Subset(inner, np.array([0, 2]))).files) == [names[1], names[3]]


def test_one_file_that_is_not_there_is_told_with_the_others(names: list[str]) -> None:
    Path(names[3]).unlink()

    assert sorted(listing_of(Holds(paths=names)).files) == names


@pytest.mark.parametrize(
    "parts",
    [
        {"classes": ["cat", "dog"], "labels": [1, 2, 3]},
        {"texts": ["Version 2.0", "a dog.", "see a.jpg and b.jpg\nthen c.png"]},
        {"paths": []},
        {"paths": None, "transform": print},
        {"extensions": (".jpg", ".png")},
        {"urls": ["http://x/1.jpg", "http://x/2.jpg"]},
    ],
)
def test_lists_of_something_else_are_left_alone(parts: dict[str, Any]) -> None:
    found = listing_of(Holds(**parts))

    assert (found.listed, dict(found.files)) == (0, {})


def test_files_that_are_still_to_be_written_are_not_missed(names: list[str]) -> None:
    outputs = [f"{name[:-4]}-latent.png" for name in names]
    skipped = ["/nowhere/bad.jpg"]

    found = listing_of(Holds(paths=names, targets=outputs, skipped=skipped))

    assert sorted(found.files) == names


def test_names_that_lead_to_no_file_are_counted_as_such() -> None:
    found = listing_of(Holds(names=["0001.jpg", "0002.jpg"]))

    assert (found.listed, found.lost, found.lost_names[:1]) == (0, 2, ["0001.jpg"])


def test_a_list_of_ten_million_paths_is_counted_and_told_in_part(names: list[str]) -> None:
    data = Holds(paths=(*names, "/nowhere/9.jpg") * 1_500_000)

    with bounded():
        found = listing_of(data)

    assert found.listed >= 10_000_000
    assert len(found.files) <= MOST


def test_of_a_data_set_of_the_package_datasets_columns_files_and_rows_are_told(
    names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = types.ModuleType("datasets")
    monkeypatch.setitem(sys.modules, "datasets", home)
    made = {
        name: type(name, (), {"__module__": "datasets.table"})
        for name in ("Dataset", "Info", "Table", "Value")
    }

    def of(kind: str, **parts: Any) -> Any:
        thing = made[kind]()
        thing.__dict__.update(parts)
        return thing

    block = of("Table", path=names[0])
    table = of("Table", blocks=[[block]], _offsets=np.array([0, 4, 7]))
    info = of("Info", features={"image": of("Value"), "text": of("Value")})

    found = listing_of(of("Dataset", _data=table, _indices=None, _info=info))

    assert found.columns == ("image", "text")
    assert (sorted(found.files), found.rows) == ([names[0]], 7)


def test_of_a_stream_of_the_package_datasets_the_files_are_told_through_all_its_stages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = types.ModuleType("datasets")
    monkeypatch.setitem(sys.modules, "datasets", home)
    made = type("IterableDataset", (), {"__module__": "datasets.iterable_dataset"})

    def of(**parts: Any) -> Any:
        thing = made()
        thing.__dict__.update(parts)
        return thing

    picture, rows = str(tmp_path / "a.jpg"), str(tmp_path / "rows.jsonl")
    pictures = of(kwargs={"files": (("hf://a.jpg", None, picture), ("a.jpg", "b.jpg", picture))})
    stream = of(ex_iterables=[pictures, of(kwargs={"base_files": [rows], "gen_kwargs": 1})])
    for _ in range(12):  # shuffle, map, filter and take
        stream = of(ex_iterable=stream)

    found = listing_of(of(_ex_iterable=stream, _info=of(features=None)))

    assert sorted(found.files) == [picture, rows]


def test_images_that_a_table_of_datasets_names_from_here_are_looked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "0.jpg").touch()
    monkeypatch.setattr(
        "preflight.pipelines.file_lists._stored_paths", lambda *_: ["0.jpg", "1.jpg", "/data/2.jpg"]
    )
    home = types.ModuleType("datasets")
    monkeypatch.setitem(sys.modules, "datasets", home)
    dataset = type("Dataset", (), {"__module__": "datasets.arrow_dataset"})()
    image = type("Image", (), {"__module__": "datasets.features"})()
    table = type("Table", (), {"__module__": "pyarrow.lib"})()
    data = types.SimpleNamespace(table=table)
    dataset.__dict__.update(_info=types.SimpleNamespace(features={"image": image}), _data=data)

    found = listing_of(dataset)

    assert sorted(found.files) == ["/data/2.jpg", *(str(tmp_path / f"{n}.jpg") for n in (0, 1))]


def test_a_column_of_texts_that_name_files_is_a_list_of_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whoever trains opens them by itself; captions, and names that lead nowhere, are none."""
    datasets = pytest.importorskip("datasets")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "0.jpg").touch()
    columns = {
        "image": ["0.jpg", "1.jpg"],
        "text": ["A dog.", "It is 0.jpg"],
        "page": ["http://a.b/0.jpg", "http://a.b/1.jpg"],
        "number": [1, 2],
    }

    found = listing_of(datasets.Dataset.from_dict(columns))

    assert sorted(found.files) == [str(tmp_path / f"{number}.jpg") for number in (0, 1)]
    assert (found.listed, found.lost, found.rows) == (2, 0, 2)
    nowhere = listing_of(datasets.Dataset.from_dict({"text": ["a.b", "c.d"]}))
    assert (nowhere.files, nowhere.lost) == ({}, 0)


def test_what_timm_reads_by_is_looked_into(tmp_path: Path) -> None:
    """It is no data set of torch, and has the list."""
    names = [str(tmp_path / f"{number}.jpg") for number in range(3)]
    put(tmp_path, *(f"{number}.jpg" for number in range(3)))
    reader = type(
        "ReaderImageFolder", (), {"__module__": "timm.data.readers.reader_image_folder"}
    )()
    reader.samples = [(name, 0) for name in names]

    found = listing_of(Holds(reader=reader))

    assert (found.listed, [*found.files]) == (3, names)
    assert listing_of(Holds(reader=types.SimpleNamespace(samples=reader.samples))).listed == 0


def test_of_images_of_datasets_that_are_picked_only_these_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A shuffled or split `imagefolder` reads the files of its own rows."""
    datasets = pytest.importorskip("datasets")
    names = [str(tmp_path / f"{number}.jpg") for number in range(6)]
    for name in names:
        Image.new("RGB", (8, 8)).save(name)
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    rows = datasets.Dataset.from_dict({"image": names}).cast_column("image", datasets.Image())
    assert sorted(listing_of(rows).files) == names

    some = rows.shuffle(seed=3).select([0, 1, 2, 4])

    held = some.cast_column("image", datasets.Image(decode=False))
    assert sorted(listing_of(some).files) == sorted(one["image"]["path"] for one in held)
    assert sorted(listing_of({"train": some}["train"].select(range(2))).files) == sorted(
        one["image"]["path"] for one in held.select(range(2))
    )
