"""What a module imports is read with it: its own modules run before it is there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from preflight.sources.facts import Unguarded
from preflight.sources.guard import work_of_import

TRAINS = "import torch\nloss.backward()\n"
DEFINES = """
def train():
    loss.backward()

def make_loader():
    return 3

class Core:
    def fit(self):
        loss.backward()
"""


def looked_at(folder: Path, files: dict[str, str], named: str = "train.py") -> Unguarded | None:
    """Write these files, and look at what importing one of them would start."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return work_of_import(str(folder / named), str(folder), str(folder))


HEALTHY = {
    "a module that defines": {"train.py": "import lib\n", "lib.py": DEFINES},
    "names of a module": {"train.py": "from lib import *\nx = make_loader()\n", "lib.py": DEFINES},
    "a name that is only taken": {
        "train.py": "from lib import train, Core\ncore = Core()\n",
        "lib.py": DEFINES,
    },
    "a function of a module": {
        "train.py": "import lib\nloader = lib.make_loader()\n",
        "lib.py": DEFINES,
    },
    "an import in a function": {
        "train.py": "def go():\n    import lib\n",
        "lib.py": TRAINS,
    },
    "an import under the main guard": {
        "train.py": 'if __name__ == "__main__":\n    import lib\n',
        "lib.py": TRAINS,
    },
    "an import for checkers": {
        "train.py": "if TYPE_CHECKING:\n    import lib\n",
        "lib.py": TRAINS,
    },
    "a file that nobody imports": {"train.py": "import os\n", "lib.py": TRAINS},
    "a module of the same name in a package": {
        "train.py": "from pack import lib\n",
        "lib.py": TRAINS,
        "pack/__init__.py": "",
        "pack/lib.py": DEFINES,
    },
    "a folder of data with the name of a library": {
        "train.py": "import datasets\nfrom datasets import load_dataset\n",
        "datasets/notes.py": TRAINS,
    },
    "a relative import that leads out": {"train.py": "from ... import lib\n", "lib.py": TRAINS},
    "modules that import each other": {
        "train.py": "import lib\n",
        "lib.py": "import train\nfrom lib import *\nfrom train import x\n",
    },
    "a module that cannot be parsed": {"train.py": "import lib\n", "lib.py": "def f(:\n"},
    "a module in an unknown encoding": {"train.py": "import lib\n", "lib.py": "# coding: odd\n"},
    "a module behind itself": {"train.py": "import train\nfrom train import train\ntrain.x()\n"},
    "a function of another module that may run anything": {
        "train.py": "from lib import run\nrun()\n",
        "lib.py": "def run():\n    for plugin in plugins():\n        plugin.load()\n",
    },
    "names that lead in circles": {
        "train.py": "from lib import a\na()\n",
        "lib.py": "from train import a\n",
    },
}


@pytest.mark.parametrize("files", HEALTHY.values(), ids=HEALTHY)
def test_modules_that_start_nothing_are_imported(tmp_path: Path, files: dict[str, str]) -> None:
    assert looked_at(tmp_path, files) is None


# What the named module says, and where the others lie.
REACHED = {
    "an import": ("import lib\n", "lib.py", 1),
    "an import with another name": ("import lib as other\n", "lib.py", 1),
    "one of several": ("import os, lib\n", "lib.py", 1),
    "a name": ("import os\nfrom lib import x\n", "lib.py", 2),
    "every name": ("from lib import *\n", "lib.py", 1),
    "under a try": ("try:\n    import lib\nexcept ImportError:\n    pass\n", "lib.py", 2),
    "after a try": ("try:\n    x\nexcept ImportError:\n    import lib\n", "lib.py", 4),
    "under a test": ("if anything:\n    import lib\n", "lib.py", 2),
    "under a with": ("with quiet():\n    import lib\n", "lib.py", 2),
    "in a class": ("class X:\n    import lib\n", "lib.py", 2),
    "a package": ("import pack\n", "pack/__init__.py", 1),
    "a module of a package": ("import pack.lib\n", "pack/lib.py", 1),
    "a module taken from a package": ("from pack import lib\n", "pack/lib.py", 1),
    "a module without a package": ("from pack.lib import x\n", "pack/lib.py", 1),
    "a package above": ("import pack.inner.lib\n", "pack/__init__.py", 1),
}


@pytest.mark.parametrize(("text", "file", "line"), REACHED.values(), ids=REACHED)
def test_work_in_an_imported_module_is_told_with_the_import(
    tmp_path: Path, text: str, file: str, line: int
) -> None:
    assert looked_at(tmp_path, {"train.py": text, file: TRAINS}) == Unguarded(
        file="train.py",
        at=file,
        line=2,
        code="loss.backward()",
        what=f"runs a backward pass (train.py:{line} imports it)",
        guard=f'Put line 2 of {file} under `if __name__ == "__main__":`.',
    )


def test_the_nearest_import_is_told(tmp_path: Path) -> None:
    files = {"train.py": "import a\n", "a.py": "import os\nimport b\n", "b.py": TRAINS}

    work = looked_at(tmp_path, files)

    assert work is not None
    assert (work.at, work.what) == ("b.py", "runs a backward pass (a.py:2 imports it)")


def test_relative_imports_are_followed(tmp_path: Path) -> None:
    files = {
        "train.py": "import pack.a\n",
        "pack/__init__.py": "from . import a\n",
        "pack/a.py": "from .inner.b import x\n",
        "pack/inner/b.py": "from ..c import x\n",
        "pack/c.py": TRAINS,
    }

    work = looked_at(tmp_path, files)

    assert work is not None
    assert (work.at, work.what) == (
        "pack/c.py",
        "runs a backward pass (pack/inner/b.py:1 imports it)",
    )


def test_the_packages_of_a_named_module_run_first(tmp_path: Path) -> None:
    files = {"pack/__init__.py": TRAINS, "pack/train.py": "x = 1\n"}

    work = looked_at(tmp_path, files, "pack/train.py")

    assert work is not None
    assert (work.at, work.line, work.what) == (
        "pack/__init__.py",
        2,
        "runs a backward pass (it runs before pack/train.py)",
    )


def test_what_comes_first_is_told(tmp_path: Path) -> None:
    work = looked_at(tmp_path, {"train.py": "loss.backward()\nimport lib\n", "lib.py": TRAINS})

    assert work is not None
    assert (work.at, work.what) == ("train.py", "runs a backward pass")


CALLS = {
    "a function": ("from lib import train\ntrain()\n", "calls train()"),
    "a function of every name": ("from lib import *\ntrain()\n", "calls train()"),
    "a function of a module": ("import lib\nlib.train()\n", "calls train()"),
    "a function by another name": ("from lib import train as t\nx = t()\n", "calls t()"),
    "a function that is handed over": ("from lib import train\nrun(train)\n", "calls train()"),
    "a method": ("import lib\ncore = lib.Core()\ncore.fit()\n", "calls Core.fit()"),
    "an inherited method": (
        "from lib import Core\nclass Mine(Core):\n    pass\nMine().fit()\n",
        "calls Mine.fit()",
    ),
    "a function of a module in a package": (
        "import pack.inner\npack.inner.train()\n",
        "calls train()",
    ),
    "a function of a module taken from a package": (
        "from pack import inner\ninner.train()\n",
        "calls train()",
    ),
    "through a package": ("from pack import train\ntrain()\n", "calls train()"),
}


@pytest.mark.parametrize(("text", "what"), CALLS.values(), ids=CALLS)
def test_functions_of_imported_modules_are_looked_into(
    tmp_path: Path, text: str, what: str
) -> None:
    taken = "from lib import train\n"
    files = {
        "train.py": text,
        "lib.py": DEFINES,
        "pack/__init__.py": taken,
        "pack/inner.py": taken,
    }

    work = looked_at(tmp_path, files)

    assert work is not None
    line = 10 if "fit" in what else 3
    assert work.what == f"{what}, which runs a backward pass in lib.py:{line}"
    assert work.at == "train.py"


def test_a_place_of_the_job_on_the_path_is_looked_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editable install or PYTHONPATH puts `src` there."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "lib.py").write_text(TRAINS, encoding="utf-8")
    (tmp_path / "scripts").mkdir()
    script = tmp_path / "scripts" / "train.py"
    script.write_text("import lib\n", encoding="utf-8")

    assert work_of_import(str(script), str(script.parent), str(tmp_path)) is None
    monkeypatch.syspath_prepend(str(tmp_path / "src"))
    work = work_of_import(str(script), str(script.parent), str(tmp_path))

    assert work is not None
    assert work.at == "src/lib.py"


def test_libraries_below_the_job_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An environment may lie in the job's folder."""
    library = tmp_path / ".venv" / "lib" / "site-packages"
    library.mkdir(parents=True)
    (library / "lib.py").write_text(TRAINS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(library))

    assert looked_at(tmp_path, {"train.py": "import lib\n"}) is None


def test_files_are_named_from_the_job(tmp_path: Path) -> None:
    script = tmp_path / "scripts" / "train.py"
    script.parent.mkdir()
    script.write_text(TRAINS, encoding="utf-8")

    work = work_of_import(str(script), str(script.parent), str(tmp_path))

    assert work is not None
    assert work.at == "scripts/train.py"


def test_a_named_file_whose_name_is_no_word_is_read(tmp_path: Path) -> None:
    work = looked_at(tmp_path, {"train-2.py": "import lib\n", "lib.py": TRAINS}, "train-2.py")

    assert work is not None
    assert work.what == "runs a backward pass (train-2.py:1 imports it)"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_with_the_name_of_a_module_is_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lib.py")

    assert looked_at(tmp_path, {"train.py": "import lib\n"}) is None


def test_a_file_too_large_to_be_written_by_hand_is_left_alone(tmp_path: Path) -> None:
    files = {"train.py": "import table\n", "table.py": "#" * (3 << 20) + "\n" + TRAINS}

    assert looked_at(tmp_path, files) is None


def test_a_file_that_is_not_there_starts_nothing(tmp_path: Path) -> None:
    assert work_of_import(str(tmp_path / "no.py"), str(tmp_path), str(tmp_path)) is None


def test_no_more_than_so_many_modules_are_read(tmp_path: Path) -> None:
    for number in range(520):
        text = f"import m{number + 1}\n" if number < 519 else TRAINS
        (tmp_path / f"m{number}.py").write_text(text, encoding="utf-8")

    assert work_of_import(str(tmp_path / "m0.py"), str(tmp_path), str(tmp_path)) is None
    near = work_of_import(str(tmp_path / "m100.py"), str(tmp_path), str(tmp_path))
    assert near is not None
    assert near.at == "m519.py"
