"""Who may import whom. The table is the architecture; a change to it is a decision."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# A file imports from lower floors, or from its own folder where it is one.
FLOORS: dict[str, float] = {
    "version": 0,
    "exits": 0,
    "endings": 0,
    "finding": 0,
    "plain": 0,
    "names": 0,
    "sizes": 0,
    "spec": 0,
    "braces": 0,
    "small_files": 0,
    "bound": 0,
    "ages": 0,
    "links": 0,
    "listing": 0,
    "marks": 0,
    "state": 0,
    "formats": 0.5,
    "objects": 0.5,
    "machine": 0.5,
    "job": 1,
    "targets": 1,
    "facts": 1.5,
    "report": 2,
    "check": 2,
    "readers": 2,
    "checks": 3,
    "registry": 4,
    "readers_version": 4,
    "ledger_table": 3.7,
    "ledger": 4.2,
    "runner": 4.5,
    "life_line": 4,
    "processes": 4,
    "importing": 3,
    "build": 4,
    "key_function": 4,
    "mistaken_values": 4,
    "settings": 5,
    "settings_file": 4,
    "around": 4,
    "words": 5,
    "overlaps": 5,
    "discover": 5.2,
    "gate": 5,
    "render": 5,
    "catalogue": 5,
    "child": 5,
    "asking": 5,
    "shares": 5,
    "begin": 6,
    "memory": 5.5,
    "sampling": 0,
    "items": 5.5,
    "progress": 5.6,
    "gathering": 5.7,
    "answers": 5.6,
    "collecting": 5.6,
    "key_items": 5.7,
    "preparing": 5.8,
    "checkpoint_names": 4,
    "checkpoint_members": 4.5,
    "checkpoint_pointers": 4.5,
    "checkpoints": 5,
    "cache_table": 5,
    "cache_folders": 5.5,
    "caches": 5.7,
    "seen": 5,
    "survey": 6,
    "account": 6.2,
    "session": 6.5,
    "demo": 6.5,
    "testing": 7,
    "output": 7.5,
    "options": 7,
    "cli": 8,
    "__main__": 9,
}

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


def floor_name(module: str) -> str:
    """Give the part of a module's name that stands in the table."""
    return module.split(".")[1] if "." in module else ""


def imported(path: Path) -> Iterator[str]:
    """Every module of ours that a file imports, also inside functions, relative ones resolved."""
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


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_go_down(path: Path) -> None:
    """A file imports only from the floors below its own, or from its own folder."""
    own = floor_name(module_of(path))
    if not own:
        assert path.name == "__init__.py"  # preflight/__init__.py has no floor
        return
    for name in imported(path):
        if not name.startswith("preflight.") or floor_name(name) == own:
            continue
        assert FLOORS[floor_name(name)] < FLOORS[own], f"{own} imports {name}"


def test_every_file_has_a_floor() -> None:
    """A new file is given its place in the table, and a place that is gone is taken out."""
    assert {floor_name(module_of(path)) for path in FILES} - {""} == set(FLOORS)


def test_importing_everything_costs_nothing_heavy() -> None:
    """`preflight --help` must not pay for torch."""
    modules = [module_of(path) for path in FILES if path.name != "__main__.py"]
    code = (
        f"import importlib, sys\nfor name in {modules!r}: importlib.import_module(name)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"


def test_the_child_needs_only_the_standard_library() -> None:
    """It may run in the job's own interpreter, which need not have what ours has."""
    code = (
        "import sys, preflight.child\n"
        f"print([name for name in {NOT_IN_CHILD!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"


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
