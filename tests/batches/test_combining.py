"""A loop over Lightning's CombinedLoader is held against what that gives, which is a triple."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import preflight
from preflight.facts import FirstBatches, Structure, TakenFor
from preflight.testing import ask
from tests.warming import copies

FILE = Path(__file__).with_name("combining.py")

LOOPS = {
    function.name: loop.lineno
    for function in ast.parse(FILE.read_text()).body
    if isinstance(function, ast.FunctionDef)
    for loop in function.body
    if isinstance(loop, ast.For)
}
"""The functions that loop, and the line where each does."""

LOADERS = ("in_turn", "by_name", "cycled", "alone", "in_a_list")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[int, set[str]]:
    """Give what is raised by lines, as findings have it."""
    folder = tmp_path_factory.mktemp("combining")
    shutil.copy(FILE, folder)
    with copies():
        report = preflight.run(
            *(f"combining:{name}" for name in LOADERS),
            "source=combining.py",
            folder=str(folder),
            select=["loader-contract"],
        )
    found: dict[int, set[str]] = {}
    for one in report.findings:
        found.setdefault(one.at.line or 0, set()).add(str(one.evidence["raises"]))
    return found


_FATES = """
import json, sys, warnings
warnings.simplefilter("ignore")
import combining
fates = {}
for name in sys.argv[1:]:
    try:
        getattr(combining, name)()
    except ValueError as error:
        fates[name] = f"ValueError: {error}"
print(json.dumps(fates))
"""


@pytest.fixture(scope="module")
def fates() -> dict[str, str]:
    """Give what is raised by functions, where they are run."""
    with copies():
        done = subprocess.run(
            [sys.executable, "-c", _FATES, *LOOPS],
            check=True,
            cwd=FILE.parent,
            stdout=subprocess.PIPE,
        )
    raised: dict[str, str] = json.loads(done.stdout)
    return raised


@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_over_a_combined_loader_meets_its_fate(
    loop: str, fates: dict[str, str], told: dict[int, set[str]]
) -> None:
    raised = {fates[loop]} if loop in fates else set()

    # Newer versions of Python say how many there were, too.
    said, real = (
        {one.partition(", got 3)")[0].rstrip(")") for one in those}
        for those in (told.get(LOOPS[loop], set()), raised)
    )
    assert said == real


def test_the_number_that_comes_with_each_batch_is_no_field_of_it() -> None:
    """A loop that calls it a step says nothing of an int that a batch has at that place."""
    batch = Structure(
        kind="tuple", length=2, parts=(Structure(kind="str", length=3), Structure(kind="int"))
    )
    taken = TakenFor(takes="batch, step, _", file="train.py", line=9, is_combined=True)
    facts = FirstBatches(
        name="train:make._iterables", ended="enough", batches=(batch,) * 4, taken_for=(taken,)
    )

    assert ask("loader-contract", facts) == []
