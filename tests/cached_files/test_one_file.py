"""The files of a cache are found, and each is read once; what is whole is left alone."""

from __future__ import annotations

import collections
import gzip
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from preflight.cached_files.cache_listing import CacheListing, list_cache
from preflight.cached_files.facts import CacheFacts
from preflight.cached_files.read import read_cache
from tests.archives import flipped
from tests.contents import HARM, Harm, of_torch, unchecked, with_peak, written

pytestmark = pytest.mark.usefixtures("at_hand")


def read(path: Path) -> CacheFacts:
    return read_cache(str(path), str(path.parent), lambda _: None)


def kind_of(path: Path) -> str:
    damage = read(path).damage
    return "none" if damage is None else damage.kind


# --- what real writers write ----------------------------------------------------------------------

Point = collections.namedtuple("Point", "x y")  # noqa: PYI024  as users write them


class Labelled(torch.Tensor):
    """A tensor of the user's own type."""


def quantized() -> Any:
    return torch.quantize_per_tensor(torch.arange(9.0), 0.1, 3, torch.qint8)


THINGS: dict[str, Callable[[], Any]] = {
    "a tensor": lambda: torch.arange(5.0),
    "a dict": lambda: {
        "prompt_embeds": torch.zeros(7, 64),
        "mask": torch.ones(7, dtype=torch.bool),
    },
    "a tuple": lambda: (torch.zeros(3), None, "text"),
    "a named tuple": lambda: Point(torch.zeros(2), torch.ones(2)),
    "an empty dict": dict,
    "a number": lambda: 7,
    "a text": lambda: "ü" * 1000,
    "nothing": lambda: None,
    "a tensor of nothing": lambda: torch.zeros(0, 3),
    "a scalar": lambda: torch.tensor(1.5),
    "one storage, seen in parts": lambda: [torch.arange(100)[k::7] for k in range(7)],
    "a part of a large one": lambda: torch.arange(9999)[3:5],
    "not contiguous": lambda: torch.arange(24).reshape(2, 3, 4).permute(2, 0, 1),
    "bfloat16": lambda: torch.zeros(9, dtype=torch.bfloat16),
    "float8": lambda: torch.zeros(9).to(torch.float8_e4m3fn),
    "complex": lambda: torch.zeros(9, dtype=torch.complex64),
    "unsigned": lambda: torch.zeros(9, dtype=of_torch("uint16")),
    "sparse": lambda: torch.eye(4).to_sparse(),
    "quantized": quantized,
    "without memory": lambda: torch.zeros(1000, 1000, device="meta"),
    "a type of the user": lambda: torch.zeros(3).as_subclass(Labelled),
    "a parameter": lambda: torch.nn.Parameter(torch.zeros(3)),
    "a module": lambda: torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)),
    "an optimizer": lambda: torch.optim.AdamW([torch.zeros(3, requires_grad=True)]).state_dict(),
    "a state of chance": torch.get_rng_state,
    "an array": lambda: np.arange(1000),
    "a storage": lambda: torch.arange(5).untyped_storage(),
    "more than two megabytes": lambda: [torch.zeros(700_000), torch.arange(300_000)],
    "many tensors": lambda: [torch.full((3,), k) for k in range(300)],
}


def is_readable(path: Path) -> bool:
    """Whether torch loads what it has written: not so of storages without a type, before zip."""
    try:
        torch.load(path, weights_only=False)
    except AttributeError:  # of 'UntypedStorage', which has no dtype
        return False
    return True


@pytest.mark.parametrize("make", list(THINGS.values()), ids=list(THINGS))
@pytest.mark.filterwarnings("ignore")  # torch speaks of what it will no longer do
def test_whatever_torch_saves_is_left_alone(tmp_path: Path, make: Callable[[], Any]) -> None:
    """As an archive, before the archive, and without checksums; from a name and from memory."""
    thing = make()
    torch.save(thing, tmp_path / "zip.pt")
    torch.save(thing, tmp_path / "legacy.pt", _use_new_zipfile_serialization=False)
    with open(tmp_path / "stream.pt", "wb") as file:
        torch.save(thing, file)
    (tmp_path / "bare.pt").write_bytes(unchecked(thing))

    facts = {path.stem: read(path) for path in tmp_path.iterdir()}

    damaged = {name for name, one in facts.items() if one.damage is not None}
    assert damaged == (set() if is_readable(tmp_path / "legacy.pt") else {"legacy"})
    assert {name: (one.format, one.verified) for name, one in facts.items()} == {
        "zip": ("torch zip", True),
        "stream": ("torch zip", True),
        "bare": ("torch zip", False),
        "legacy": ("torch legacy", False),
    }


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_whatever_protocol_torch_is_told_to_use_is_left_alone(
    tmp_path: Path, protocol: int
) -> None:
    path = tmp_path / "a.pt"
    torch.save({"a": torch.zeros(99)}, path, pickle_protocol=protocol)

    assert read(path).verified
    os.truncate(path, 500)
    assert kind_of(path) == "cut"


@pytest.mark.filterwarnings("ignore")  # TorchScript and torch.package are on their way out
def test_torchs_other_archives_are_left_alone(tmp_path: Path) -> None:
    """TorchScript and torch.package name their records in their own ways."""
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())
    torch.jit.script(module).save(str(tmp_path / "script.pt"))
    torch.jit.trace(module, torch.zeros(1, 3)).save(str(tmp_path / "trace.pt"))
    with torch.package.PackageExporter(str(tmp_path / "package.pt")) as package:
        package.extern("**")
        package.save_pickle("model", "model.pkl", module)

    for path in tmp_path.iterdir():
        assert read(path).damage is None, path
        assert read(path).format == "torch zip", path


def test_what_numpy_saves_is_left_alone(tmp_path: Path) -> None:
    """Packed or not, by the name it gives them or under another of its own."""
    arrays = {"a": np.arange(300_000.0), "b": np.zeros((0, 3)), "c": np.array([None, {}], object)}
    np.savez(tmp_path / "plain.npz", **arrays)
    np.savez_compressed(tmp_path / "packed.npz", **arrays)
    np.savez(tmp_path / "nothing.npz")
    np.save(tmp_path / "one.npy", arrays["a"])
    (tmp_path / "named.npy").write_bytes((tmp_path / "plain.npz").read_bytes())
    arrays["a"].dump(tmp_path / "dumped.npy")
    with open(tmp_path / "two.npy", "wb") as file:
        np.save(file, arrays["a"])
        np.save(file, arrays["b"])

    facts = {path.stem: read(path) for path in tmp_path.iterdir()}

    assert {name: one.damage for name, one in facts.items()} == dict.fromkeys(facts)
    assert {name: (one.format, one.verified) for name, one in facts.items()} == {
        "plain": ("npz", True),
        "packed": ("npz", True),
        "nothing": ("zip", True),
        "named": ("npz", True),
        "one": ("npy", False),
        "two": ("npy", False),
        "dumped": ("pickle", False),
    }


def test_what_a_trainer_keeps_under_the_same_name_is_left_alone(tmp_path: Path) -> None:
    """Compressed, pickled, or a text that only has such a name."""
    torch.save({"a": torch.zeros(5000)}, tmp_path / "a.pt")
    whole = (tmp_path / "a.pt").read_bytes()
    (tmp_path / "gzip.pt").write_bytes(gzip.compress(whole))
    (tmp_path / "two streams.pt").write_bytes(gzip.compress(whole[:99]) + gzip.compress(whole[99:]))
    (tmp_path / "pickle.pt").write_bytes(pickle.dumps({"a": 1}))
    (tmp_path / "corpus.pt").write_text("O gato dorme.\n" * 1000, encoding="utf-8")
    (tmp_path / "paths.pth").write_text("../src\n", encoding="utf-8")
    (tmp_path / "raw.npy").write_bytes(random.Random(1).randbytes(8192))
    (tmp_path / "dark.npy").write_bytes(bytes(5000) + b"\x01")

    for path in tmp_path.iterdir():
        assert kind_of(path) == "none", path
    assert read(tmp_path / "gzip.pt").verified


@pytest.mark.parametrize("count", [1, 20, 65_000, 69_562], ids=str)
def test_bytes_behind_an_archive_that_torch_loads_are_no_damage(tmp_path: Path, count: int) -> None:
    """It looks for the end of the archive that far back, and not a byte further."""
    path = tmp_path / "a.pt"
    torch.save({"a": torch.arange(50_000)}, path)
    whole = path.read_bytes()

    path.write_bytes(whole + b"x" * count)
    assert torch.equal(torch.load(path)["a"], torch.arange(50_000))
    assert kind_of(path) == "none"

    path.write_bytes(whole + b"x" * 69_563)
    with pytest.raises(RuntimeError):
        torch.load(path)
    assert kind_of(path) == "trailing"


# --- what a pickle names --------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
def test_what_torch_loads_with_weights_only_names_nothing(tmp_path: Path) -> None:
    """And what it does not is named, in every format that holds a pickle."""
    results = set()
    for name, make in THINGS.items():
        for zipped in (True, False):
            path = tmp_path / f"{name} {zipped}.pt"
            torch.save(make(), path, _use_new_zipfile_serialization=zipped)
            try:
                torch.load(path, weights_only=True)
            except pickle.UnpicklingError:
                assert read(path).globals, path
                results.add("refused")
            except AttributeError:  # a bare storage in a legacy file, which this torch cannot load
                assert read(path).globals == (), path
            else:
                assert read(path).globals == (), path
                results.add("loaded")

    assert results == {"loaded", "refused"}


def test_a_command_in_a_pickle_is_named_in_every_format(tmp_path: Path) -> None:
    """It is not run, and the file is whole: nothing else would tell."""
    torch.save(Harm(), tmp_path / "zip.pt")
    torch.save(Harm(), tmp_path / "legacy.pt", _use_new_zipfile_serialization=False)
    (tmp_path / "raw.pt").write_bytes(pickle.dumps(Harm()))
    (tmp_path / "old.pt").write_bytes(pickle.dumps(Harm(), 0))
    (tmp_path / "more.pt").write_bytes(pickle.dumps(Harm(), 0) + b"\n\n")
    (tmp_path / "packed.pt").write_bytes(gzip.compress(pickle.dumps(Harm())))
    np.save(tmp_path / "array.npy", np.array([Harm()], object), allow_pickle=True)

    for path in tmp_path.iterdir():
        facts = read(path)
        assert facts.damage is None, path
        assert HARM in facts.globals, path


# --- damage that really happens -------------------------------------------------------------------

POINTER = b"version https://git-lfs.github.com/spec/v1\n"


@pytest.mark.parametrize(
    ("name", "content", "kind", "said"),
    [
        ("a.pt", b"", "empty", "is empty"),
        ("a.npz", b"", "empty", "is empty"),
        ("a.pt", bytes(18_009), "zeros", "is 18,009 zero bytes"),
        ("a.pt", bytes(600) + b"x" * 600, "zeros", "begins with 600 zero bytes"),
        ("a.npy", bytes(5000), "zeros", "is 5,000 zero bytes"),
        ("a.pt", b"<!DOCTYPE html></html>", "foreign", "is an HTML page, not what torch.save"),
        ("a.pt", b"<?xml version='1.0'?><Error/>", "foreign", "is an XML document"),
        ("a.npy", b"<html></html>", "foreign", "is an HTML page, not a numpy array"),
        ("a.safetensors", POINTER, "not-fetched", "Git LFS"),
        ("a.pt", b"Rar!\x1a\x07\x00" + bytes(99), "foreign", "is a RAR archive"),
        ("a.pt", b"\xff\xd8\xff\xe0" + bytes(99), "foreign", "is a JPEG image"),
        ("a.pt", b"\x93NUMPY\x01\x00", "foreign", "is a numpy array (npy), not what torch.save"),
        ("a.pt", b"PJ\x03\x04" + bytes(99), "foreign", "begins with the bytes 50 4a 03 04"),
        ("a.npz", b"PJ\x03\x04" + bytes(99), "foreign", "begins with the bytes 50 4a 03 04"),
        ("a.safetensors", b"\x80\x02]q\x00.", "foreign", "is a pickle, not safetensors"),
        ("a.safetensors", b"hello, world", "foreign", "is a text file, not safetensors"),
        ("a.safetensors", b"\x90\x80" + bytes(60), "cut", "inside its header of 32,912"),
        ("a.pt", b"\x80", "cut", "inside its pickle"),
        ("a.pt", b"P", "cut", "ends at 1 byte, before"),
        ("a.pt", gzip.compress(b"", mtime=0), "empty", "is a gzip stream of nothing"),
        ("a.pt", gzip.compress(bytes(99), mtime=0)[:-9], "cut", "inside its gzip stream"),
        ("a.pt", gzip.compress(b"PK\3\4" + bytes(99), mtime=0), "cut", "what is in it ends"),
    ],
    ids=str,
)
def test_a_file_that_is_something_else_is_found(
    tmp_path: Path, name: str, content: bytes, kind: str, said: str
) -> None:
    (tmp_path / name).write_bytes(content)

    damage = read(tmp_path / name).damage

    assert damage is not None
    assert damage.kind == kind
    assert said in damage.text


def test_a_wrong_byte_in_a_gzip_stream_is_found(tmp_path: Path) -> None:
    """It carries a checksum of its own."""
    content = gzip.compress(random.Random(2).randbytes(9000))
    (tmp_path / "a.pt").write_bytes(flipped(content, 5000, 4))

    assert kind_of(tmp_path / "a.pt") == "checksum"


def test_files_under_each_others_names_are_found(tmp_path: Path) -> None:
    torch.save({"a": torch.zeros(3)}, tmp_path / "a.safetensors")
    (tmp_path / "b.npz").write_bytes((tmp_path / "a.safetensors").read_bytes())
    np.savez(tmp_path / "c.npz", a=np.zeros(3))
    (tmp_path / "d.pt").write_bytes((tmp_path / "c.npz").read_bytes())

    said = {name: read(tmp_path / name).damage for name in ("a.safetensors", "b.npz", "d.pt")}

    assert {name: damage and damage.text for name, damage in said.items()} == {
        "a.safetensors": "is a zip archive of torch.save, not safetensors",
        "b.npz": "is a zip archive of torch.save, not a numpy archive",
        "d.pt": "is a numpy archive (npz), not what torch.save writes",
    }


WRITER = """
import sys, torch
torch.set_num_threads(1)
path, value, size = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
thing = {"a": torch.full((size,), value), "b": torch.full((77,), value)}
print("ready", flush=True)
sys.stdin.readline()
while True:
    with open(path, sys.argv[4]) as file:
        torch.save(thing, file)
"""


def start_writer(path: Path, value: float, size: int, mode: str = "wb") -> subprocess.Popen[str]:
    words = [sys.executable, "-c", WRITER, str(path), str(value), str(size), mode]
    writer = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "ready\n"
    return writer


def begin(writer: subprocess.Popen[str]) -> None:
    print("go", file=writer.stdin, flush=True)


def end(writer: subprocess.Popen[str]) -> None:
    writer.kill()
    writer.communicate()


def is_whole(path: Path, *values: float) -> bool:
    """Whether torch loads what one of the writers wrote, and nothing mixed."""
    try:
        loaded = torch.load(path, weights_only=True)
    except Exception:  # noqa: BLE001  whatever it raises, it says so
        return False
    return any(
        bool((loaded["a"] == value).all() and (loaded["b"] == value).all()) for value in values
    )


@pytest.mark.slow
def test_a_writer_that_is_killed_leaves_what_is_found(tmp_path: Path) -> None:
    """By kill -9, at a moment of nobody's choice, six times."""
    path = tmp_path / "a.pt"
    path.touch()
    found = []
    for round_ in range(6):
        writer = start_writer(path, 1.0, 400_000 + round_)
        begin(writer)
        time.sleep(0.02 + 0.003 * round_)
        end(writer)
        found.append(kind_of(path))
        assert (found[-1] == "none") == is_whole(path, 1.0), round_

    assert set(found) - {"none"}, "none of six was killed in mid-write"
    assert set(found) <= {"none", "empty", "cut", "structure"}


@pytest.mark.slow
def test_several_writers_of_one_file_leave_what_is_found(tmp_path: Path) -> None:
    """As ranks do that share a cache: what torch loads is one writer's, or the file is found."""
    path = tmp_path / "a.pt"
    path.touch()
    writers = [
        start_writer(path, 1.0, 200_000),
        start_writer(path, 2.0, 200_000, "r+b"),
        start_writer(path, 3.0, 150_000, "r+b"),
    ]
    found = collections.Counter[str]()
    try:
        for writer in writers:
            begin(writer)
        for _ in range(40):
            time.sleep(0.01)
            for writer in writers:
                os.kill(writer.pid, signal.SIGSTOP)
            copy = tmp_path / "copy.pt"
            copy.write_bytes(path.read_bytes())
            kind = kind_of(copy)
            assert kind != "none" or is_whole(copy, 1.0, 2.0, 3.0)
            found[kind] += 1
            for writer in writers:
                os.kill(writer.pid, signal.SIGCONT)
    finally:
        for writer in writers:
            end(writer)

    assert set(found) - {"none"}, "three writers must get in each other's way"


LIMITED = """
import resource, signal, sys, torch
sys.dont_write_bytecode = True
signal.signal(signal.SIGXFSZ, signal.SIG_DFL if sys.argv[2] == "die" else signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, 65_536))
torch.save({"a": torch.zeros(50_000)}, sys.argv[1])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits on Windows")
@pytest.mark.parametrize("way", ["die", "fail"])
def test_a_writer_that_meets_a_limit_leaves_what_is_found(tmp_path: Path, way: str) -> None:
    """As a full disk or quota does."""
    path = tmp_path / "a.pt"
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path), way], capture_output=True, check=False
    )

    assert done.returncode != 0
    assert path.stat().st_size <= 65_536
    assert kind_of(path) in ("empty", "cut", "structure")


# --- how it reads ---------------------------------------------------------------------------------


def test_a_large_file_is_read_in_flat_memory_and_says_that_it_goes_on(tmp_path: Path) -> None:
    """240 MB pass through two; whoever waits hears of it, however much the second thread reads."""
    path = tmp_path / "large.pt"
    torch.save({"a": torch.randint(0, 255, (60_000_000,), dtype=torch.uint8).repeat(4)}, path)
    heard: list[str] = []
    facts, peak = with_peak(lambda: read_cache(str(path), str(tmp_path), heard.append))

    assert facts == CacheFacts(
        file="large.pt", size=path.stat().st_size, format="torch zip", verified=True
    )
    assert peak < 10_000_000
    assert len(heard) > 20
    assert set(heard) == {"large.pt"}


def test_a_wrong_byte_in_a_large_file_is_found(tmp_path: Path) -> None:
    path = tmp_path / "large.pt"
    torch.save({"a": torch.zeros(9_000_000, dtype=torch.uint8)}, path)
    with open(path, "r+b") as file:
        file.seek(7_654_321)
        file.write(b"\x01")

    assert kind_of(path) == "checksum"


def test_a_file_is_named_as_reports_name_it(tmp_path: Path) -> None:
    """Relative where it lies under the job's folder, absolute otherwise."""
    folder = tmp_path / "job" / "cache"
    folder.mkdir(parents=True)
    (folder / "a.pt").write_bytes(b"")
    heard: list[str] = []

    facts = read_cache(str(folder / "a.pt"), str(tmp_path / "job"), heard.append)

    assert facts.file == "cache/a.pt"
    assert heard == ["cache/a.pt"]
    assert read_cache(str(folder / "a.pt"), str(folder), heard.append).file == "a.pt"
    outside = read_cache(str(folder / "a.pt"), str(tmp_path / "elsewhere"), heard.append)
    assert outside.file == str(folder / "a.pt").replace(os.sep, "/")


def test_what_cannot_be_read_goes_up(tmp_path: Path) -> None:
    """It is neither damage nor a pass."""
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "gone.pt")
    with pytest.raises(FileNotFoundError):
        list_cache(str(tmp_path / "gone"))
    with pytest.raises(OSError, match="no regular file"):
        read(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs here")
def test_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    """Opening it would stop until somebody writes."""
    os.mkfifo(tmp_path / "a.pt")

    with pytest.raises(OSError, match="no regular file"):
        read(tmp_path / "a.pt")
    assert list_cache(str(tmp_path)).files == ()


# --- what belongs to a cache ----------------------------------------------------------------------


def listed(folder: Path) -> list[str]:
    return [os.path.relpath(path, folder) for path in list_cache(str(folder)).files]


def test_files_are_found_by_suffix_in_every_folder_below(tmp_path: Path) -> None:
    """In order; whatever else lies there is left alone."""
    for name in (
        *("a.pt", "b.PT", "c.pth", "deep/er/d.npz", "e.npy", "f.safetensors"),
        *("x.pt.tmp", "x.txt", "x.tar", "x.jpg", "pt", ".hidden.pt", "._a.pt"),
        *(".git/a.pt", ".preflight/a.pt", "node_modules/a.npy", "__pycache__/a.npy"),
        *("env/pyvenv.cfg", "env/lib/a.npy", "env/distutils.pth"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")

    assert listed(tmp_path) == ["a.pt", "b.PT", "c.pth", "deep/er/d.npz", "e.npy", "f.safetensors"]


def test_bin_and_ckpt_are_taken_where_they_are_torchs(tmp_path: Path) -> None:
    """By content, by a trainer's name, or where they are plainly nothing anybody meant."""
    torch.save({"a": torch.zeros(3)}, tmp_path / "zip.bin")
    torch.save({"a": torch.zeros(3)}, tmp_path / "old.ckpt", _use_new_zipfile_serialization=False)
    (tmp_path / "pytorch_model-00001-of-00002.bin").write_bytes(b"junk")
    (tmp_path / "fetched.bin").write_bytes(b"<html></html>")
    (tmp_path / "pointer.ckpt").write_bytes(POINTER)
    (tmp_path / "nothing.ckpt").touch()
    (tmp_path / "tokens.bin").write_bytes(random.Random(1).randbytes(8192))
    (tmp_path / "zeros.bin").write_bytes(bytes(8192))
    (tmp_path / "zeros.ckpt").write_bytes(bytes(8192))
    (tmp_path / "optimizer_1.bin").write_bytes(bytes(8192))
    (tmp_path / "notes.bin").write_text("notes", encoding="utf-8")
    with zipfile.ZipFile(tmp_path / "firmware.bin", "w") as file:
        file.writestr("image", b"x")

    assert listed(tmp_path) == [
        "fetched.bin",
        "nothing.ckpt",
        "old.ckpt",
        "optimizer_1.bin",
        "pointer.ckpt",
        "pytorch_model-00001-of-00002.bin",
        "zeros.ckpt",
        "zip.bin",
    ]


def test_one_file_is_taken_whatever_it_is_called(tmp_path: Path) -> None:
    path = tmp_path / "embeddings.dat"
    torch.save({"a": torch.zeros(3)}, path)

    assert list_cache(str(path)) == CacheListing(files=(str(path),))
    assert read(path).verified


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights on Windows")
def test_links_are_followed_once_and_told_where_they_lead_nowhere(tmp_path: Path) -> None:
    """Downloaded models are links to blobs; folders may lead back to themselves."""
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "0b1e").write_bytes(b"x")
    (tmp_path / "model.pt").symlink_to("blobs/0b1e")
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "self.pt").symlink_to("self.pt")
    (tmp_path / "gone.pt").symlink_to("blobs/gone")
    (tmp_path / "gone.bin").symlink_to("blobs/gone")
    listing = list_cache(str(tmp_path))

    assert [os.path.basename(path) for path in listing.files] == ["model.pt"]
    assert [os.path.basename(path) for path, _ in listing.unreadable] == ["gone.pt", "self.pt"]


def test_a_folder_that_cannot_be_listed_is_told(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir()
    (tmp_path / "a.pt").write_bytes(b"x")
    process = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    if sys.platform == "win32" or not hasattr(os, "seteuid"):
        pytest.skip("rights are another matter on Windows")
    with process.Pool(1) as pool:
        files, unreadable = pool.apply(_list_as_nobody, (str(tmp_path),))

    assert files == [str(tmp_path / "a.pt")]
    assert unreadable == [(str(tmp_path / "locked"), "Permission denied")]


def _list_as_nobody(path: str) -> tuple[list[str], list[tuple[str, str]]]:
    """List it as somebody who may not look into all of it; root may look anywhere."""
    if os.geteuid() == 0:
        folder = Path(path)
        while folder != folder.parent:
            if not folder.stat().st_mode & 0o001:
                folder.chmod(folder.stat().st_mode | 0o055)
            folder = folder.parent
    os.chmod(os.path.join(path, "locked"), 0)
    if os.geteuid() == 0:
        os.seteuid(65_534)
    listing = list_cache(path)
    return list(listing.files), list(listing.unreadable)


@pytest.mark.filterwarnings("ignore:Duplicate name")  # zipfile says so, and writes it
def test_an_npz_that_was_appended_to_is_left_alone(tmp_path: Path) -> None:
    """Numpy takes the later one, and nothing is wrong with its bytes."""
    path = tmp_path / "a.npz"
    np.savez(path, x=np.ones(3))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("x.npy", written(np.save, np.zeros(3)))

    with np.load(path) as loaded:
        assert (loaded["x"] == 0).all()
    assert read(path).damage is None
