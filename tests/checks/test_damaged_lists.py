"""dataset-absent tells lists of which something else is here, and whose folder holds nothing."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import preflight
from preflight.datasets.named_in_lists import MOST_BYTES
from preflight.findings.finding import Finding, Severity
from tests.archives import photo
from tests.files import put

pytestmark = pytest.mark.usefixtures("at_hand")

TRAIN, VAL = (f"coco/annotations/instances_{split}.json" for split in ("train", "val"))
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4665\nsize 448\n"
PAGE = b"<!DOCTYPE html><html><title>404</title></html>"


def coco(names: list[str]) -> bytes:
    images = [{"id": at, "file_name": name, "width": 64} for at, name in enumerate(names)]
    return json.dumps({"info": {}, "images": images, "annotations": []}).encode()


def make(folder: Path, *, in_val: int = 6, source: bytes = b"print()\n") -> Path:
    """Write a data set as detectors have it: numbers that are unique in all splits."""
    for split, first, many in (("train", 0, 8), ("val", 100, 6)):
        names = [f"{first + n:06}.jpg" for n in range(many)]
        put(folder, f"coco/annotations/instances_{split}.json", content=coco(names))
        there = names if split == "train" else names[:in_val]
        put(folder, *(f"coco/{split}/{one}" for one in there), content=photo())
    put(folder, "train.py", content=source)
    return folder


def told(folder: Path, **options: object) -> tuple[list[Finding], str]:
    report = preflight.run(folder=str(folder), no_ledger=True, **options)
    found = [one for one in report.findings if one.check == "dataset-absent"]
    return found, str(report)


# --- healthy neighbours ---------------------------------------------------------------------------


def test_a_whole_data_set_is_whole(tmp_path: Path) -> None:
    found, page = told(make(tmp_path))

    assert found == []
    assert "not found" not in page


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("boxes.json", b'{"images": []}\n\n  \n'),
        ("boxes.json", b"\xef\xbb\xbf[]"),
        ("boxes.json", b'"one"\n'),
        ("boxes.json", b"12"),
        ("rows.json", b'{"a": 1}\n{"a": 2}\n'),
        ("rows.jsonl", b""),
        ("rows.jsonl", b'["a", 1]\n["b", 2]\n'),
        ("template.json", b"{% for one in messages %}{{ one }}{% endfor %} and on"),
        ("remarks.json", b"{ // what it is for\n}\n// the end"),
        ("page.txt", PAGE),
        ("notes.txt", b"[1] a list\n"),
        ("names.csv", b""),
    ],
)
def test_what_is_read_as_it_is_is_not_damaged(tmp_path: Path, name: str, content: bytes) -> None:
    put(make(tmp_path), f"coco/annotations/{name}", content=content)

    assert told(tmp_path)[0] == []


def test_a_split_that_was_not_fetched_is_no_finding(tmp_path: Path) -> None:
    """The annotations of all splits come in one archive; the page says which were not judged."""
    found, page = told(make(tmp_path, in_val=0))

    assert found == []
    assert f"{VAL} names images that were not found: what it is for was not judged." in " ".join(
        page.split()
    )


@pytest.mark.parametrize("inside", ["coco/val/a/000100.jpg", "coco/val/labels.txt"])
def test_a_folder_that_holds_other_files_is_not_empty(tmp_path: Path, inside: str) -> None:
    put(make(tmp_path, in_val=0), inside, content=b"one")

    assert told(tmp_path)[0] == []


def test_an_empty_folder_of_another_name_says_nothing(tmp_path: Path) -> None:
    for name in ("labels", "annotations/instances", "runs"):
        (make(tmp_path, in_val=0) / "coco" / name).mkdir(exist_ok=True)

    assert told(tmp_path)[0] == []


def test_a_job_of_another_machine_may_have_them_there(tmp_path: Path) -> None:
    (make(tmp_path, in_val=0) / "coco/val").mkdir()

    assert told(tmp_path, elsewhere=True)[0] == []


# --- damage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [(), (".gitkeep",)])
def test_a_folder_that_holds_nothing_is_told_with_its_list(
    tmp_path: Path, kept: tuple[str, ...]
) -> None:
    (make(tmp_path, in_val=0) / "coco/val").mkdir()
    put(tmp_path, *(f"coco/val/{one}" for one in kept), content=b"")

    (one,) = told(tmp_path)[0]

    assert (one.severity, one.at.file) == (Severity.WARNING, VAL)
    assert one.message.startswith("6 of 6 images that it names (images.file_name) are not there")
    assert (one.why or "").startswith("coco/val holds no file")


@pytest.mark.parametrize(
    ("names", "folder"),
    [
        ([f"held_out/{n:03}.jpg" for n in range(6)], "coco/held_out"),
        ([f"{n + 500:06}.jpg" for n in range(6)], "coco/fine-tune_val"),
    ],
)
def test_the_folder_may_be_named_in_the_list_or_as_the_list(
    tmp_path: Path, names: list[str], folder: str
) -> None:
    put(make(tmp_path), "coco/fine-tune_val.txt", content="\n".join(names).encode())
    (tmp_path / folder).mkdir()

    (one,) = told(tmp_path)[0]

    assert (one.why or "").startswith(f"{folder} holds no file")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (coco([f"{n:06}.jpg" for n in range(8)])[:-40], "is cut: it begins with {"),
        (b'[{"file": "000000.jpg"},\n', "is cut: it begins with ["),
        (b"", "is empty"),
        (POINTER, "is a Git LFS pointer, and not the list"),
        (PAGE, "is an HTML page, and not the list"),
    ],
)
@pytest.mark.parametrize("source", [b"print()\n", b"rows = open('instances_train.json')\nx='.jpg'"])
def test_a_list_that_no_reader_reads_is_told(
    tmp_path: Path, content: bytes, said: str, source: bytes
) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - what json.load says of each
        json.loads(content)
    put(make(tmp_path, source=source), TRAIN, content=content)

    (one,) = told(tmp_path)[0]

    assert one.message.startswith(said)
    assert one.at.file == TRAIN
    is_named = b"open" in source
    assert one.severity == (Severity.ERROR if is_named else Severity.WARNING)


@pytest.mark.parametrize("end", [b",", b"]}"])
def test_a_large_list_is_judged_by_its_ends(tmp_path: Path, end: bytes) -> None:
    rows = b",".join([b'{"image_id": 1, "bbox": [1, 2, 3, 4]}'] * (MOST_BYTES // 36))
    put(make(tmp_path), TRAIN, content=b'{"annotations": [' + rows + end)

    assert [one.message[:6] for one in told(tmp_path)[0]] == ([] if end == b"]}" else ["is cut"])


@pytest.mark.parametrize("name", ["train.csv", "train.txt", "train.parquet"])
def test_a_pointer_is_told_of_any_list(tmp_path: Path, name: str) -> None:
    put(make(tmp_path), f"coco/{name}", content=POINTER)

    assert [one.at.file for one in told(tmp_path)[0]] == [f"coco/{name}"]


def test_a_packed_list_is_not_opened(tmp_path: Path) -> None:
    put(make(tmp_path), "coco/annotations/a.json.gz", content=gzip.compress(b"{")[:-3])

    assert told(tmp_path)[0] == []
