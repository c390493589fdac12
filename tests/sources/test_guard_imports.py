"""What a module imports is read with it: its own modules run before it is there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from preflight.sources.facts import Unguarded
from preflight.sources.unguarded import work_of_import

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


def work_of(folder: Path, files: dict[str, str], named: str = "train.py") -> Unguarded:
    """Give the work that it would start."""
    work = looked_at(folder, files, named)
    assert work is not None
    return work


def beside(train: str, lib: str) -> dict[str, str]:
    return {"train.py": train, "lib.py": lib}


HEALTHY = {
    "a module that defines": beside("import lib\n", DEFINES),
    "names of a module": beside("from lib import *\nx = make_loader()\n", DEFINES),
    "a name that is only taken": beside("from lib import train, Core\ncore = Core()\n", DEFINES),
    "a function of a module": beside("import lib\nloader = lib.make_loader()\n", DEFINES),
    "an import in a function": beside("def go():\n    import lib\n", TRAINS),
    "an import under the main guard": beside(
        'if __name__ == "__main__":\n    import lib\n', TRAINS
    ),
    "an import for checkers": beside("if TYPE_CHECKING:\n    import lib\n", TRAINS),
    "a file that nobody imports": beside("import os\n", TRAINS),
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
    "a relative import that leads out": beside("from ... import lib\n", TRAINS),
    "modules that import each other": beside(
        "import lib\n", "import train\nfrom lib import *\nfrom train import x\n"
    ),
    "a module that cannot be parsed": beside("import lib\n", "def f(:\n"),
    "a module in an unknown encoding": beside("import lib\n", "# coding: odd\n"),
    "a module behind itself": {"train.py": "import train\nfrom train import train\ntrain.x()\n"},
    "a function of another module that may run anything": beside(
        "from lib import run\nrun()\n",
        "def run():\n    for plugin in plugins():\n        plugin.load()\n",
    ),
    "names that lead in circles": beside("from lib import a\na()\n", "from train import a\n"),
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


# The files, and where the work lies and how it is reached from the last of them.
TOLD = {
    "the nearest import": (
        {"b.py": TRAINS, "a.py": "import os\nimport b\n", "train.py": "import a\n"},
        ("b.py", 2, "a.py:2 imports it"),
    ),
    "relative imports": (
        {
            "pack/__init__.py": "from . import a\n",
            "pack/a.py": "from .inner.b import x\n",
            "pack/inner/b.py": "from ..c import x\n",
            "pack/c.py": TRAINS,
            "train.py": "import pack.a\n",
        },
        ("pack/c.py", 2, "pack/inner/b.py:1 imports it"),
    ),
    "the packages of a named module": (
        {"pack/__init__.py": TRAINS, "pack/train.py": "x = 1\n"},
        ("pack/__init__.py", 2, "it runs before pack/train.py"),
    ),
    "a named file whose name is no word": (
        {"lib.py": TRAINS, "train-2.py": "import lib\n"},
        ("lib.py", 2, "train-2.py:1 imports it"),
    ),
}


@pytest.mark.parametrize(("files", "told"), TOLD.values(), ids=TOLD)
def test_work_is_told_with_what_leads_there(
    tmp_path: Path, files: dict[str, str], told: tuple[str, int, str]
) -> None:
    work = work_of(tmp_path, files, list(files)[-1])

    at, line, by = told
    assert (work.at, work.line, work.what) == (at, line, f"runs a backward pass ({by})")


def test_what_comes_first_is_told(tmp_path: Path) -> None:
    work = work_of(tmp_path, beside("loss.backward()\nimport lib\n", TRAINS))

    assert (work.at, work.what) == ("train.py", "runs a backward pass")


CALLS = {
    "a function": "from lib import train\ntrain()\n",
    "a function of every name": "from lib import *\ntrain()\n",
    "a function of a module": "import lib\nlib.train()\n",
    "a function that is handed over": "from lib import train\nrun(train)\n",
    "a function of a module in a package": "import pack.inner\npack.inner.train()\n",
    "a function of a module taken from a package": "from pack import inner\ninner.train()\n",
    "through a package": "from pack import train\ntrain()\n",
}
CALLS_BY_ANOTHER_NAME = {
    "a function by another name": ("from lib import train as t\nx = t()\n", "t"),
    "a method": ("import lib\ncore = lib.Core()\ncore.fit()\n", "Core.fit"),
    "an inherited method": (
        "from lib import Core\nclass Mine(Core):\n    pass\nMine().fit()\n",
        "Mine.fit",
    ),
}


@pytest.mark.parametrize(
    ("text", "name"),
    [*((text, "train") for text in CALLS.values()), *CALLS_BY_ANOTHER_NAME.values()],
    ids=[*CALLS, *CALLS_BY_ANOTHER_NAME],
)
def test_functions_of_imported_modules_are_looked_into(
    tmp_path: Path, text: str, name: str
) -> None:
    taken = "from lib import train\n"
    files = {
        "train.py": text,
        "lib.py": DEFINES,
        "pack/__init__.py": taken,
        "pack/inner.py": taken,
    }

    work = work_of(tmp_path, files)

    line = 10 if "fit" in name else 3
    assert work.what == f"calls {name}(), which runs a backward pass in lib.py:{line}"
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
