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


SCRIPT = """
from lib import wds

if __name__ == "__main__":
    wds.make_loader("a.tar")
"""

PIPELINE = """
import webdataset as wds

def make_loader(url):
    return wds.WebLoader(wds.WebDataset(url).decode("pil").to_tuple("jpg", "txt"))
"""


def test_a_script_that_leads_to_a_pipeline_in_a_large_package(tmp_path: Path) -> None:
    """As timm's, whose `train.py` imports all of its models, and a reader of shards."""
    import torch

    names = [f"m{number}" for number in range(250)]
    files = {
        "tree/train.py": SCRIPT,
        "tree/lib/__init__.py": "".join(f"from . import {name}\n" for name in (*names, "wds")),
        "tree/lib/wds.py": PIPELINE,
    }
    for file, text in files.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    every = sorted(python_files(str(Path(torch.__file__).parent)))
    for name, one in zip(names, every[:: len(every) // len(names)], strict=False):
        shutil.copyfile(one, tmp_path / "tree" / "lib" / f"{name}.py")

    run = preflight("source=tree/train.py", "--elsewhere", "--no-ledger", folder=tmp_path)
    took, plain = best_of([run, python(PARSE, folder=tmp_path)], rounds=3)

    compared("preflight run, a pipeline in 250 modules / ast.parse", took, plain)
