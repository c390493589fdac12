"""A file that is none of a kind's is typed wrong, and never damaged; real damage stays damage."""

from __future__ import annotations

import io
import pickle
import tarfile
from array import array
from pathlib import Path

import pytest

import preflight
from preflight.session.run import UsageError
from preflight.targets.one_file import UnknownWordError
from preflight.targets.targets import CacheFolder, Folder, Shard, Source
from preflight.targets.words.word import read_word
from tests.conftest import said_by
from tests.files import WHOLE, put

TOKENS = array("H", [50_256, *range(1, 900), 198]).tobytes()
"""As GPT-2's tokens are kept: numbers of two bytes, and no header."""


def taken_for(word: str, folder: Path) -> str:
    return " ".join(type(one).__name__ for one in read_word(word, str(folder)))


def tar_of(name: str, mode: str = "w") -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode=mode) as archive:  # type: ignore[call-overload]
        info = tarfile.TarInfo(name)
        info.size = 4
        archive.addfile(info, io.BytesIO(b"text"))
    return held.getvalue()


def torch_saved() -> bytes:
    import torch

    held = io.BytesIO()
    torch.save({"a": torch.zeros(2)}, held)
    return held.getvalue()


# --- what stays what it was -----------------------------------------------------------------------


@pytest.mark.parametrize("word", ["model.bin", "cache=model.bin", "checkpoint=model.bin"])
@pytest.mark.parametrize("content", ["torch", "pickle", "safetensors", "zip", "page", "empty"])
def test_a_bin_file_of_tensors_is_a_cache(tmp_path: Path, word: str, content: str) -> None:
    """By its first bytes, or by what is often left in the place of one."""
    held = {
        "torch": torch_saved,
        "pickle": lambda: pickle.dumps({"a": [1.0]}),
        "safetensors": lambda: WHOLE,
        "zip": lambda: b"PK\3\4" + bytes(60),
        "page": lambda: b"<!DOCTYPE html><html>",
        "empty": lambda: b"",
    }
    put(tmp_path, "model.bin", content=held[content]())

    assert taken_for(word, tmp_path) == "CacheFolder"


@pytest.mark.parametrize("left", [0.0, 0.5])
def test_a_model_cut_or_zeroed_is_damage(tmp_path: Path, left: float) -> None:
    whole = torch_saved()
    kept = whole[: int(len(whole) * left)]
    put(tmp_path, "pytorch_model.bin", content=kept or bytes(len(whole)))

    report = preflight.run("pytorch_model.bin", folder=str(tmp_path), elsewhere=True)

    assert {one.check for one in report.findings} == {"cache-damaged"}
    assert report.verdict == "no-go"


@pytest.mark.parametrize("name", ["a.pt", "a.safetensors", "a.npz", "a.tar", "a.jpg"])
@pytest.mark.parametrize("content", [TOKENS, b"{}\n", b"", bytes(600)])
def test_wrong_bytes_under_the_name_of_a_kind_are_damage(
    tmp_path: Path, name: str, content: bytes
) -> None:
    put(tmp_path, name, content=content)

    taken = {".pt": "CacheFolder", ".tar": "Shard", ".jpg": "Folder"}
    assert taken_for(name, tmp_path) == taken.get(Path(name).suffix, "CacheFolder")


@pytest.mark.parametrize(
    ("name", "content", "word", "kind"),
    [
        ("part-0", tar_of("a.txt"), "{0}", Shard),
        ("part-0", tar_of("a.txt"), "data={0}", Shard),
        ("part-0.dat", tar_of("a.txt", "w:gz"), "data={0}", Shard),
        ("part-0.dat", tar_of("a.txt", "w:xz"), "data={0}", Shard),
        ("photo", b"\xff\xd8\xff\xe0" + bytes(90), "data={0}", Folder),
        ("photo.HEIC", b"\0\0\0\x18ftypheic" + bytes(90), "{0}", Folder),
        ("photo.HEIC", b"\0\0\0\x18ftypheic" + bytes(90), "data={0}", Folder),
        ("step-12.model", torch_saved(), "{0}", CacheFolder),
        ("step-12.model", torch_saved(), "cache={0}", CacheFolder),
        ("train", b"#!/usr/bin/env python3\nprint()\n", "source={0}", Source),
        ("train.txt", b"import torch\n", "source={0}", Source),
        ("broken.py", b"def (", "source={0}", Source),
    ],
    ids=lambda one: one if isinstance(one, str) else getattr(one, "__name__", "content"),
)
def test_a_file_without_a_kinds_suffix_is_told_by_its_bytes(
    tmp_path: Path, name: str, content: bytes, word: str, kind: type
) -> None:
    put(tmp_path, name, content=content)

    assert taken_for(word.format(name), tmp_path) == kind.__name__


# --- what is none ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["train.txt", "filelist", "train.bin", "list.dat"])
@pytest.mark.parametrize(
    "content", [b"/mnt/scratch/datasets/pets/data/0001.jpg 3\n" * 40, b"# see ../data/list\n" * 90]
)
def test_a_text_that_speaks_of_a_folder_of_data_is_no_cache(
    tmp_path: Path, name: str, content: bytes
) -> None:
    """A name of torch's in a zip archive has `/data/` in it, and so has many a list of files."""
    put(tmp_path, f"lists/{name}", content=content)
    put(tmp_path, "train.py", content=b"print()\n")

    with pytest.raises(UsageError):
        preflight.run(f"cache=lists/{name}", folder=str(tmp_path), elsewhere=True)
    around = preflight.run(folder=str(tmp_path), elsewhere=True)

    assert [one.if_named_by for one in around.coverage if one.if_named_by] == []


JSON = b'[{"id": "photos", "type": "local"}]\n'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("train.bin", TOKENS),
        ("config/multidatabackend.json", JSON),
        ("rows.jsonl", b'{"text": "a"}\n'),
        ("rows.jsonl.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\3\xab\xe6\2\0\x06\xb0\xa1\xdd\3\0\0\0"),
        ("page.parquet", b"<!DOCTYPE html><html>not found</html>"),
        ("notes.arrow", b"one\n"),
        ("notes.txt", b"one\n"),
        ("clip.mp4", b"\0\0\0\x18ftypisom" + bytes(90)),
        ("backup.rar", b"Rar!\x1a\x07\0" + bytes(90)),
    ],
)
@pytest.mark.parametrize("kind", ["", "data=", "cache=", "checkpoint=", "source="])
def test_a_file_that_is_none_of_a_kinds_is_typed_wrong(
    tmp_path: Path, name: str, content: bytes, kind: str
) -> None:
    """Nothing runs; what it is and what is read are said, and no word that would fail as well."""
    put(tmp_path, name, content=content)

    with pytest.raises(UsageError) as error:
        preflight.run(f"{kind}{name}", folder=str(tmp_path), elsewhere=True)

    said = str(error.value)
    assert " is " in said or " begins with " in said
    assert "damaged" not in said
    assert name not in said.partition(name)[2]


def test_shards_of_a_pattern_may_have_any_name_where_one_is_a_shard(tmp_path: Path) -> None:
    """What is no shard among them is damage: one that was zeroed, or never copied whole."""
    put(tmp_path, "part-1", content=tar_of("a.txt"))
    put(tmp_path, "part-0", content=bytes(600))
    put(tmp_path, "x-0.json", "x-1.json", content=JSON)

    assert taken_for("part-{0..1}", tmp_path) == "Shard Shard"
    for word in ("x-{0..1}.json", "data=x-{0..1}.json", "x-*.json"):
        with pytest.raises(UnknownWordError, match="is there, and is no"):
            read_word(word, str(tmp_path))


def test_a_folder_without_sources_is_no_source(tmp_path: Path) -> None:
    put(tmp_path, "data/a.json", content=JSON)

    with pytest.raises(UnknownWordError, match="holds no Python"):
        read_word("source=data", str(tmp_path))


@pytest.mark.parametrize(
    ("data", "cache"), [("rows.json", None), ("rows-{0..1}.json", None), (None, "train.bin")]
)
def test_settings_that_name_such_a_file_are_not_valid(
    tmp_path: Path, data: str | None, cache: str | None
) -> None:
    """With the line that names it; it is there, so it is not missing either."""
    put(tmp_path, "train.bin", content=TOKENS)
    put(tmp_path, "rows.json", "rows-0.json", "rows-1.json", content=JSON)
    table = f'[[data]]\nshards = "{data}"\n' if data else f'[[cache]]\npath = "{cache}"\n'
    (tmp_path / "preflight.toml").write_text(table)

    with pytest.raises(UsageError, match=r"^preflight.toml:2: .* is "):
        preflight.run(folder=str(tmp_path), elsewhere=True)


def test_no_format_is_imported_for_a_file_whose_name_says_what_it_is(tmp_path: Path) -> None:
    """Of a small run, the imports would be a twentieth."""
    put(tmp_path, "a.tar")
    code = (
        "from preflight.targets.words.word import read_word\n"
        f"read_word('a.tar', {str(tmp_path)!r})\n"
        "print(sorted(one for one in sys.modules if one.startswith(('preflight.formats.torch',"
        " 'preflight.formats.arrays', 'preflight.formats.tar'))))"
    )

    assert said_by(code) == "[]"
