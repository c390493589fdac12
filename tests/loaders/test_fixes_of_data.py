"""What is said of heavy data and of open files is done: then nothing is told, and workers run."""

from __future__ import annotations

import multiprocessing
import os
import re
import sqlite3
import threading
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch.utils.data import ConcatDataset, DataLoader

from preflight.findings.finding import Finding
from preflight.loaders.facts import Loaded
from preflight.loaders.sent import Known, walk_loader
from preflight.objects.facts import Definition, Weight
from preflight.objects.sending.weights import weigh
from preflight.testing import ask

pytestmark = pytest.mark.usefixtures("at_hand")

MB = 10**6
SIZE = 80 * MB
ROWS = 8


class Images:
    """Gives rows of an array; what it holds is put in by each test."""

    images: Any

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, row: int) -> Any:
        return torch.as_tensor(numpy.array(self.images[row]))[:3].float()


class InWorker(Images):
    """As the fix for a map says it: it is left out of what is sent, and opened where it is read."""

    def __init__(self, code: str) -> None:
        self.code = code

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "images"}

    def __getattr__(self, name: str) -> Any:
        if name != "images":
            raise AttributeError(name)
        self.images = eval(self.code)
        return self.images


def filled(rows: int = ROWS, kind: str = "u1") -> Any:
    array = numpy.zeros((rows, SIZE // rows), kind)
    array[:, 0] = numpy.arange(rows)
    return array


def a_map(folder: Path, mode: str = "r", kind: str = "u1") -> Any:
    """Map a file that takes no room, but for the first number of each row."""
    shape = (ROWS, SIZE // ROWS // numpy.dtype(kind).itemsize)
    made = numpy.memmap(folder / "images.bin", kind, "w+", shape=shape)
    made[:, 0] = numpy.arange(ROWS)
    made.flush()
    return made if mode == "w+" else numpy.memmap(folder / "images.bin", kind, "r", shape=shape)


def of_npy(folder: Path, *, in_columns: bool = False) -> Any:
    path = folder / "images.npy"
    shape = (ROWS, SIZE // ROWS)
    made = numpy.lib.format.open_memmap(path, "w+", "u1", shape, fortran_order=in_columns)
    made[:, 0] = numpy.arange(ROWS)
    made.flush()
    return numpy.load(path, mmap_mode="c" if in_columns else "r")


MAPS: dict[str, Callable[[Path], Any]] = {
    "a map": a_map,
    "a map to write to": lambda folder: a_map(folder, "w+", "f4"),
    "a map of .npy": of_npy,
    "a map of .npy in columns": lambda folder: of_npy(folder, in_columns=True),
}
ARRAYS: dict[str, Callable[[], Any]] = {
    "bytes": filled,
    "columns": lambda: numpy.asfortranarray(filled()),
    "numbers": lambda: filled(kind="i2"),
    "a part of a larger one": lambda: numpy.repeat(filled(), 2, axis=0)[::2],
}
WITHOUT_CODE: dict[str, Callable[[Path], Any]] = {
    "a part of a map": lambda folder: a_map(folder)[1:],
    "texts": lambda _: numpy.full((ROWS, SIZE // ROWS // 4), "x"),
    "bytes that cannot be written": lambda _: numpy.frombuffer(bytes(SIZE), "u1").reshape(ROWS, -1),
    "numbers of another order": lambda _: filled(kind=">f4"),
    "a list": lambda _: [bytes(SIZE // ROWS + row) for row in range(ROWS)],
}


def heavy(loader: Any) -> str:
    """Ask what to do about all that a loader sends, as if it were more; empty where it is light."""
    weight = weigh([("dataset", loader.dataset)])
    much = Weight(bytes=1 << 30 if weight.parts else weight.bytes, parts=weight.parts)
    found = ask("loader-heavy", replace(SPAWNED, weight=much))
    return found[0].fix or "" if found else ""


SPAWNED = Loaded(
    name="train:make",
    defined=Definition(),
    num_workers=1,
    start_method="spawn",
    start_method_from="the settings",
)


def rows_of(loader: Any) -> list[float]:
    return [float(batch[0, 0]) for batch in loader]


def spawned(data: Any) -> Any:
    return DataLoader(data, num_workers=1, multiprocessing_context="spawn")


def test_a_map_is_opened_in_the_worker_by_the_code_that_is_said(tmp_path: Path) -> None:
    mended: list[Any] = []
    for number, case in enumerate(MAPS.values()):
        data = Images()
        (tmp_path / str(number)).mkdir()
        data.images = case(tmp_path / str(number))
        words, _, code = heavy(spawned(data)).partition(":  ")
        assert "`dataset.images`" in words
        mended.append(InWorker(code))
        assert len(mended[-1][0]) == 3  # it has been opened here as well, for its length, say

    loader = spawned(ConcatDataset(mended))
    assert heavy(loader) == ""
    assert rows_of(loader) == [*map(float, range(ROWS))] * len(MAPS)


def test_an_array_is_shared_by_the_code_that_is_said() -> None:
    mended, expected = [], []
    for case in ARRAYS.values():
        data = Images()
        data.images = case()
        loader = DataLoader(data)  # type: ignore[arg-type]
        expected += rows_of(loader)
        words, _, code = heavy(loader).partition(":  ")
        assert "`dataset.images`" in words
        exec(code)
        mended.append(data)

    loader = spawned(ConcatDataset(mended))
    assert heavy(loader) == ""
    assert rows_of(loader) == expected


@pytest.mark.parametrize("case", WITHOUT_CODE)
def test_where_no_code_is_sure_to_be_right_the_part_is_named(tmp_path: Path, case: str) -> None:
    data = Images()
    data.images = WITHOUT_CODE[case](tmp_path)
    words, _, code = heavy(spawned(data)).partition(":  ")

    assert "`dataset.images`" in words
    assert code == ""


# --- what forked workers would share --------------------------------------------------------------


class Stored:
    """Reads of what is open at `store`."""

    store: Any = None

    def __init__(self, read: Callable[[Any, int], int]) -> None:
        self.read = read

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, row: int) -> int:
        return self.read(self.store, row)


class OpenedLater(Stored):
    """As the fix says it: the path is kept, and opened when it is first used."""

    def __init__(self, read: Callable[[Any, int], int], opening: Callable[[], Any]) -> None:
        super().__init__(read)
        self.opening = opening

    def __getitem__(self, row: int) -> int:
        if self.store is None:
            self.store = self.opening()
        return super().__getitem__(row)


def in_zip(path: Path) -> tuple[Callable[[], Any], Callable[[Any, int], int]]:
    with zipfile.ZipFile(path, "w") as archive:
        for row in range(ROWS):
            archive.writestr(str(row), bytes([row]))
    return lambda: zipfile.ZipFile(path), lambda store, row: store.read(str(row))[0]


def in_file(path: Path) -> tuple[Callable[[], Any], Callable[[Any, int], int]]:
    path.write_bytes(bytes(range(ROWS)))
    return lambda: path.open("rb"), lambda store, row: (store.seek(row), store.read(1)[0])[1]


def in_sqlite(path: Path) -> tuple[Callable[[], Any], Callable[[Any, int], int]]:
    with sqlite3.connect(path) as store:
        store.execute("create table rows (number)")
        store.executemany("insert into rows values (?)", [(row,) for row in range(ROWS)])
    store.close()
    return lambda: sqlite3.connect(path), lambda store, row: int(
        store.execute("select number from rows where number = ?", (row,)).fetchone()[0]
    )


def in_hdf5(path: Path) -> tuple[Callable[[], Any], Callable[[Any, int], int]]:
    import h5py

    with h5py.File(path, "w") as store:
        store["rows"] = numpy.arange(ROWS)
    return lambda: h5py.File(path), lambda store, row: int(store["rows"][row])


def in_lmdb(path: Path) -> tuple[Callable[[], Any], Callable[[Any, int], int]]:
    import lmdb

    with lmdb.open(str(path)) as store, store.begin(write=True) as writing:
        for row in range(ROWS):
            writing.put(bytes([row]), bytes([row]))
    return lambda: lmdb.open(str(path)), lambda store, row: store.begin().get(bytes([row]))[0]


STORES = {
    "zip": in_zip,
    "file": in_file,
    "sqlite": in_sqlite,
    "h5py": in_hdf5,
    "lmdb": in_lmdb,
}


def shared(loader: Any, kind: str | None = None) -> list[Finding]:
    sent = walk_loader(loader, Known("train:make", str(Path(__file__).parent)))
    inherited = sent.inherited
    assert inherited is not None
    held = tuple(one for one in inherited.held if one.kind == kind)
    return ask("loader-fork", replace(sent, inherited=inherited._replace(held=held)))


def forked(data: Any, **options: Any) -> Any:
    return DataLoader(data, num_workers=2, **{"multiprocessing_context": "fork", **options})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked there")
@pytest.mark.parametrize("kind", STORES)
def test_what_is_opened_in_the_worker_is_shared_no_more(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"store.{kind}"
    opening, read = STORES[kind](path)
    data = Stored(read)
    data.store = opening()
    (one,) = shared(forked(data), kind)
    assert "in place of `dataset.store`" in (one.fix or "")
    assert path.name in (one.fix or "") or kind == "sqlite"
    data.store.close()

    mended = forked(OpenedLater(read, opening))

    assert shared(mended, kind) == []
    assert [*map(int, mended)] == [*range(ROWS)]

    if "worker_init_fn" in (one.fix or ""):

        def init(_: int) -> None:
            torch.utils.data.get_worker_info().dataset.store = opening()  # type: ignore[union-attr]

        also = forked(Stored(read), worker_init_fn=init)
        assert shared(also, kind) == []
        assert [*map(int, also)] == [*range(ROWS)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked there")
def test_an_lmdb_without_its_lock_table_may_be_shared(tmp_path: Path) -> None:
    import lmdb

    opening, read = in_lmdb(tmp_path / "store")
    data = Stored(read)
    data.store = opening()
    (one,) = shared(forked(data), "lmdb")
    data.store.close()
    match = re.search(r"open it with (readonly=True, lock=False)\.", one.fix or "")
    assert match
    data.store = eval(
        f"lmdb.open(path, {match[1]})", {"lmdb": lmdb, "path": str(tmp_path / "store")}
    )

    assert shared(forked(data), "lmdb") == []
    assert [*map(int, forked(data))] == [*range(ROWS)]
    data.store.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked there")
def test_workers_of_a_forkserver_are_beside_no_threads() -> None:
    over = threading.Event()
    thread = threading.Thread(target=over.wait, name="reader")
    thread.start()
    try:
        (one,) = shared(forked(range(ROWS)))
        match = re.search(r'multiprocessing_context="(\w+)"', one.fix or "")
        assert match and match[1] in multiprocessing.get_all_start_methods()
        mended = forked(range(ROWS), multiprocessing_context=match[1])

        assert shared(mended) == []
        assert [*map(int, mended)] == [*range(ROWS)]
    finally:
        over.set()
        thread.join()
