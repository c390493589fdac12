"""A tree of sources is read in less time than one process takes to parse it."""

from __future__ import annotations

import shutil
from itertools import islice
from pathlib import Path

import pytest

from preflight.syntax.source_files import python_files
from tests.benchmarks.measuring import best_of, compared, preflight, python
from tests.files import stamp

pytestmark = pytest.mark.benchmark

FILES = 2_000

PARSE = """
import ast, pathlib
for path in pathlib.Path("tree").rglob("*.py"):
    ast.parse(path.read_bytes())
"""


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of torch, as far as there are so many, in a folder of a job."""
    import torch

    folder = tmp_path_factory.mktemp("sources")
    base = Path(torch.__file__).parent
    for one in islice(python_files(str(base)), FILES):
        path = folder / "tree" / Path(one).relative_to(base)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(one, path)
        stamp(path, 3_600)
    return folder


def test_a_tree_against_parsing_it(job: Path) -> None:
    def forget() -> None:
        shutil.rmtree(job / ".preflight", ignore_errors=True)

    run = preflight("source=tree", "--elsewhere", folder=job)
    parse = python(PARSE, folder=job)
    first, again, plain = best_of(
        [run, run, parse], rounds=3, before=[forget, lambda: None, lambda: None]
    )

    compared("preflight run, 2,000 sources / ast.parse", first, plain)
    compared("preflight run, again, 2,000 sources / ast.parse", again, plain)
