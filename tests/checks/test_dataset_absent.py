"""dataset-absent holds what lists name against the images that are there."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import sys
from pathlib import Path

import pytest

import preflight
from preflight.datasets.facts import FileList, NamedColumn, NamesSeen
from preflight.datasets.lists import lists_around
from preflight.datasets.named_in_lists import look
from preflight.findings.finding import Severity
from preflight.kinds.asked import Asked
from preflight.testing import ask
from tests.archives import photo
from tests.files import put

IMAGES = [f"data/images/{n:03}.jpg" for n in range(10)]
NAMES = [f"{n:03}.jpg" for n in range(12)]
STEMS = [f"{n:03}" for n in range(12)]


def seen(folder: Path, name: str, text: str | bytes, *images: str) -> list[NamesSeen]:
    put(folder, *(images or IMAGES), content=b"image")
    put(folder, name, content=text.encode() if isinstance(text, str) else text)
    root, top = str(folder), str(folder / "data")
    paths = list(lists_around(top, root))
    wire = {"paths": paths, "folders": [top]}
    steps = contextlib.nullcontext
    asked = Asked(
        wire=wire,
        options={"root": root},
        alive=lambda *_: None,
        step=lambda _: steps(),
        opening=lambda _: None,
        some=lambda *_: None,
        memory=0,
    )
    return list(look(asked))


def lines(rows: list[str]) -> str:
    return "".join(f"{row}\n" for row in rows)


TABLES = {
    "data/train.csv": "image,label\n" + lines([f"{one},1" for one in NAMES]),
    "data/with_a_remark.csv": "image,label\nsee below,\n" + lines([f"{one},1" for one in NAMES]),
    "data/no_names.csv": lines([f"{one},1" for one in NAMES]),
    "data/train.tsv": "label\tpath\n" + lines([f"1\timages/{one}" for one in NAMES]),
    "data/semicolons.csv": "label;path\n" + lines([f"1;./images/{one}" for one in NAMES]),
    "data/annotations/coco.json": json.dumps(
        {"images": [{"id": n, "file_name": one} for n, one in enumerate(NAMES)], "info": {}}
    ),
    "data/llava.json": json.dumps(
        [{"image": f"data/images/{one}", "conversations": [{"value": "hm"}]} for one in NAMES]
    ),
    "data/rows.jsonl": lines([json.dumps({"file": one, "text": "a"}) for one in NAMES]),
    "data/by_name.json": json.dumps(dict.fromkeys(NAMES, 3)),
    "data/names.json": json.dumps(NAMES),
    "splits/train.txt": lines(NAMES),
    "data/labelled.txt": lines([f"images/{one} 3" for one in NAMES]),
    "data/attributes.txt": lines([f"{one}  1 -1  1" for one in NAMES]),
    "data/images.txt": lines([f"{n} images/{one}" for n, one in enumerate(NAMES)]),
    "data/piped.txt": lines([f"{one}|a dog, asleep.|en" for one in NAMES]),
    "data/ImageSets/Main/train.txt": lines(STEMS),
    "train.csv": "id,score\n" + lines([f"{one},0.5" for one in STEMS]),
    "data/images/labels.csv": "image,label\n" + lines([f"{one},1" for one in NAMES]),
    "data/a/b/train.txt": lines([f"../../images/{one}" for one in NAMES]),
}


@pytest.mark.parametrize("name", TABLES)
def test_two_of_twelve_names_are_not_there(tmp_path: Path, name: str) -> None:
    (found,) = seen(tmp_path, name, TABLES[name])

    (column,) = found.columns
    assert (found.file, column.names, column.missing) == (name, 12, 2)
    assert [one[:3] for one in [first.rpartition("/")[2] for first in column.first]] == [
        "010",
        "011",
    ]


@pytest.mark.parametrize("name", TABLES)
def test_a_list_of_what_is_there_is_whole(tmp_path: Path, name: str) -> None:
    images = [f"data/images/{n:03}.jpg" for n in range(14)]

    (found,) = seen(tmp_path, name, TABLES[name], *images)

    assert [one.missing for one in found.columns] == [0]


@pytest.mark.parametrize(
    "text",
    [
        "url,label\n" + lines([f"https://example.org/{one},1" for one in NAMES]),
        "image,label\n" + lines([f"other-{one},1" for one in NAMES]),
        "image,label\n" + lines([f"/mnt/other/{one},1" for one in NAMES]),
        "image,label\n" + lines([f"val/{one},1" for one in NAMES]),
        "text,label\n" + lines([f"a dog of {n},1" for n in range(12)]),
        "label,score\n" + lines([f"{n},{n}.5" for n in range(12)]),
        "id,name\n" + lines([f"{n % 3:03},x" for n in range(12)]),
        lines(["not", "a", "table", "of", "anything"]),
        '"an open quote',
        "",
    ],
)
def test_what_names_no_images_of_this_folder_is_no_list(tmp_path: Path, text: str) -> None:
    assert seen(tmp_path, "data/train.csv", text) == []


@pytest.mark.parametrize(
    "name",
    ["data/missing.csv", "data/metadata.csv", "data/images/003.txt", "data/.hidden.csv", "a/b.csv"],
)
def test_what_is_left_out_or_read_by_others_is_passed_over(tmp_path: Path, name: str) -> None:
    assert seen(tmp_path, name, TABLES["data/train.csv"]) == []


def test_images_that_are_hidden_or_elsewhere_are_there(tmp_path: Path) -> None:
    put(tmp_path, "data/.x/1.jpg", "old/2.jpg", content=b"image")
    text = "image\n" + lines([*IMAGES, "data/.x/1.jpg", "old/2.jpg"])

    (found,) = seen(tmp_path, "all.csv", text)

    assert found.columns == (NamedColumn("image", 12),)


def test_images_behind_a_link_are_there(tmp_path: Path) -> None:
    images = [one.replace("data", "far") for one in IMAGES[:8]]
    (tmp_path / "data").mkdir()
    (tmp_path / "data/images").symlink_to("../far/images")

    (found,) = seen(tmp_path, "data/train.csv", TABLES["data/train.csv"], *images)

    assert [(one.names, one.missing) for one in found.columns] == [(12, 4)]


def test_a_split_that_is_not_there_is_set_apart(tmp_path: Path) -> None:
    rows = [f"{one},{'test' if n > 9 else 'train'},1" for n, one in enumerate(NAMES)]

    (found,) = seen(tmp_path, "data/all.csv", "image,split,label\n" + lines(rows))

    assert [(one.missing, one.apart) for one in found.columns] == [(2, "split = test")]


@pytest.mark.parametrize(
    ("column", "read_by", "asked_by", "expected"),
    [
        (NamedColumn("image", 12, 2), "train.py:3", "", Severity.ERROR),
        (NamedColumn("image", 12, 2), "", "", Severity.WARNING),
        (NamedColumn("image", 12, 7), "", "", Severity.NOTE),
        (NamedColumn("image", 12, 7), "train.py:3", "", Severity.ERROR),
        (NamedColumn("image", 12, 2), "train.py:3", "train.py:5", Severity.WARNING),
        (NamedColumn("id", 12, 2, stems=True), "train.py:3", "", Severity.WARNING),
        (NamedColumn("image", 12, 2, apart="split = test"), "train.py:3", "", Severity.NOTE),
        (NamedColumn("image", 12), "train.py:3", "", None),
    ],
)
def test_it_is_as_grave_as_what_is_known(
    column: NamedColumn, read_by: str, asked_by: str, expected: Severity | None
) -> None:
    facts = FileList(file="data/a.csv", column=column, read_by=read_by, asked_by=asked_by)

    assert [one.severity for one in ask("dataset-absent", facts)] == [expected] * bool(expected)


@pytest.mark.usefixtures("at_hand")
def test_a_source_that_names_the_list_makes_it_an_error(tmp_path: Path) -> None:
    put(tmp_path, *IMAGES, content=photo())
    put(tmp_path, "data/train.csv", content=TABLES["data/train.csv"].encode())
    put(tmp_path, "train.py", content=b"import PIL.Image\nrows = open('train.csv')\nx = '.jpg'\n")

    report = preflight.run(folder=str(tmp_path), elsewhere=True, no_ledger=True)

    (finding,) = report.findings
    assert (finding.check, finding.severity) == ("dataset-absent", Severity.ERROR)
    assert (
        finding.message == "2 of 12 images that it names (image) are not there: 010.jpg and 011.jpg"
    )
    assert finding.why is not None and finding.why.startswith("train.py:2 names the list")
    page = " ".join(str(report).split())
    assert "1 .csv file (" in page
    assert "Of data/train.csv, which no reader reads, the names of images alone were held" in page


@pytest.mark.usefixtures("at_hand")
def test_of_a_list_that_is_cut_it_is_said_how_much_of_it_was_looked_at(tmp_path: Path) -> None:
    put(tmp_path, *IMAGES, content=photo())
    put(tmp_path, "data/train.jsonl", content=b'{"file":')

    report = preflight.run(folder=str(tmp_path), elsewhere=True, no_ledger=True)

    assert [one.check for one in report.findings] == ["dataset-absent"]
    page = " ".join(str(report).split())
    assert "Of data/train.jsonl, which no reader reads, the beginning and end alone were" in page


SKIPS = b"from PIL import Image\nfor p in paths:\n    if p.exists():\n        Image.open(p)\n"
CAPTIONS = (
    b"from PIL import Image\ndef f(p):\n    t = p + '.txt'\n    t = t if t.exists() else ''\n"
)


@pytest.mark.usefixtures("at_hand")
@pytest.mark.parametrize(
    ("train", "more", "severity"),
    [
        (b"", SKIPS, Severity.ERROR),
        (b"import more\n", SKIPS, Severity.WARNING),
        (b"import importlib\nimportlib.import_module(name)\n", SKIPS, Severity.WARNING),
        (b"import more\n", CAPTIONS, Severity.ERROR),
        (SKIPS, b"", Severity.WARNING),
    ],
)
def test_only_a_source_on_the_way_goes_on_without_an_image(
    tmp_path: Path, train: bytes, more: bytes, severity: Severity
) -> None:
    put(tmp_path, *IMAGES, content=photo())
    put(tmp_path, "data/train.csv", content=TABLES["data/train.csv"].encode())
    put(tmp_path, "more.py", content=more)
    opens = b"import PIL.Image\nrows = open('train.csv')\nx = '.jpg'\n"
    begins = b"if __name__ == '__main__':\n    main()\n"
    put(tmp_path, "train.py", content=opens + train + begins)

    report = preflight.run(folder=str(tmp_path), elsewhere=True, no_ledger=True)

    (finding,) = (one for one in report.findings if one.check == "dataset-absent")
    assert finding.severity == severity


def parquet(columns: dict[str, list[object]]) -> bytes:
    arrow = pytest.importorskip("pyarrow")
    held = io.BytesIO()
    importlib.import_module("pyarrow.parquet").write_table(arrow.table(columns), held)
    return held.getvalue()


def test_names_in_parquet_are_held_against_images(tmp_path: Path) -> None:
    content = parquet({"image": list(NAMES), "label": list(range(12)), "text": [None] * 12})

    (found,) = seen(tmp_path, "data/train.parquet", content)

    assert found.columns == (NamedColumn("image", 12, 2, ("010.jpg", "011.jpg")),)


@pytest.mark.parametrize(
    "columns",
    [
        {"image": [b"RIFF"] * 12},
        {"url": [f"https://example.org/{one}" for one in NAMES]},
        {"a": []},
    ],
)
def test_parquet_without_names_is_no_list(tmp_path: Path, columns: dict[str, list[object]]) -> None:
    assert seen(tmp_path, "data/train.parquet", parquet(columns)) == []


def test_parquet_that_nobody_can_read_is_no_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = parquet({"image": list(NAMES)})

    assert seen(tmp_path, "data/cut.parquet", content[:-30]) == []
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert seen(tmp_path, "data/train.parquet", content) == []


MOVED = "image,label\n" + lines([f"old/pets/{n:03}.jpg,1" for n in range(12)])
LISTS = {
    "moved": (MOVED, b"train.csv", "12 of 12"),
    "moved to another disk": (MOVED.replace("old", "/mnt/old"), b"train.csv", "12 of 12"),
    "hardly any": (
        MOVED + "000.jpg,1\n001.jpg,1\n" + MOVED.replace("old", "a"),
        b"train.csv",
        "24",
    ),
    "not named": (MOVED, b"other.csv", None),
    "moved, and beside it what they are called now": (
        "old,path\n" + lines([f"old/{n:03}.jpg,images/{n:03}.jpg" for n in range(10)]),
        b"train.csv",
        None,
    ),
    "where they are": (MOVED.replace("old/pets", "data/images"), b"train.csv", "2 of 12"),
    "in a folder that is not looked at": (MOVED.replace("old/pets", "dots/.x"), b"train.csv", None),
    "addresses": (MOVED.replace("old", "https://old"), b"train.csv", None),
}


@pytest.mark.usefixtures("at_hand")
@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_which_hardly_any_is_there_is_told_where_a_source_names_it(
    tmp_path: Path, name: str
) -> None:
    text, named, expected = LISTS[name]
    put(tmp_path, *IMAGES, content=photo())
    put(tmp_path, *(f"dots/.x/{n:03}.jpg" for n in range(12)), content=photo())
    put(tmp_path, "data/train.csv", content=text.encode())
    source = b"import PIL.Image\nrows = open('%s')\nx = '.jpg'\n" % named
    put(tmp_path, "train.py", content=source)

    report = preflight.run("data", "source=train.py", folder=str(tmp_path), no_ledger=True)

    found = [one for one in report.findings if one.check == "dataset-absent"]
    assert [one.message.startswith(expected or "?") for one in found] == [True] * bool(expected)
    if name.startswith("moved") and found:
        assert found[0].severity == Severity.WARNING
        assert "data/images/000.jpg is here" in (found[0].why or "")


def test_an_image_of_the_same_number_in_another_folder_is_another_image(tmp_path: Path) -> None:
    """As frames of a scene, which are listed without their extension, for each split."""
    frames = [{"file_path": f"./train/r_{n}", "time": 0.5} for n in range(5)]
    there = [f"data/lego/{split}/r_{n}.png" for split in ("train", "val") for n in range(5)]
    there.remove("data/lego/train/r_3.png")

    (found,) = seen(tmp_path, "data/lego/transforms_train.json", json.dumps(frames), *there)

    (column,) = found.columns
    assert (column.names, column.missing, column.first) == (5, 1, ("./train/r_3",))


def test_names_in_folders_of_their_own_lead_to_images_as_before(tmp_path: Path) -> None:
    """Where the folder that they name holds their labels."""
    named = lines([f"labels/{one}" for one in STEMS])

    (found,) = seen(tmp_path, "data/train.txt", named)

    assert [one.missing for one in found.columns] == [2]


def of_splits(folder: Path, numbers: dict[str, range], lists: dict[str, range], form: str) -> None:
    """Put images by number into a folder of each split, and lists of them beside."""
    for split, those in numbers.items():
        put(folder, *(f"data/images/{split}/{n:03}.jpg" for n in those), content=photo())
    for split, those in lists.items():
        names = [f"{n:03}.jpg" for n in those]
        images = [{"id": n, "file_name": one} for n, one in enumerate(names)]
        text = json.dumps({"images": images}) if form.endswith(".json") else lines(names)
        put(folder, f"data/{form.format(split)}", content=text.encode())


@pytest.mark.parametrize("form", ["annotations/instances_{}.json", "{}.txt", "lists/{}-labels.txt"])
def test_lists_of_splits_are_held_against_the_folders_that_are_called_so(
    tmp_path: Path, form: str
) -> None:
    """An image of the same number in the other split is another image."""
    here = {"train": range(20), "val": range(8)}
    of_splits(tmp_path, here, {"train": range(20), "val": range(10)}, form)

    report = preflight.run(folder=str(tmp_path), select=["dataset-absent"])

    (finding,) = report.findings
    assert finding.severity is Severity.WARNING
    assert str(finding.at.file) == f"data/{form.format('val')}"
    assert "is not in data/images/val: 008.jpg" in finding.message.replace("are not", "is not")


@pytest.mark.parametrize(
    ("numbers", "listed", "form"),
    [
        # each list is of its own folder
        ({"train": range(9), "val": range(5)}, {"train": range(9), "val": range(5)}, "{}.txt"),
        # both are of images in one folder, beside another one of that name
        (
            {"train": range(20), "val": range(2)},
            {"train": range(15), "val": range(15, 20)},
            "{}.txt",
        ),
        # a list of the images of both
        ({"train": range(9), "val": range(9, 14)}, {"train": range(9), "val": range(14)}, "{}.txt"),
        # only one of them has a folder of its own
        ({"val": range(5), "pool": range(12)}, {"train": range(12), "val": range(12)}, "{}.txt"),
    ],
)
def test_lists_of_splits_that_are_of_other_folders_are_left_alone(
    tmp_path: Path, numbers: dict[str, range], listed: dict[str, range], form: str
) -> None:
    of_splits(tmp_path, numbers, listed, form)

    assert preflight.run(folder=str(tmp_path), select=["dataset-absent"]).findings == ()
