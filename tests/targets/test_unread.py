"""What lies around and is read by nobody is counted; what belongs beside data and code is not."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

import preflight
from preflight.session.run import UsageError
from preflight.settings.job import CacheSettings, DataSettings, Job
from preflight.targets.unread import OTHERS, UnreadFiles, UnreadFolder, suffix_in, unread_in
from preflight.targets.words.discover import discover
from tests.archives import photo
from tests.files import WHOLE, put

pytestmark = pytest.mark.usefixtures("at_hand")

LARGE = b"x" * (1 << 20)


def unread(folder: Path, *words: str, job: Job | None = None) -> dict[str, int]:
    found = discover(words, job or Job(root=str(folder)), str(folder)).unread
    return {one.suffix: one.files for part in found for one in part.files}


def in_all(folder: Path, *words: str) -> UnreadFolder:
    (found,) = discover(words, Job(root=str(folder)), str(folder)).unread
    return found


# --- neighbours -----------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [(), (".",)])
def test_what_lies_in_the_folder_of_a_job_by_rights_is_not_counted(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    put(
        tmp_path,
        *("README.md", "LICENSE", "LICENSE.txt", ".gitignore", "requirements.txt", "setup.cfg"),
        *("pyproject.toml", "config.yaml", "deepspeed.json", "Makefile", "run.sh", "train.log"),
        *("notebook.ipynb", "uv.lock", "Dockerfile", "events.out.tfevents.1.host.2.0"),
        *(".git/objects/ab/0123.pack", ".preflight/last.json", "__pycache__/train.cpython-311.pyc"),
        *("config/multidatabackend.json", "configs/a/b.json", "wandb/run-1/files/media.table.json"),
        *(
            "logs/out.txt",
            "pkg/__init__.py",
            "pkg/_info/names.txt",
            "pkg/vocab.json",
            "slurm-1.out",
        ),
    )
    put(tmp_path, "train.py", content=b"def make(): pass\n")

    assert unread(tmp_path, *words) == {}


def test_what_belongs_to_images_is_not_counted(tmp_path: Path) -> None:
    put(tmp_path, "photos/a.jpg", "photos/a.txt", "photos/b.png", "photos/b.json", "photos/c.jpg")
    put(tmp_path, "photos/c.caption", "photos/metadata.jsonl", "photos/Thumbs.db", "photos/c.xml")
    put(tmp_path, "photos/.DS_Store", "photos/README.md", "photos/sub/metadata.csv")
    put(tmp_path, "photos/sub/d.webp", "photos/sub/d.heic", "photos/dataset_infos.json")

    assert unread(tmp_path) == unread(tmp_path, "photos") == unread(tmp_path, "data=photos") == {}


def test_what_belongs_to_shards_is_not_counted(tmp_path: Path) -> None:
    put(tmp_path, "s/0.tar", "s/1.tar", "s/0.idx", "s/1.tar.idx", "s/sizes.json", "s/index.json")
    put(tmp_path, "s/0_stats.json", "s/0.parquet", "s/0.tar.md5", "s/checksums.txt")
    put(tmp_path, "s/wids-index.json", "s/.info.yaml")

    assert unread(tmp_path) == unread(tmp_path, "s") == {}


def test_what_belongs_to_caches_and_checkpoints_is_not_counted(tmp_path: Path) -> None:
    put(tmp_path, "vae/a.pt", "vae/aspect_ratio_bucket_indices.json", "vae/a.pt.lock", "vae/b.tmp")
    put(tmp_path, "out/checkpoint-1/model.safetensors", content=WHOLE)
    put(tmp_path, "out/checkpoint-1/pytorch_model.bin", "out/checkpoint-1/random_states_0.pkl")
    put(tmp_path, "out/checkpoint-1/tokenizer.model", "out/checkpoint-1/vocab.json")
    put(tmp_path, "out/checkpoint-1/merges.txt", "out/checkpoint-1/trainer_state.json")

    assert unread(tmp_path) == unread(tmp_path, "vae", "cache=out") == {}


def test_nothing_is_said_of_what_a_kind_leaves_to_another(tmp_path: Path) -> None:
    """Some trainers keep their caches beside the images."""
    put(tmp_path, "both/a.jpg", "both/a.npz", "both/a.txt", "both/0.tar")

    for word in ("data=both", "cache=both", "both/a.jpg", "both/*.tar"):
        assert discover([word], Job(root=str(tmp_path)), str(tmp_path)).unread == (), word


def test_notes_beside_data_and_a_few_pages_below_code_are_not_counted(tmp_path: Path) -> None:
    put(tmp_path, "set/a.jpg", "set/index.html", "set/LICENSE", "set/VERSION")
    put(tmp_path, "code/train.py", "code/a.map", "code/docs/logo.svg", "code/docs/paper.pdf")
    put(tmp_path, "code/manual.pdf", content=LARGE[:-1])

    assert unread(tmp_path, "set", "code") == {}


# --- what is counted ------------------------------------------------------------------------------


def test_a_few_pages_and_drawings_beside_data_are_counted_where_there_is_no_code(
    tmp_path: Path,
) -> None:
    put(tmp_path, "set/a.jpg", "set/paper.pdf", "set/more/logo.svg", "set/more/labels-of-all")

    assert unread(tmp_path, "set") == {".pdf": 1, ".svg": 1, "": 1}
    put(tmp_path, "train.py")
    assert unread(tmp_path, "set") == {".pdf": 1, ".svg": 1, "": 1}
    assert unread(tmp_path) == {}


def test_pages_drawings_and_what_has_no_suffix_are_counted_where_there_is_much(
    tmp_path: Path,
) -> None:
    each = LARGE[: 1 << 17]
    put(tmp_path, "set/a.jpg", *(f"set/{n}.md" for n in range(3)))
    for suffix in (".pdf", ".html", ".svg", ".idx", ".sample", ""):
        put(tmp_path, *(f"set/more/{n}{suffix}" for n in "xy"), content=each)

    found = {".pdf": 2, ".html": 2, ".svg": 2, ".idx": 2, ".sample": 2, "": 2}
    assert unread(tmp_path, "set") == unread(tmp_path) == found


def test_files_that_no_reader_reads_are_counted_by_suffix(tmp_path: Path) -> None:
    """Number, bytes, and the first few; the most bytes come first."""
    put(tmp_path, "data/train.bin", "data/val.bin", content=bytes(range(1, 201)))
    put(tmp_path, *(f"text/{n}.jsonl" for n in range(5)), content=b"{}\n")
    put(tmp_path, "text/all.JSONL.gz", "meta/dump", content=LARGE)
    put(tmp_path, "photos/a.jpg", "train.py")

    found = in_all(tmp_path)

    assert found.folder == "."
    assert found.files[:2] == (
        UnreadFiles("", 1, 1 << 20, ("meta/dump",)),
        UnreadFiles(".jsonl.gz", 1, 1 << 20, ("text/all.JSONL.gz",)),
    )
    assert found.files[2:] == (
        UnreadFiles(".bin", 2, 400, ("data/train.bin", "data/val.bin")),
        UnreadFiles(".jsonl", 5, 15, ("text/0.jsonl", "text/1.jsonl", "text/2.jsonl")),
    )
    assert found.in_words().endswith("2 .bin (400 bytes) and 5 .jsonl (15 bytes)")


@pytest.mark.parametrize(
    "name",
    ["a.parquet", "a.arrow", "a.mp4", "a.flac", "a.h5", "a.lmdb", "a.tfrecord", "a.mds", "a.hdr"],
)
@pytest.mark.parametrize("beside", ["photo.jpg", "0.tar", "x.npz"])
def test_other_data_beside_what_is_read_is_counted(tmp_path: Path, name: str, beside: str) -> None:
    put(tmp_path, f"data/{name}", f"data/{beside}")

    assert unread(tmp_path) == unread(tmp_path, "data") == {Path(name).suffix: 1}


@pytest.mark.parametrize("suffix", ["part", "crdownload", "aria2", "tmp", "bak", "orig"])
@pytest.mark.parametrize("name", ["1.tar", "1.tar.gz", "b.jpg"])
def test_what_a_download_or_a_copy_has_left_of_data_is_counted(
    tmp_path: Path, name: str, suffix: str
) -> None:
    """A shard that is not there under its own name is one that no job reads."""
    names = ("0.tar", "a.jpg", "train.py.bak", "notes.txt.orig", f"{name}.{suffix}")
    put(tmp_path, *(f"data/{one}" for one in names))

    assert unread(tmp_path, "data") == {f".{suffix}": 1}


def test_captions_in_a_folder_without_images_are_counted(tmp_path: Path) -> None:
    put(tmp_path, "images/a.jpg", "captions/a.txt", "captions/b.txt", "json/a.json")

    assert unread(tmp_path) == {".txt": 2, ".json": 1}


def test_a_bin_file_of_torch_is_none_where_a_cache_has_it(tmp_path: Path) -> None:
    """In a folder where nobody looks for cached files it is as unread as any other."""
    put(tmp_path, "m/pytorch_model.bin", "m/tokens.bin", "m/b.pt", content=bytes(range(1, 99)))
    put(tmp_path, "n/pytorch_model.bin", "n/a.jpg", content=bytes(range(1, 99)))

    assert unread(tmp_path, "m") == {".bin": 1}
    assert unread(tmp_path, "n") == {".bin": 1}


def test_each_folder_of_the_settings_is_counted_once(tmp_path: Path) -> None:
    put(tmp_path, "data/a.jpg", "data/a.mp4", "data/cache/a.pt", "data/cache/a.h5", "other/b.h5")
    job = Job(
        root=str(tmp_path),
        data=(DataSettings(path="data"),),
        cache=(CacheSettings(path="data/cache"),),
    )

    assert unread(tmp_path, job=job) == {".mp4": 1, ".h5": 1}


def test_a_folder_of_nothing_that_is_read_names_what_it_holds(tmp_path: Path) -> None:
    put(tmp_path, "rows/a.jsonl", "rows/b.jsonl", content=b"{}")

    for word in ("rows", "data=rows"):
        with pytest.raises(UsageError, match=r"not read by this version: 2 \.jsonl \(4 bytes\)"):
            preflight.run(word, folder=str(tmp_path))


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        (("rows",), ""),
        (("data=rows",), ""),
        (("rows", "photos"), ""),
        (("rows", "photos/a.jpg"), ""),
        (("rows/train/0.parquet",), ""),
        (("data=rows/train/1.arrow", "photos"), ""),
        (("rows/train/*.*",), ""),
        (("rows/train/{0.parquet,1.arrow}", "photos"), ""),
        (("renamed", "photos"), ""),
        ((), '[[data]]\npath = "rows"\n[[data]]\npath = "photos"\n'),
        ((), '[[data]]\npath = "rows/train/1.arrow"\n[[data]]\npath = "photos"\n'),
    ],
)
def test_rows_that_nobody_reads_do_not_keep_all_else_from_being_looked_at(
    tmp_path: Path, words: tuple[str, ...], settings: str
) -> None:
    put(tmp_path, "photos/a.jpg", content=photo())
    put(tmp_path, "rows/train/0.parquet", "renamed", content=b"PAR1" * 99)
    put(tmp_path, "rows/train/1.arrow", content=b"\xff\xff\xff\xff\x50\1\0\0" + bytes(90))
    put(tmp_path, "rows/state.json", "rows/dataset_info.json", content=b"{}")
    (tmp_path / "preflight.toml").write_text(settings)

    report = preflight.run(*words, folder=str(tmp_path), elsewhere=True)

    assert report.verdict == "cannot-judge"
    (broken,) = {(one.error, one.fix) for outcome in report.checks for one in outcome.broken}
    assert broken[0] == "files of rows (Arrow, Parquet) are not read by this version"
    assert "preflight run FILE.py:FUNCTION" in (broken[1] or "")
    images = next(one for one in report.coverage if one.part == "data")
    assert images.looked_at == (len(words) != 1)


def test_rows_beside_images_are_counted_and_keep_nothing_from_being_a_go(tmp_path: Path) -> None:
    put(tmp_path, "photos/a.jpg", content=photo())
    put(tmp_path, "photos/metadata.parquet", "photos/b.parquet", content=b"PAR1" * 99)

    report = preflight.run("photos", folder=str(tmp_path), elsewhere=True)

    assert report.verdict == "go"


def test_the_count_takes_no_more_memory_for_more_files(tmp_path: Path) -> None:
    put(tmp_path, *(f"{n % 7}/{n}.x{n % 500}" for n in range(3_000)))
    unread_in(str(tmp_path / "0"), (), str(tmp_path), of_any_kind=True)  # what is imported stays
    tracemalloc.start()
    try:
        found = unread_in(str(tmp_path), (), str(tmp_path), of_any_kind=True)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(found.files) == 101
    assert {one.suffix: one.files for one in found.files}[OTHERS] > 2_000
    assert sum(one.files for one in found.files) == 3_000
    assert held < 200_000


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("a.json", ".json"),
        ("a.v2.JSON.zst", ".json.zst"),
        ("a.gz", ".gz"),
        ("dump", ""),
        ("a.2024-01-01", ""),
        ("a.long name with spaces", ""),
        ("a.7z", ".7z"),
    ],
)
def test_how_a_file_is_counted(name: str, suffix: str) -> None:
    assert suffix_in(name) == suffix


def test_texts_and_annotations_of_a_named_folder_are_no_settings_of_the_job(tmp_path: Path) -> None:
    """Beside code, or at the top of the job, they would be."""
    put(tmp_path, "data/a.json", "data/b.txt", "data/README.txt", "data/images/a.jpg")
    put(tmp_path, "texts/a.txt", "texts/b.txt")

    assert unread(tmp_path, "data") == unread(tmp_path, "data=data") == {".json": 1, ".txt": 1}
    with pytest.raises(UsageError, match=r"2 \.txt \(0 bytes\)"):
        preflight.run("texts", folder=str(tmp_path))
