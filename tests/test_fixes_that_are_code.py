"""What is printed as a line to type or to write is typed and written, and works."""

from __future__ import annotations

import gzip
import hashlib
import importlib
import io
import multiprocessing
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader

import preflight
from preflight.findings.finding import Finding
from preflight.loaders.sent import Known, walk_loader
from preflight.testing import ask
from tests.archives import photo, tarred
from tests.files import put

pytestmark = pytest.mark.usefixtures("at_hand")


def findings(folder: Path, check: str, *words: str) -> list[Finding]:
    report = preflight.run(*words, folder=str(folder), select=[check])
    return list(report.findings)


# --- preflight.toml -------------------------------------------------------------------------------

CORRECTIONS = {
    "captions are texts": ('captions = "json"', "jpg", "txt"),
    "captions are in json": ('captions = "textfile"', "jpg", "json"),
    "captions have another extension": (
        'captions = "textfile"\ncaption_extension = ".txt"',
        "jpg",
        "tags",
    ),
    "captions of another extension, and json said": ('captions = "json"', "png", "tags"),
    "images are of another sort": ('images = ["png"]', "jpg", "txt"),
}


@pytest.mark.parametrize(("said", "image", "caption"), CORRECTIONS.values(), ids=CORRECTIONS)
def test_a_setting_that_is_to_be_corrected_is_right_as_it_is_printed(
    tmp_path: Path, said: str, image: str, caption: str
) -> None:
    for number in range(12):
        put(tmp_path, f"d/{number}.{image}", content=photo("PNG" if image == "png" else "JPEG"))
        text = b'{"caption": "a dog"}' if caption == "json" else b"a dog"
        put(tmp_path, f"d/{number}.{caption}", content=text)
    table = '[[data]]\npath = "d"\n'
    put(tmp_path, "preflight.toml", content=(table + said + "\n").encode())

    (told,) = findings(tmp_path, "sample-unpaired")
    corrected = re.findall(
        r'(captions|caption_extension|images) = ("[^"]*"|\[[^]]*\])', told.fix or ""
    )
    assert corrected, told.fix
    rules = {name: rest for name, _, rest in (one.partition(" = ") for one in said.splitlines())}
    rules.update(corrected)
    lines = [f"{name} = {value}" for name, value in rules.items()]
    put(tmp_path, "preflight.toml", content=(table + "\n".join(lines)).encode())

    assert findings(tmp_path, "sample-unpaired") == []


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


KEYS: dict[str, tuple[str, Callable[[int], str]]] = {
    "below a folder": ("{stem}.pt", "latents/{}.pt".format),
    "below two folders": ("stem", "old/run1/{}.pt".format),
    "below the wrong one of two": ("old/{stem}.pt", "old/run1/{}.pt".format),
    "by another digest": ("md5(stem)", lambda number: f"{digest(str(number))}.pt"),
    "with a text before the caption": (
        "md5(caption)",
        lambda number: f"{hashlib.md5(f'sks dog {number}'.encode()).hexdigest()}.pt",
    ),
}


@pytest.mark.parametrize(("said", "entry"), KEYS.values(), ids=KEYS)
def test_the_key_that_is_printed_for_a_cache_finds_its_entries(
    tmp_path: Path, said: str, entry: Callable[[int], str]
) -> None:
    stream = io.BytesIO()
    torch.save(torch.ones(2), stream)
    for number in range(24):
        put(tmp_path, f"d/{number}.jpg", content=photo())
        put(tmp_path, f"d/{number}.txt", content=str(number).encode())
        put(tmp_path, f"cache/{entry(number)}", content=stream.getvalue())
    if "caption" in said:
        put(tmp_path, "train.py", content=b"prompt = 'sks dog ' + caption\n")
    table = '[[data]]\nname = "d"\npath = "d"\n[[cache]]\npath = "cache"\nof = ["d"]\n'
    put(tmp_path, "preflight.toml", content=f'{table}key = "{said}"\n'.encode())

    told = findings(tmp_path, "cache-incomplete")
    keys = [key for one in told for key in re.findall(r'key = "[^"]*"', one.fix or "")]
    assert keys, [(one.message, one.fix) for one in told]
    put(tmp_path, "preflight.toml", content=f"{table}{keys[-1]}\n".encode())

    assert findings(tmp_path, "cache-incomplete") == []


def test_the_key_that_is_printed_for_folders_in_a_cache_leads_to_all_of_them(
    tmp_path: Path,
) -> None:
    stream = io.BytesIO()
    torch.save(torch.ones(2), stream)
    cases = {"nested": ("pets/a", "pets/b"), "two data sets": ("pets", "cars")}
    for case, folders in cases.items():
        for folder in folders:
            for number in range(6):
                put(tmp_path, f"{case}/{folder}/{number}.jpg", content=photo())
                inside = folder.removeprefix("pets/")
                put(tmp_path, f"{case}/cache/vae/{inside}/{number}.pt", content=stream.getvalue())
        names = sorted({one.partition("/")[0] for one in folders})
        table = "".join(f'[[data]]\nname = "{one}"\npath = "{one}"\n' for one in names)
        table += f'[[cache]]\npath = "cache"\nof = {names}\n'.replace("'", '"')
        put(tmp_path / case, "preflight.toml", content=f'{table}key = "stem"\n'.encode())

        (told,) = findings(tmp_path / case, "cache-incomplete")
        key = re.findall(r'key = "[^"]*"', told.fix or "")[-1]
        put(tmp_path / case, "preflight.toml", content=f"{table}{key}\n".encode())

        assert findings(tmp_path / case, "cache-incomplete") == [], (case, key)


# --- tar ------------------------------------------------------------------------------------------


def gnu_tar() -> str:
    tar = shutil.which("tar") or "tar"
    said = subprocess.run([tar, "--version"], check=False, capture_output=True).stdout
    if b"GNU tar" not in said:
        pytest.skip("GNU tar is not here")
    return tar


def unpack_and_pack(tar: str, folder: Path, name: str, unpack: str, *options: str) -> None:
    """Do what is said of a shard, with the options that are printed."""
    inside = folder / "inside"
    inside.mkdir()
    subprocess.run([tar, unpack, str(folder / name)], cwd=inside, check=True)
    names = sorted(one.name for one in inside.iterdir())
    packed = [tar, *options, "-cf", str(folder / name), *names]
    subprocess.run(packed, cwd=inside, check=True)


def made(case: str, folder: Path) -> str:
    (word,) = importlib.import_module(f"fixtures.{case}.make").make(folder, mended=False)
    return str(word)


def test_a_shard_with_links_is_mended_by_the_options_that_are_printed(tmp_path: Path) -> None:
    tar, word = gnu_tar(), made("shard_unsafe", tmp_path)
    (told,) = findings(tmp_path, "shard-unsafe", word)
    options = re.search(r"(--hard-dereference) (-h)", told.fix or "")
    assert options is not None

    unpack_and_pack(tar, tmp_path, word, "-xf", *options.groups())

    assert findings(tmp_path, "shard-unsafe", word) == []


def test_a_shard_of_split_samples_is_mended_by_the_option_that_is_printed(tmp_path: Path) -> None:
    tar, word = gnu_tar(), made("shard_split_sample", tmp_path)
    (told,) = findings(tmp_path, "shard-split-sample", word)
    option = re.search(r"tar (--sort=name)", told.fix or "")
    assert option is not None
    (tmp_path / "inside").mkdir()
    subprocess.run([tar, "-xf", str(tmp_path / word)], cwd=tmp_path / "inside", check=True)
    packed = [tar, option[1], "--transform=s,^[.]/,,", "-cf", str(tmp_path / word), "."]
    subprocess.run(packed, cwd=tmp_path / "inside", check=True)

    assert findings(tmp_path, "shard-split-sample", word) == []


def test_two_archives_in_one_are_mended_as_it_is_printed(tmp_path: Path) -> None:
    tar = gnu_tar()
    first = tarred({f"{number}.txt": b"a dog" for number in range(4)})
    second = tarred({f"{number}.txt": b"a dog" for number in range(4, 9)})
    put(tmp_path, "x.tar", content=first + second)
    (told,) = findings(tmp_path, "shard-damaged", "x.tar")
    option = re.search(r"tar (-xif)", told.fix or "")
    if option is None:  # pragma: no cover  where all samples behind it count as lost
        option = re.search(r"(-xif)", "-xif")
    assert option is not None

    unpack_and_pack(tar, tmp_path, "x.tar", option[1])

    assert findings(tmp_path, "shard-damaged", "x.tar") == []
    with tarfile.open(tmp_path / "x.tar") as archive:
        assert len(archive.getnames()) == 9


def test_what_was_not_unpacked_is_tested_by_the_commands_that_are_printed(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("a.npy", bytes(9000))
    (tmp_path / "a.gz").write_bytes(gzip.compress(bytes(9000)))
    ways: dict[str, Callable[[str], list[str]]] = {
        "a.npz": lambda file: [sys.executable, "-m", "zipfile", "-t", file],
        "a.gz": lambda file: ["gzip", "-t", file],
    }
    for name, command in ways.items():
        whole = (tmp_path / name).read_bytes()
        if shutil.which(command(name)[0]) is None:
            continue
        for content, is_whole in ((whole, True), (whole[:-12], False)):
            (tmp_path / name).write_bytes(content)
            ended = subprocess.run(command(name), cwd=tmp_path, check=False, capture_output=True)
            assert (ended.returncode == 0) == is_whole


# --- loaders --------------------------------------------------------------------------------------


def test_a_lock_and_a_result_go_to_a_worker_as_it_is_printed(tmp_path: Path) -> None:
    lock = multiprocessing.get_context("fork").Lock()
    result = torch.ones(3, requires_grad=True) * 2
    fixes = []
    for thing in (lock, result):
        loader = DataLoader([thing], num_workers=1, multiprocessing_context="spawn")  # type: ignore[arg-type,var-annotated]
        sent = walk_loader(loader, Known("train:make", str(tmp_path)))
        fixes += [one.fix or "" for one in ask("loader-unpicklable", sent)]
    of_lock, of_result = fixes
    made_anew = re.search(r'multiprocessing\.get_context\("spawn"\)', of_lock)
    kept = re.search(r"tensor\.detach\(\)", of_result)
    assert made_anew is not None
    assert kept is not None

    context = eval(made_anew[0], {"multiprocessing": multiprocessing})
    things = (context.Lock(), eval(kept[0], {"tensor": result}))
    worker = context.Process(target=print, args=things)
    worker.start()
    worker.join(60)

    assert worker.exitcode == 0
