"""docs/architecture.md and CONTRIBUTING.md name files and functions that are there."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "docs" / "architecture.md", ROOT / "CONTRIBUTING.md")

# The example of a new kind lies as it would in the project.
PLACES = (ROOT, ROOT / "docs" / "examples" / "sounds")

_GENERATED = re.compile(r"(<!-- generated: .+? -->\n).*?(<!-- end -->)", re.DOTALL)
_NAMED = re.compile(r"`((?:preflight|checks|docs|fixtures|tests)/[\w/.]*)(?::([\w.]+))?`")


def named() -> Iterator[object]:
    """All paths and names in the text of the pages, each once."""
    found: dict[tuple[str, str], str] = {}
    for page in PAGES:
        text = _GENERATED.sub(r"\1\2", page.read_text(encoding="utf-8"))
        found |= dict.fromkeys(_NAMED.findall(text), page.name)
    for (path, name), page_name in found.items():
        yield pytest.param(path, name, id=f"{page_name}: {path}:{name}".rstrip(":"))


def names_in(body: list[ast.stmt]) -> Iterator[str]:
    """What is bound at the top of a module or in a class, and in its classes."""
    for one in body:
        match one:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield one.name
            case ast.ClassDef():
                yield one.name
                yield from (f"{one.name}.{name}" for name in names_in(one.body))
            case ast.Assign():
                yield from (target.id for target in one.targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name()):
                yield one.target.id  # type: ignore[union-attr]


@functools.cache
def names_of(path: Path) -> frozenset[str]:
    return frozenset(names_in(ast.parse(path.read_text(encoding="utf-8")).body))


@pytest.mark.parametrize(("path", "name"), list(named()))
def test_what_the_pages_name_is_there(path: str, name: str) -> None:
    there = [place / path for place in PLACES if (place / path).exists()]

    assert there
    assert not name or name in names_of(there[0])


def test_nearly_all_of_it_is_looked_up() -> None:
    """Paths that are written in another way would not be."""
    text = "".join(_GENERATED.sub(r"\1\2", page.read_text(encoding="utf-8")) for page in PAGES)
    paths = re.findall(r"\b(?:preflight|checks|tests)/[\w/]*\w\.py\b", text)

    assert len(_NAMED.findall(text)) >= len(paths) > 80
    assert "read_header" in names_of(ROOT / "preflight" / "formats" / "tar" / "header.py")
    assert "Gather.recall" in names_of(ROOT / "preflight" / "kinds" / "gather.py")
