"""A loop over Lightning's CombinedLoader is held against what that gives, which is a triple."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import preflight
from preflight.facts import FirstBatches, Structure, TakenFor
from preflight.testing import ask
from tests.batches import combining
from tests.warming import copies

pytestmark = pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")  # of Lightning's own

LOADERS = ("in_turn", "by_name", "cycled", "alone", "in_a_list")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[int, set[str]]:
    """Give what is raised by lines, as findings have it."""
    folder = tmp_path_factory.mktemp("combining")
    shutil.copy(Path(combining.__file__), folder)
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


def line_of(loop: Callable[[], None]) -> int:
    source, begin = inspect.getsourcelines(loop)
    return begin + next(place for place, line in enumerate(source) if "for " in line)


@pytest.mark.parametrize("loop", combining.LOOPS, ids=lambda one: one.__name__)
def test_a_loop_over_a_combined_loader_meets_its_fate(
    loop: Callable[[], None], told: dict[int, set[str]]
) -> None:
    try:
        loop()
        raised = set()
    except ValueError as error:
        # Newer versions of Python say how many there were, too.
        raised = {f"ValueError: {error}".partition(", got 3)")[0].rstrip(")")}
    ours = {one.partition(", got 3)")[0].rstrip(")") for one in told.get(line_of(loop), ())}

    assert ours == raised


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
