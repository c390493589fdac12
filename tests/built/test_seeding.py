"""Where a script seeds all ranks alike before it makes its loader is read by its source."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.built.seeding import Seeding, seeded_before

DATA = """
import random

def make_loader():
    names = [*range(64)]
    random.shuffle(names)
    return names
"""

SCRIPT = """
import os, random
import numpy as np
import torch
from transformers import set_seed
from data import make_loader


def fix(number):
    random.seed(number)
    np.random.seed(number)


def fix_torch(number):
    torch.manual_seed(number)


def fix_own(number):
    random.seed(number + int(os.environ["RANK"]))


def build(args):
    return make_loader()


def main(args, rank):
    SEEDS
    loader = build(args)


if __name__ == "__main__":
    main(None, 0)
"""


def told(folder: Path, seeds: str, data: str = DATA) -> Seeding | None:
    (folder / "train.py").write_text(SCRIPT.replace("SEEDS", seeds), encoding="utf-8")
    (folder / "data.py").write_text(data, encoding="utf-8")
    return seeded_before("make_loader", str(folder / "data.py"), str(folder), str(folder))


@pytest.mark.parametrize(
    "seeds", ["set_seed(args.seed)", "random.seed(0)", "fix(args.seed)", "pl.seed_everything(1)"]
)
def test_a_line_before_the_call_is_named(seeds: str, tmp_path: Path) -> None:
    """Also where another function stands between, or the script has a function of its own."""
    assert told(tmp_path, seeds) == Seeding("train.py:27", is_sure=True)


def test_a_test_around_it_is_said(tmp_path: Path) -> None:
    seeds = "if args.seed is not None:\n        set_seed(args.seed)"

    assert told(tmp_path, seeds) == Seeding("train.py:28", is_sure=False)


@pytest.mark.parametrize(
    "seeds",
    [
        *("set_seed(args.seed + rank)", "fix_own(args.seed)", "random.seed()", "pass"),
        *("torch.manual_seed(0)", "fix_torch(0)", "set_seed(1, device_specific=True)"),
    ],
)
def test_seeds_of_a_rank_or_of_another_library_are_none(seeds: str, tmp_path: Path) -> None:
    assert told(tmp_path, seeds) is None


def test_each_library_that_is_drawn_by_is_to_be_seeded(tmp_path: Path) -> None:
    split = DATA.replace("return names", "return torch.utils.data.random_split(names, [48, 16])")

    assert told(tmp_path, "fix(0)", split) is None
    assert told(tmp_path, "fix(0), fix_torch(0)", split) == Seeding("train.py:27", is_sure=True)


def test_what_is_seeded_behind_the_call_comes_too_late(tmp_path: Path) -> None:
    script = SCRIPT.replace("    SEEDS\n", "").replace("build(args)\n", "build(args)\n    fix(0)\n")
    (tmp_path / "train.py").write_text(script, encoding="utf-8")

    assert seeded_before("make_loader", "data.py", str(tmp_path), str(tmp_path)) is None
