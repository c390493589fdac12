"""What comes of a split in a fresh interpreter that gives no answer there."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.findings.our_failures import ElsewhereError
from preflight.kinds.asked import CannotLookError
from preflight.ranks import hash_seeds
from preflight.settings.split import steps_of

# Each does so in an interpreter of its own seed alone, as a rank of the job would.
SPLITS = """
import os, sys
SEED = os.environ.get("PYTHONHASHSEED", "random")
def raises(items, rank, world_size):
    if SEED == "1":
        raise ValueError("no such seed")
def leaves(items, rank, world_size):
    sys.exit(1)
def dies(items, rank, world_size):
    os._exit(3)
"""


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("raises", "raises ValueError: no such seed in splits.py:6, for rank 0 of 2, in a fresh"),
        ("leaves", "raises SystemExit: 1 in splits.py:8"),
        ("dies", "no answer in a fresh interpreter, which ended with 3"),
        ("absent", "has no absent, in a fresh interpreter"),
    ],
)
def test_what_the_users_split_does_there_is_put_down_to_it(
    tmp_path: Path, name: str, said: str
) -> None:
    (tmp_path / "splits.py").write_text(SPLITS, encoding="utf-8")
    options = {"root": str(tmp_path), "import_anyway": False, "timeout": 120}
    steps = steps_of(f"{tmp_path / 'splits.py'}:{name}")

    with pytest.raises(CannotLookError, match=said):
        hash_seeds.by_processes(steps, ["a", "b"], options, ranks=2, shards=False)


def test_a_failure_of_ours_there_is_told_with_its_traceback() -> None:
    """It was a process that ended with 1."""
    with pytest.raises(ElsewhereError, match="a bug of preflight: KeyError: 'names'") as ours:
        hash_seeds._asked([1], {"steps": [["strided"]]}, 120)

    assert "preflight/ranks/hash_seeds.py" in ours.value.trace.replace("\\", "/")


def test_a_seed_that_is_set_here_is_that_of_every_rank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever fixes it in the environment has one order of sets in all processes."""
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    (tmp_path / "splits.py").write_text(
        "def split(items, rank, world_size):\n    return list(set(items))[rank::world_size]\n",
        encoding="utf-8",
    )
    options = {"root": str(tmp_path), "import_anyway": False, "timeout": 120}
    steps = steps_of(f"{tmp_path / 'splits.py'}:split")
    names = [f"caption {number}" for number in range(25)]

    assert hash_seeds.by_processes(steps, names, options, ranks=4, shards=False) is None


def test_another_process_divides_meanwhile(tmp_path: Path) -> None:
    """One is enough where it gives the same; one that gives nothing says so when it is asked."""
    (tmp_path / "splits.py").write_text(
        SPLITS + "def split(items, rank, world_size):\n    return items[rank::world_size]\n",
        encoding="utf-8",
    )
    options = {"root": str(tmp_path), "import_anyway": False, "timeout": 120}
    names = [f"caption {number}" for number in range(25)]
    steps, gone = (steps_of(f"{tmp_path / 'splits.py'}:{name}") for name in ("split", "dies"))
    given = {"ranks": 4, "shards": False}

    with (
        hash_seeds.meanwhile(steps, names, options, **given) as answer,
        hash_seeds.meanwhile(gone, names, options, **given) as none,
    ):
        assert answer() == [[*range(rank, 25, 4)] for rank in (0, 2, 3)]
        with pytest.raises(CannotLookError, match="ended with 3"):
            none()
