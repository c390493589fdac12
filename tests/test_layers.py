"""Who may import whom. The table is the architecture; a change to it is a decision."""

from __future__ import annotations

import ast
import graphlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

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


def test_imports_make_no_circle() -> None:
    """Of any two files, at most one knows of the other."""
    known = {module_of(path) for path in FILES}
    graph = {
        module_of(path): {
            name if name in known else name.rpartition(".")[0] for name in imported(path)
        }
        & known - {"preflight"}
        for path in FILES
    }
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError


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
        "import sys, preflight.processes.child\n"
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
