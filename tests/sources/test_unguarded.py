"""A source that starts work at its import is found, with the loaders that come with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.sources.facts import LoaderCall, SourceFacts, Unguarded
from preflight.targets.targets import Source
from tests.read_sources import read_source

TRAINS = """\
from torch.utils.data import DataLoader

loader = DataLoader(data, num_workers=4)

for batch in loader:
    model(batch).backward()
"""


def read(folder: Path, files: dict[str, str], path: str = "train.py") -> SourceFacts:
    """Write these files, and read one of them, or the folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return read_source(Source(path=path), str(folder), {})


@pytest.mark.parametrize(
    "text",
    [TRAINS.replace("for batch", 'if __name__ == "__main__":\n  for batch'), "for b in (loader:\n"],
    ids=["a guard", "no Python"],
)
def test_a_source_that_starts_nothing_is_left_alone(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, {"train.py": text}).unguarded == ()
    assert read(tmp_path, {}, path=".").unguarded == ()


def test_work_is_given_with_its_place_and_its_loaders(tmp_path: Path) -> None:
    (found,) = read(tmp_path, {"train.py": TRAINS}).unguarded

    assert found == Unguarded(
        file="train.py",
        at="train.py",
        line=5,
        code="for batch in loader: …",
        what="loops over a loader",
        guard='Put lines 5 to 6 of train.py under `if __name__ == "__main__":`.',
        loaders=(LoaderCall(file="train.py", line=3, num_workers="4", has_workers=True),),
    )


def test_a_start_method_that_the_source_sets_is_given_with_its_place(tmp_path: Path) -> None:
    text = f'import torch\ntorch.multiprocessing.set_start_method("spawn")\n{TRAINS}'
    (found,) = read(tmp_path, {"train.py": text}).unguarded

    assert (found.start_method, found.start_method_from) == ("spawn", "train.py:2")


DATA = "def make_loader():\n    return DataLoader(data, num_workers=2)\n"
USES = "from data import make_loader\nfor batch in make_loader():\n    loss.backward()\n"


def test_loaders_that_an_import_makes_count_where_the_file_makes_none(tmp_path: Path) -> None:
    (found,) = read(tmp_path, {"train.py": USES, "data.py": DATA}).unguarded

    assert [(one.file, one.line) for one in found.loaders] == [("data.py", 2)]


def test_loaders_of_its_own_count_before_those_that_it_imports(tmp_path: Path) -> None:
    text = f"import data\n{TRAINS}".replace("num_workers=4", "num_workers=0")
    (found,) = read(tmp_path, {"train.py": text, "data.py": DATA}).unguarded

    assert [(one.file, one.has_workers) for one in found.loaders] == [("train.py", False)]


@pytest.mark.parametrize(
    "words",
    ["from .data import make_loader", "from pack.data import make_loader", "from . import data"],
)
def test_a_module_of_a_package_is_read_with_its_own_package(tmp_path: Path, words: str) -> None:
    files = {"pack/__init__.py": "", "pack/train.py": f"{words}\nloss.backward()\n"}
    (found,) = read(tmp_path, {**files, "pack/data.py": DATA}, path="pack/train.py").unguarded

    assert [one.file for one in found.loaders] == ["pack/data.py"]


def test_a_start_method_in_a_function_of_an_import_is_not_taken(tmp_path: Path) -> None:
    """Nothing says that it is called."""
    inside = 'def launch():\n    set_start_method("spawn")\n'
    (found,) = read(tmp_path, {"train.py": USES, "data.py": DATA + inside}).unguarded

    assert found.start_method is None

    (found,) = read(tmp_path, {"data.py": 'set_start_method("spawn")\n' + DATA}).unguarded

    assert (found.start_method, found.start_method_from) == ("spawn", "data.py:1")


def test_work_in_what_is_imported_is_given_with_its_own_place(tmp_path: Path) -> None:
    (found,) = read(tmp_path, {"train.py": "import lib\n", "lib.py": TRAINS}).unguarded

    assert (found.file, found.at, found.line) == ("train.py", "lib.py", 5)
    assert found.loaders[0].file == "lib.py"


def test_of_a_folder_only_files_that_make_loaders_with_workers_are_given(tmp_path: Path) -> None:
    files = {
        "train.py": TRAINS,
        "inner/other.py": TRAINS,
        "uses.py": USES,
        "data.py": DATA,
        "none.py": TRAINS.replace("num_workers=4", "num_workers=0"),
        "untold.py": TRAINS.replace("num_workers=4", "num_workers=args.workers"),
    }

    facts = read(tmp_path, files, path=".")

    assert [one.file for one in facts.unguarded] == ["train.py", "untold.py", "inner/other.py"]


def test_the_facts_say_who_named_the_file_and_what_this_platform_does(tmp_path: Path) -> None:
    facts = read(tmp_path, {"train.py": TRAINS})

    assert not facts.implied
    assert read_source(Source(path="train.py", implied=True), str(tmp_path), {}).implied
    assert facts.default_start_method in {"fork", "spawn", "forkserver"}
    assert facts.default_start_method_from.startswith("the default of ")


def test_imports_in_a_circle_end(tmp_path: Path) -> None:
    files = {"train.py": "import a\nloss.backward()\n", "a.py": "import b\n", "b.py": "import a\n"}

    (found,) = read(tmp_path, files).unguarded

    assert found.loaders == ()
