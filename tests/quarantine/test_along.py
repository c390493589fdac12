"""What goes with a file is found by names, and by the lists that name it."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

from preflight.quarantine.along import belonging, naming, ranges
from tests.files import put


def beside(folder: Path, *moved: str) -> dict[str, list[str]]:
    found = belonging({str(folder / one): "x" for one in moved})
    return {Path(name).name: [Path(one).name for one in those] for name, those in found.items()}


def test_an_image_has_its_caption_and_its_cached_entries(tmp_path: Path) -> None:
    """Of two images of which one's stem begins the other's, each has its own."""
    put(tmp_path, "a.jpg", "a.txt", "a.json", "a_b.jpg", "a_b.txt", "a_b_0512x0512_sdxl.npz")
    put(tmp_path, "a_0512x0512_sdxl.npz", "a_te_outputs.safetensors", "a_notes.txt", "ab.txt")

    assert beside(tmp_path, "a.jpg", "a_b.jpg") == {
        "a.jpg": ["a.json", "a.txt", "a_0512x0512_sdxl.npz", "a_te_outputs.safetensors"],
        "a_b.jpg": ["a_b.txt", "a_b_0512x0512_sdxl.npz"],
    }


def test_a_caption_of_two_images_stays_with_the_one_that_stays(tmp_path: Path) -> None:
    put(tmp_path, "a.jpg", "a.png", "a.txt")

    assert beside(tmp_path, "a.jpg") == {"a.jpg": []}
    assert beside(tmp_path, "a.jpg", "a.png") == {"a.jpg": ["a.txt"], "a.png": ["a.txt"]}


def test_a_caption_has_its_image_and_a_cached_entry_nothing(tmp_path: Path) -> None:
    """The entry is made again from its image."""
    put(tmp_path, "a.jpg", "a.txt", "a_0512x0512_sdxl.npz", "b.pt", "lonely.txt")

    assert beside(tmp_path, "a.txt", "a_0512x0512_sdxl.npz", "b.pt", "lonely.txt") == {
        "a.txt": ["a.jpg"],
        "lonely.txt": [],
    }


def test_a_cached_entry_has_what_is_told_of_it_under_its_name(tmp_path: Path) -> None:
    """But for what an image, or another entry, has of it as well."""
    put(tmp_path, "2.pt", "2.json", "2.txt", "20.json", "3.pt", "3.npy", "3.json")
    put(tmp_path, "4.pt", "4.png", "4.txt")

    assert beside(tmp_path, "2.pt", "3.pt", "4.pt") == {"2.pt": ["2.json", "2.txt"]}
    assert beside(tmp_path, "3.pt", "3.npy")["3.pt"] == ["3.json"]


def test_a_shard_has_its_index_its_statistics_and_its_table(tmp_path: Path) -> None:
    """As DALI, webdataset and img2dataset write them; nothing of a shard whose name it begins."""
    put(tmp_path, "0.tar", "0.idx", "0.tar.idx", "0.json", "0.parquet", "0_stats.json", "0.py")
    put(tmp_path, "0_1.tar", "0_1.idx", "0_list.txt", "index.json", "b.tar.gz", "b.tar.gz.md5")

    assert beside(tmp_path, "0.tar", "b.tar.gz") == {
        "0.tar": ["0.idx", "0.json", "0.parquet", "0.tar.idx", "0_stats.json"],
        "b.tar.gz": ["b.tar.gz.md5"],
    }


def named(folder: Path, moved: str) -> list[str]:
    return naming([str(folder / moved)], str(folder)).get(str(folder / moved), [])


def test_lists_of_every_usual_form_are_read(tmp_path: Path) -> None:
    """By paths relative to the list or to the job, absolute ones, and stems."""
    put(tmp_path, "img/a.jpg", "img/b.jpg")
    rows = [{"file_name": "b.jpg"}, {"file_name": "a.jpg", "text": "a dog"}]
    lines = "\n".join(map(json.dumps, rows)).encode()
    put(tmp_path, "img/metadata.jsonl", content=lines)
    put(tmp_path, "train.txt", content=f"img/b.jpg\n{tmp_path}/img/a.jpg\n".encode())
    put(tmp_path, "table.csv", content=b'file,text\n"img/a.jpg","a dog, a cat"\n')
    meta = json.dumps({"img/b": {}, "img/a": {"caption": "a dog"}}, indent=1).encode()
    put(tmp_path, "meta.json", content=meta)

    assert named(tmp_path, "img/a.jpg") == [
        "img/metadata.jsonl:2",
        "meta.json:3",
        "table.csv:2",
        "train.txt:2",
    ]


@pytest.mark.parametrize("images", ["train2017", "images/train2017"])
def test_a_list_in_a_folder_beside_the_images_is_read(tmp_path: Path, images: str) -> None:
    """As COCO's, whose names begin in a folder that nobody tells; not where two have such one."""
    others = images.replace("train", "val")
    put(tmp_path, f"{images}/1.jpg", f"{images}/2.jpg", f"{others}/2.jpg", f"{others}/3.jpg")
    listed = {"images": [{"id": one, "file_name": f"{one}.jpg"} for one in (1, 2, 3)]}
    place = "annotations/instances_train2017.json"
    put(tmp_path, place, content=json.dumps(listed, indent=1).encode())
    put(tmp_path, "splits/val.txt", content=f"{images}/1\n{others}/3.jpg\n".encode())

    assert named(tmp_path, f"{images}/1.jpg") == [f"{place}:5", "splits/val.txt:1"]
    assert named(tmp_path, f"{others}/3.jpg") == [f"{place}:13", "splits/val.txt:2"]
    assert named(tmp_path, f"{images}/2.jpg") == []


def test_lists_with_labels_and_databases_are_read(tmp_path: Path) -> None:
    """As of ImageNet, of MXNet, of YAML; what is no database by its name is left."""
    put(tmp_path, "img/a b.jpg", "img/c.jpg")
    put(tmp_path, "train.txt", content=b"img/c.jpg 3\nimg/a b.jpg 4\n")
    put(tmp_path, "val.lst", content=b"0\t4\timg/a b.jpg\n")
    put(tmp_path, "list.yaml", content=b'images:\n  - img/c.jpg\n  - "img/a b.jpg"\n')
    put(tmp_path, "odd.db", content=b"img/a b.jpg")
    with contextlib.closing(sqlite3.connect(tmp_path / "index.sqlite")) as base, base:
        base.execute('CREATE TABLE "all of it" (label INTEGER, path TEXT)')
        rows = [(3, "img/c.jpg"), (4, "img/a b.jpg")]
        base.executemany('INSERT INTO "all of it" VALUES (?, ?)', rows)
    before = sorted(one.name for one in tmp_path.iterdir())

    lists = ["index.sqlite:all of it", "list.yaml:3", "train.txt:2", "val.lst:1"]
    assert named(tmp_path, "img/a b.jpg") == lists
    assert sorted(one.name for one in tmp_path.iterdir()) == before


def test_a_list_of_others_and_captions_name_nothing(tmp_path: Path) -> None:
    """A caption may hold a name; no list lies below another image's stem."""
    put(tmp_path, "img/a.jpg", "img/b.jpg", "other/a.jpg")
    put(tmp_path, "img/b.txt", content=b"a.jpg")
    put(tmp_path, "img/list.txt", content=b"b.jpg\nother/a.jpg\nxa.jpg\n")
    put(tmp_path, "img/odd.jsonl", content=b'{"file_name": \n[1, null]\n\xff\n')

    assert named(tmp_path, "img/a.jpg") == []


def test_a_range_of_shards_that_names_one_is_told(tmp_path: Path) -> None:
    path = str(tmp_path / "data/1.tar")

    found = ranges([path], ["data={0..3}.tar", "data/{0..3}.tar", "data/*.tar"], [str(tmp_path)])

    assert found == {path: ["data/{0..3}.tar"]}
