"""What a live loader reads is judged as on the command line, as far as no file is read for it."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
from torch.utils.data import DataLoader

import preflight
from tests.archives import tarred
from tests.pipelines.shards_to_lose import good

pytestmark = pytest.mark.usefixtures("at_hand")

SOURCE = """
import webdataset as wds
from torch.utils.data import DataLoader, Dataset


def whole():
    data = wds.WebDataset("{0..1}.tar", nodesplitter=wds.split_by_node, shardshuffle=False)
    return DataLoader(data, batch_size=None)


def alone():
    return DataLoader(wds.WebDataset("{0..1}.tar", shardshuffle=False), batch_size=None)


def away():
    return DataLoader(wds.WebDataset("https://host.invalid/{0..1}.tar"), batch_size=None)


class Files(Dataset):
    def __init__(self, names):
        self.files = names

    def __len__(self):
        return len(self.files)

    def __getitem__(self, at):
        with open(self.files[at], "rb") as file:
            return file.read()


def there():
    return DataLoader(Files(["a.jpg", "b.jpg"]))


def gone():
    return DataLoader(Files(["a.jpg", "b.jpg", "c.jpg", "d.jpg"]))
"""


BARE = """
from torch.utils.data import DataLoader, Dataset

class Files(Dataset):
    def __init__(self): self.listed = ["000.jpg", "001.jpg"]
    def __len__(self): return len(self.listed)
    def __getitem__(self, at): return self.listed[at]

def make():
    return DataLoader(Files())
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SOURCE, encoding="utf-8")
    for number in range(2):
        (tmp_path / f"{number}.tar").write_bytes(tarred(good(3, 10 * number)))
    for name in "ab":
        (tmp_path / f"{name}.jpg").touch()
    return tmp_path


def said(report: preflight.Report) -> set[tuple[str, str, str]]:
    checks = {"dataset-survival", "dataset-small"}
    told = (one for one in report.findings if one.check in checks)
    return {(one.check, one.severity.name, one.message) for one in told}


def test_each_loader_that_was_handed_over_is_counted(folder: Path) -> None:
    both = {"a": DataLoader(range(4)), "b": DataLoader(range(8))}  # type: ignore[arg-type, var-annotated]

    for loader, seen in ((both, "2 loaders"), (both["a"], "1 loader")):
        covered = {one.part: one for one in preflight.inspect(loader=loader).coverage}

        assert covered["loader"].seen == seen
        assert covered["loader"].looked_at == covered["loader"].of == int(seen[0])


def test_names_that_lead_nowhere_are_no_files_that_were_not_looked_at(folder: Path) -> None:
    (folder / "bare.py").write_text(BARE, encoding="utf-8")

    page = str(preflight.run("bare:make", folder=str(folder), elsewhere=True))

    assert "2 names were not looked at: what bare:make lists leads to no file by itself" in page


def inspected(name: str, **flags: Any) -> preflight.Report:
    return preflight.inspect(loader=runpy.run_path("train.py")[name](), **flags)


@pytest.mark.parametrize(
    ("name", "ranks"),
    [
        ("whole", 1),
        ("whole", 2),
        ("alone", 1),
        ("alone", 2),
        ("whole", 3),
        ("there", 1),
        ("gone", 1),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_live_loader_is_told_what_the_command_line_tells(
    folder: Path, name: str, ranks: int
) -> None:
    live = inspected(name, world_size=ranks)
    typed = preflight.run(f"train:{name}", folder=str(folder), world_size=ranks, elsewhere=False)

    assert said(live) == said(typed)
    assert bool(said(live)) == ((name, ranks) in {("alone", 2), ("whole", 3), ("gone", 1)})


@pytest.mark.usefixtures("folder")
@pytest.mark.filterwarnings("ignore")
def test_shards_that_were_not_read_are_told_as_that() -> None:
    """A GO of the loader is none of its data."""
    report = inspected("whole")

    (outcome,) = (one for one in report.checks if one.id == "dataset-survival")
    reasons = {one.reason: one.count for one in outcome.skipped}
    assert outcome.outcome == "skipped"
    assert any("loader reads it, and it was not read here" in one for one in reasons)
    assert not any("worker" in one for one in report.reasons)
    assert not (Path.cwd() / ".preflight").exists()


@pytest.mark.usefixtures("folder")
@pytest.mark.filterwarnings("ignore")
def test_shards_that_are_far_away_need_a_splitter_as_well() -> None:
    assert said(inspected("away", world_size=1)) == set()
    ((check, severity, message),) = said(inspected("away", world_size=2))

    assert (check, severity) == ("dataset-survival", "ERROR")
    assert "single_node_only raises" in message
