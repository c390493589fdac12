"""What is open below a loader is found by its path, and nothing of the user's is called."""

# ruff: noqa: D101, SIM115  the classes stand for a user's, and a stack closes what is opened

from __future__ import annotations

import collections
import functools
import gzip
import io
import logging
import mmap
import os
import sqlite3
import tempfile
import threading
import time
import types
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import h5py
import lmdb
import numpy
import pytest
import torch
import webdataset
from torch._subclasses.fake_tensor import FakeTensorMode

from preflight.objects.forking.handles import handle_of
from preflight.objects.forking.held import walk
from preflight.objects.paths import PATHS


class Data:
    """A data set that holds what it is given."""

    def __init__(self, **held: object) -> None:
        self.__dict__.update(held)


class Reader:
    __slots__ = ("__weakref__", "empty", "stream")

    def __init__(self, stream: object) -> None:
        self.stream = stream


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[ExitStack]:
    """Close what a test opens, in a folder with one file of each kind."""
    (tmp_path / "a.bin").write_bytes(b"0123456789")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("0.txt", "zero")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = numpy.arange(10_000)
        file["y/z"] = [1]
    numpy.savez(tmp_path / "a.npz", x=[1, 2])
    before = os.getcwd()
    os.chdir(tmp_path)
    with ExitStack() as stack:
        yield stack
    os.chdir(before)


@pytest.fixture
def file(opened: ExitStack) -> Any:
    """Give an open file."""
    return opened.enter_context(open("a.bin", "rb"))


def held(thing: object) -> dict[str, str]:
    """Walk one object: the paths of what is open in it, each with its kind."""
    found = walk([("dataset", thing)])
    assert found.cut == ()
    return {", ".join(one.paths): one.handle.kind for one in found.found}


# --- what is left alone ---------------------------------------------------------------------------


def test_a_data_set_with_nothing_open_is_left_alone(opened: ExitStack) -> None:
    """Names, arrays, tensors, locks, loggers, and files that are only written."""
    log = opened.enter_context(open("log.txt", "w", encoding="utf-8"))
    stages = (webdataset.SimpleShardList("a.tar"), webdataset.tarfile_to_samples())
    data = Data(
        names=["a", "b"],
        array=numpy.zeros(3),
        tensor=torch.zeros(3),
        meta=torch.zeros(3, device="meta"),
        layer=torch.nn.Linear(2, 2),
        log=log,
        logger=logging.getLogger("a"),
        pipeline=webdataset.DataPipeline(*stages),
    )

    assert held(data) == {}


def test_what_is_closed_is_left_alone(opened: ExitStack) -> None:
    """It was needed for the length of the data, say."""
    file = open("a.bin", "rb")
    archive, table = zipfile.ZipFile("a.zip"), h5py.File("a.h5")
    array, base, environment = table["x"], sqlite3.connect("a.db"), lmdb.open("a.lmdb")
    cursor = base.cursor()
    for one in (file, archive, table, base, environment):
        one.close()

    assert held([file, archive, table, array, base, cursor, environment]) == {}


def test_what_is_in_memory_is_left_alone(opened: ExitStack) -> None:
    """A fork makes a copy of it."""
    content = io.BytesIO(Path("a.zip").read_bytes())
    table = io.BytesIO(Path("a.h5").read_bytes())
    data = Data(
        content=content,
        archive=opened.enter_context(zipfile.ZipFile(content)),
        table=opened.enter_context(h5py.File(table, "r")),
        core=opened.enter_context(h5py.File("a.h5", "r", driver="core")),
    )

    assert held(data) == {}


def test_what_has_no_position_is_left_alone(opened: ExitStack, file: Any) -> None:
    """A pipe, a device, and a file that is read through a map of it."""
    ends = [opened.enter_context(open(end, "rb" if n == 0 else "wb", buffering=0)) for n, end in
            enumerate(os.pipe())]  # fmt: skip
    view = opened.enter_context(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    device = opened.enter_context(open(os.devnull, "rb"))

    assert held(Data(ends=ends, device=device, mapped=Data(file=file, view=view))) == {}


def test_an_lmdb_environment_without_its_lock_table_is_left_alone(opened: ExitStack) -> None:
    """That is how torchvision and many others open theirs; forked readers leave nothing in it."""
    lmdb.open("a.lmdb").close()
    environment = opened.enter_context(lmdb.open("a.lmdb", readonly=True, lock=False))

    assert held(Data(environment=environment)) == {}


class Lies:
    """An object on which nothing can be asked."""

    def __init__(self, inside: object) -> None:
        object.__setattr__(self, "inside", inside)

    def _refuse(self, *_: object) -> Any:
        raise AssertionError("asked")

    __getattr__ = __getattribute__ = __eq__ = __hash__ = __bool__ = __len__ = _refuse
    __iter__ = __contains__ = __getitem__ = __repr__ = __call__ = _refuse
    __class__ = property(_refuse)


class Hidden(dict):
    """A dict that says it is empty."""

    def _refuse(self, *_: object) -> Any:
        raise AssertionError("asked")

    __iter__ = __len__ = __bool__ = items = keys = values = __getitem__ = _refuse


class OwnDict:
    @property
    def __dict__(self) -> Any:
        raise AssertionError("asked")


def test_objects_that_lie_are_not_asked(file: Any) -> None:
    hidden = Hidden()
    dict.__setitem__(hidden, "k", Lies(file))

    assert held([OwnDict(), hidden]) == {"dataset[1]['k'].inside": "file"}


# --- what is found --------------------------------------------------------------------------------


def test_every_kind_of_handle_is_found(opened: ExitStack) -> None:
    """Those of other packages by what they are, and not by a name."""
    enter = opened.enter_context
    base = sqlite3.connect("a.db")
    opened.callback(base.close)
    data = Data(
        text=enter(open("a.bin", encoding="utf-8")),
        unbuffered=enter(open("a.bin", "rb", buffering=0)),
        both=enter(open("a.bin", "r+b")),
        spool=enter(tempfile.TemporaryFile()),
        archive=enter(zipfile.ZipFile("a.zip")),
        base=base,
        environment=enter(lmdb.open("a.lmdb")),
        table=enter(h5py.File("a.h5", "r")),
    )

    assert held(data) == {
        "dataset.text": "file",
        "dataset.unbuffered": "file",
        "dataset.both": "file",
        "dataset.spool": "file",
        "dataset.archive": "zip",
        "dataset.base": "sqlite",
        "dataset.environment": "lmdb",
        "dataset.table": "h5py",
    }


def test_one_handle_is_found_once(opened: ExitStack) -> None:
    """Arrays of one HDF5 file, cursors of one connection, the file in an archive."""
    table = opened.enter_context(h5py.File("a.h5", "r"))
    base = sqlite3.connect("a.db")
    opened.callback(base.close)
    arrays = opened.enter_context(numpy.load("a.npz"))
    data = Data(group=table["y"], array=table["x"], base=base, cursor=base.cursor(), npz=arrays)

    assert held(data) == {
        "dataset.group, dataset.array": "h5py",
        "dataset.base, dataset.cursor.connection": "sqlite",
        "dataset.npz.zip, dataset.npz.fid": "zip",
    }


def test_what_a_file_is_called_is_told(opened: ExitStack) -> None:
    file = opened.enter_context(gzip.open(opened.enter_context(open("a.bin", "rb"))))
    (found,) = walk([("dataset", Data(file=file))]).found

    assert found.handle.file == "a.bin"
    assert found.paths == ("dataset.file.fileobj",)


class Pickles(Data):
    def __getstate__(self) -> dict[str, object]:
        return {}


def test_what_getstate_leaves_out_is_found(file: Any) -> None:
    assert held(Pickles(file=file)) == {"dataset.file": "file"}


def test_every_way_to_hold_something_is_followed(file: Any) -> None:
    reader = Reader(file)

    def closure(x: object) -> object:
        return file, x

    def default(x: object = file, *, y: object = file) -> object:
        return x, y

    data = {
        "slot": reader,
        "partial": functools.partial(print, file, end=file),
        "method": functools.partial(Reader.__init__.__get__(reader)),
        "closure": closure,
        "default": default,
        "deque": collections.deque([1, file]),
        "set": {file},
        "tuple": (0, [file]),
        "space": types.SimpleNamespace(inner=file),
        "factory": collections.defaultdict(file.read),
    }
    (found,) = walk([("dataset", data)]).found

    assert set(found.paths) == {
        "dataset['slot'].stream",
        "dataset['partial'].args[0]",
        "dataset['partial'].keywords['end']",
        "dataset['method'].func.__self__.stream",
        "dataset['closure'].<closure file>",
        "dataset['default'].__defaults__[0]",
        "dataset['default'].__kwdefaults__['y']",
        "dataset['deque'][1]",
        "dataset['set'].<element>",
        "dataset['tuple'][1][0]",
        "dataset['space'].inner",
        "dataset['factory'].default_factory.__self__",
    }


def test_a_pipeline_is_walked_with_its_functions(opened: ExitStack) -> None:
    archive = opened.enter_context(zipfile.ZipFile("a.zip"))
    stages = (
        webdataset.SimpleShardList("a.tar"),
        webdataset.map(lambda n: archive.read(n.strip())),
    )

    assert held(webdataset.DataPipeline(*stages)) == {
        "dataset.pipeline[1].args[0].<closure archive>": "zip"
    }


def test_the_roots_are_walked_together(file: Any) -> None:
    (found,) = walk([("dataset", Data(file=file)), ("collate_fn", file.read)]).found

    assert sorted(found.paths) == ["collate_fn.__self__", "dataset.file"]


def test_whoever_holds_it_is_told_innermost_first(opened: ExitStack) -> None:
    inner = Data(file=opened.enter_context(open("a.bin", "rb")))
    outer = Data(reader=inner)
    (found,) = walk([("dataset", outer)]).found

    assert found.holders == ((inner, "file"), (outer, "reader"))


# --- memory of a GPU ------------------------------------------------------------------------------


def fake() -> torch.Tensor:
    """Give a tensor of a GPU that is not there; an older torch asks its driver all the same."""
    try:
        with FakeTensorMode():
            return torch.empty(3, device="cuda")
    except RuntimeError as error:
        if "no NVIDIA driver" not in str(error):
            raise
        pytest.skip(f"torch {torch.__version__} makes no fake tensor of a GPU without a driver")


def test_tensors_of_a_gpu_are_found_without_one() -> None:
    """Fake ones, which say that they are there; a module stands for all of its own."""
    tensor = fake()
    layer = torch.nn.Linear(2, 2, device="meta")
    layer.register_buffer("scale", fake())
    model = torch.nn.Sequential(torch.nn.ReLU(), layer)
    data = Data(tensors=[tensor, tensor], model=model, scale=layer.scale, cpu=torch.zeros(3))

    assert held(data) == {
        "dataset.tensors[0], dataset.tensors[1]": "cuda-tensor",
        "dataset.model": "cuda-tensor",
    }
    assert not torch.cuda.is_initialized()


def test_a_module_on_the_cpu_is_walked(opened: ExitStack) -> None:
    layer = torch.nn.ReLU()
    layer.file = opened.enter_context(open("a.bin", "rb"))
    layer.register_buffer("scale", fake())

    assert held(torch.nn.Sequential(layer)) == {"dataset": "cuda-tensor", "dataset[0].file": "file"}


# --- how h5py reads -------------------------------------------------------------------------------


def _is_open(number: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(number), os.stat(path))
    except OSError:
        return False


@pytest.mark.parametrize("driver", ["sec2", "stdio", "file"])
def test_whether_h5py_moves_a_position_is_told_as_it_is(opened: ExitStack, driver: str) -> None:
    """The position of the very file that HDF5 reads is looked at before and after."""
    file: Any = opened.enter_context(open("a.h5", "rb", buffering=0))
    source, more = (file, {}) if driver == "file" else ("a.h5", {"driver": driver})
    if driver != "file":
        file.close()
    table = opened.enter_context(h5py.File(source, "r", **more))
    number = next(n for n in range(1_000) if _is_open(n, "a.h5"))
    first = os.lseek(number, 0, os.SEEK_CUR)
    assert table["x"][-1] == 9_999 and table["y/z"][0] == 1

    handle = handle_of(table)
    assert handle is not None
    assert handle.by_position == (os.lseek(number, 0, os.SEEK_CUR) == first)
    assert handle.by_position == (driver == "sec2")


# --- bounds ---------------------------------------------------------------------------------------


def test_large_data_is_not_walked() -> None:
    """A million names, and a gigabyte in an array (of which no page is touched)."""
    data = Data(names=[str(n) for n in range(1_000_000)], array=numpy.zeros(1 << 27))
    begun = time.perf_counter()

    assert held(data) == {}
    assert time.perf_counter() - begun < 30


def test_what_is_left_out_of_a_long_list_is_told(file: Any) -> None:
    found = walk([("dataset", Data(rows=[[file], *([n, "x"] for n in range(5_000))]))])

    assert [one.paths for one in found.found] == [("dataset.rows[0][0]",)]
    assert found.cut == ("dataset.rows: 2,000 of 5,001 items looked at",)


def test_a_walk_without_end_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("preflight.objects.forking.held._NODES", 100)
    found = walk([("dataset", [[[n] for n in range(50)] for _ in range(50)])])

    assert found.found == ()
    assert len(found.cut) == 1
    assert found.cut[0].endswith(": not looked at, nor what comes after it")


def test_what_another_thread_changes_is_left_and_told(file: Any) -> None:
    """The rest is looked at; here, a table that loses items while they are counted."""
    table: dict[int, object] = {n: [] for n in range(200_000)}
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            table.clear()
            table.update(dict.fromkeys(range(1_000), ()))

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(50):
            found = walk([("dataset", Data(table=table, file=file))])
            assert [one.paths for one in found.found] == [("dataset.file",)]
    finally:
        stop.set()
        thread.join()


def test_circles_and_many_paths_end(file: Any) -> None:
    ring: list[object] = [file] * 500
    ring += [ring, Data(ring=ring)]
    (found,) = walk([("dataset", ring)]).found

    assert len(found.paths) == PATHS
    assert found.paths[0] == "dataset[0]"
