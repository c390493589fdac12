"""What a forked worker inherits is looked at without forking one, and without touching CUDA."""

# ruff: noqa: D101, D102  the classes stand for a user's

from __future__ import annotations

import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from torch.utils.data import DataLoader, Dataset

from preflight.loaders.facts import Held, Sent
from preflight.loaders.inherited import inherited
from preflight.loaders.sent import Known, walk_loader
from preflight.objects.facts import Definition
from tests.conftest import said_by

HERE = str(Path(__file__).parent)


class Pictures(Dataset[bytes]):
    def __init__(self, *paths: Path) -> None:
        self.archives = [zipfile.ZipFile(path) for path in paths]

    def __getstate__(self) -> dict[str, object]:
        return {}

    def __getitem__(self, index: int) -> bytes:
        return self.archives[index].read("a")

    def __len__(self) -> int:
        return 1

    def close(self) -> None:
        for archive in self.archives:
            archive.close()


@pytest.fixture
def pictures(tmp_path: Path) -> Iterator[Pictures]:
    """Open three archives."""
    paths = [tmp_path / f"{number}.zip" for number in range(3)]
    for path in paths:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a", "a")
    made = Pictures(*paths)
    yield made
    made.close()


def look(dataset: Pictures, workers: int, method: str = "fork") -> Sent:
    loader = DataLoader(dataset, num_workers=workers)
    return walk_loader(loader, Known("x", HERE, start_method=method))


def test_what_one_line_keeps_is_told_once(pictures: Pictures) -> None:
    text = "self.archives = [zipfile.ZipFile(path) for path in paths]"
    line = 1 + next(
        number
        for number, one in enumerate(Path(__file__).read_text(encoding="utf-8").splitlines())
        if one.strip() == text
    )
    name = pictures.archives[0].filename
    found = look(pictures, 2).inherited

    assert found is not None
    assert found.held == (
        Held(
            kind="zip",
            type="zipfile.ZipFile",
            paths=("dataset.archives[0]", "dataset.archives[1]", "dataset.archives[2]"),
            file=name,
            defined=Definition(
                file="test_inherited.py", line=line, line_text=text, qualname="Pictures.archives"
            ),
        ),
    )
    assert found.cut == ()
    assert not found.cuda


def test_without_workers_nothing_is_inherited(pictures: Pictures) -> None:
    assert look(pictures, 0).inherited is None
    assert look(pictures, 1, "spawn").inherited is not None


def test_what_is_closed_in_time_is_not_told(pictures: Pictures) -> None:
    """It was opened for the names, say."""
    pictures.close()
    found = look(pictures, 2).inherited

    assert found and found.held == ()


def test_a_file_in_the_folder_is_named_as_reports_name_it(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with open(tmp_path / "data" / "a.bin", "w+b") as file:
        (held,) = inherited({"dataset": [file]}, str(tmp_path)).held

    assert (held.file, held.paths, held.defined) == ("data/a.bin", ("dataset[0]",), Definition())


def test_threads_that_run_are_named() -> None:
    stop = threading.Event()
    runs = threading.Thread(target=stop.wait, name="prefetch")
    ended = threading.Thread(target=int, name="ended")
    ended.start()
    ended.join()
    runs.start()
    asks: list[tuple[str, ...]] = []
    asking = threading.Thread(target=lambda: asks.append(inherited({}, HERE).threads), name="asks")
    try:
        asking.start()
        asking.join()
        here = inherited({}, HERE).threads
    finally:
        stop.set()
        runs.join()

    assert "prefetch" in here
    assert not {"ended", "asks", "MainThread"} & set(here)
    assert asks == [here]


def test_the_monitor_of_a_progress_bar_is_not_told() -> None:
    """A class of that name in that package; whoever shows a bar has one."""
    stop = threading.Event()
    kind = type("TMonitor", (threading.Thread,), {"__module__": "tqdm._monitor"})
    monitor = kind(target=stop.wait, name="monitor")
    monitor.start()
    try:
        assert "monitor" not in inherited({}, HERE).threads
    finally:
        stop.set()
        monitor.join()


def test_looking_imports_no_torch() -> None:
    """Where the user's code has not, nothing of CUDA can have been started."""
    code = (
        "from preflight.loaders.inherited import inherited\n"
        "print(inherited({'dataset': object()}, '.').cuda, 'torch' in sys.modules)"
    )

    assert said_by(code) == "False False"
