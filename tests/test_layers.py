"""Who may import whom. The table is the architecture; a change to it is a decision."""

from __future__ import annotations

import ast
import functools
import graphlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from preflight.kinds.rooms import ROOMS, kinds
from tests.conftest import said_by

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "preflight"

# A file imports from lower floors, or from its own folder.
FLOORS = {
    "values": 0,
    "secrets": 1,
    "settings": 1,
    "scripts.surroundings": 1,
    "findings": 2,
    "overlay": 3,
    "ledger": 3,
    "kinds": 4,
    "formats.suffixes": 5,
    "formats.bytes": 6,
    "formats.packing": 7,
    "formats.zip": 8,
    "formats.torch": 9,
    "formats.arrays": 10,
    "formats": 11,
    "formats.pictures": 12,
    "formats.tar": 12,
    "objects": 13,
    "objects.copying": 14,
    "objects.forking": 14,
    "objects.sending": 14,
    "syntax": 15,
    "syntax.imports": 16,
    "file_access": 16,
    "cached_files": 17,
    "targets.file_types": 18,
    "trainers": 18,
    "targets": 19,
    "targets.words": 20,
    "host": 20,
    "pairing": 20,
    "pipelines.names": 20,
    "pipelines": 21,
    "images": 21,
    "users_code.fresh": 21,
    "shards": 22,
    "zips": 22,
    "checkpoints": 23,
    "tensors": 23,
    "sources.flaws": 23,
    "sources.file_names": 23,
    "keys.samples": 23,
    "caches": 24,
    "sources.batch_loops": 24,
    "sources.work": 24,
    "sources": 25,
    "sources.makers": 26,
    "users_code": 26,
    "users_code.lacks": 27,
    "keys": 27,
    "sheets": 27,
    "loaders.workers": 27,
    "resuming": 27,
    "storage": 28,
    "scripts.saving.states": 28,
    "loaders": 28,
    "epochs": 28,
    "models": 29,
    "flow": 29,
    "batches": 30,
    "training": 30,
    "ranks.made": 30,
    "ranks": 31,
    "batches.child": 31,
    "datasets": 31,
    "built.making": 31,
    "built": 32,
    "processes": 32,
    "scripts": 33,
    "launched": 33,
    "render": 33,
    "quarantine": 33,
    "scripts.met.lines": 34,
    "session": 34,
    "scripts.met.loops": 35,
    "demo": 35,
    "scaffold": 35,
    "scripts.saving": 36,
    "scripts.met": 37,
    "scripts.started": 37,
    "command": 37,
    "": 38,
    "checks": 39,
}

# Files that a room may have, by the plan of all rooms.
PLAN = {"__init__", "facts", "gather", "kind", "live", "read"}

ENGINE = ("session", "processes", "ledger", "render", "command", "kinds", "findings")

# Named and not there, or out of reach: of whatever subject.
OF_NO_SUBJECT = {"Missing", "Absent"}

HEAVY = ("torch", "numpy", "PIL", "webdataset", "psutil", "pynvml", "rich", "pydantic")

# What runs in the child, which may be another interpreter, needs none of these installed.
NOT_IN_CHILD = (*HEAVY, "click")

FILES = sorted(
    path
    for path in (*ROOT.glob("preflight/**/*.py"), *ROOT.glob("checks/*.py"))
    if path.parent.name not in {"broken", "healthy"}  # the demo's job is data
)


def module_of(path: Path) -> str:
    """Name a file as it is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = ("preflight", *parts) if parts[0] == "checks" else parts
    return ".".join(part for part in parts if part != "__init__")


@functools.cache
def imported(path: Path) -> frozenset[str]:
    """Every module of ours that a file imports, also inside functions, relative ones resolved."""
    return frozenset(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    package = module_of(path) if path.name == "__init__.py" else module_of(path).rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            home = node.module or ""
            if node.level:
                base = package.split(".")[: len(package.split(".")) - node.level + 1]
                home = ".".join([*base, *([home] if home else [])])
            yield from (f"{home}.{alias.name}" for alias in node.names)


@functools.cache
def folder_of(name: str) -> str:
    """Give the folder of a module, or of what is in one; files at the top stand above all."""
    parts = name.split(".")
    while parts and not (FOLDER / Path(*parts[1:]) / "__init__.py").is_file():
        parts.pop()
    return "checks" if name.startswith("preflight.checks") else ".".join(parts[1:])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_go_down(path: Path) -> None:
    own = folder_of(module_of(path))
    for name in imported(path):
        other = folder_of(name)
        if name.startswith("preflight.") and other != own:
            assert FLOORS[other] < FLOORS[own], f"{own} imports {name}"


def test_files_of_one_folder_make_no_circle() -> None:
    """Of any two files, at most one knows of the other, but for the two that are one thing."""
    known = {module_of(path) for path in FILES}
    graph: dict[str, set[str]] = {
        module_of(path): {one if one in known else one.rpartition(".")[0] for one in imported(path)}
        & (known - {"preflight"})
        for path in FILES
    }
    graph["preflight.kinds.question"] -= {"preflight.kinds.gather"}  # the type of a field
    graphlib.TopologicalSorter(graph).prepare()


def test_every_folder_has_a_floor_and_few_files() -> None:
    """A new folder is given its place; one of more than fifteen files and `__init__` is two."""
    folders = Counter(folder_of(module_of(path)) for path in FILES)

    assert set(folders) == set(FLOORS)
    assert {name for name, files in folders.items() if files > 16} == {"checks"}


def test_no_two_files_have_one_name() -> None:
    """But for the plan of a room; files at the top give under public names what rooms have."""
    names = Counter(path.stem for path in FILES if path.parent != FOLDER)

    assert {name for name, files in names.items() if files > 1} == PLAN


def test_no_two_public_classes_have_one_name() -> None:
    """Whoever meets a name need not ask which of several things it is."""
    bodies = (ast.parse(path.read_text(encoding="utf-8")).body for path in FILES)
    names = Counter(one.name for body in bodies for one in body if isinstance(one, ast.ClassDef))

    assert {name for name, classes in names.items() if classes > 1 and name[0] != "_"} == set()


@pytest.mark.parametrize("engine", ENGINE)
def test_the_engine_names_no_subject(engine: str) -> None:
    """What a kind of thing is, only its row says: no type of a room, and no name of one."""
    names = {kind.target.__name__ for kind in kinds() if kind.target is not None}
    names |= {facts.__name__ for kind in kinds() for facts in (*kind.facts, *kind.answers)}
    for path in (ROOT / "preflight" / engine).glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        rooms = {folder_of(name).partition(".")[0] for name in imported(path)} & set(ROOMS)

        assert used & (names - OF_NO_SUBJECT) == set(), path
        assert rooms <= {"targets"}, path


def test_importing_everything_costs_nothing_heavy() -> None:
    """`preflight --help` must not pay for torch."""
    modules = [module_of(path) for path in FILES if path.name != "__main__.py"]
    code = (
        f"import importlib\nfor name in {modules!r}: importlib.import_module(name)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )

    assert said_by(code) == "[]"


def test_the_child_needs_only_the_standard_library() -> None:
    """It may run in the job's own interpreter, which need not have what ours has."""
    code = (
        "import preflight.processes.child\n"
        f"print([name for name in {NOT_IN_CHILD!r} if name in sys.modules])"
    )

    assert said_by(code, "-S") == "[]"


def test_the_folder_of_checks_is_flat() -> None:
    """A folder in it would silently be left out of the wheel."""
    inside = [path.name for path in (ROOT / "checks").iterdir() if path.is_dir()]

    assert [name for name in inside if name != "__pycache__"] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_file_opens_with_what_it_is_for(path: Path) -> None:
    """In one sentence that a user would understand."""
    doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))

    assert doc is not None
    assert doc.splitlines()[0].endswith((".", "?"))
