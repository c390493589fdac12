"""What ranks save lies in one folder of ours while one of them lives, and no longer."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from preflight.processes.rank import Rank
from preflight.scripts.common_layer import common_layer
from tests.conftest import ROOT

RANKS = [
    Rank(number=number, size=2, host="127.0.0.1", port=29_500, hosted=False, launch="one")
    for number in range(2)
]

# Another rank of the same launch, which saves, and is there until its input ends.
OTHER = f"""
import sys, os
sys.path.insert(0, {str(ROOT)!r})
from preflight.processes.rank import Rank
from preflight.scripts.common_layer import common_layer
with common_layer(Rank(**{RANKS[1]._asdict()!r})) as layer:
    os.makedirs(layer)
    open(os.path.join(layer, "last.pt"), "w").close()
    print("there", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@contextmanager
def another() -> Iterator[subprocess.Popen[str]]:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", OTHER], stdin=pipe, stdout=pipe, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        yield process


def saved(layer: str | None) -> bool:
    assert layer is not None
    return Path(layer, "last.pt").exists()


def test_what_a_living_rank_has_saved_is_there_for_the_others(temporary: Path) -> None:
    with another():
        with common_layer(RANKS[0]) as layer:
            assert saved(layer)
        assert saved(layer)

    assert list(temporary.iterdir()) == []


def test_what_ranks_have_left_that_were_killed_is_not_read(temporary: Path) -> None:
    """Typed again from the same shell, such ranks have the same name."""
    with another() as process:
        process.kill()
    (left,) = temporary.iterdir()
    assert saved(str(left / "layer"))
    with common_layer(RANKS[0]) as layer:
        assert not saved(layer)

    assert list(temporary.iterdir()) == []


def test_the_last_one_removes_it_also_where_another_was_killed(temporary: Path) -> None:
    with common_layer(RANKS[0]) as layer:
        with another() as process:
            process.kill()
        assert saved(layer)

    assert list(temporary.iterdir()) == []
