"""What refuses a copy, or the way to a worker, hundreds of times is told in under a second."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.measuring import best_of, seen
from tests.loaders import test_fixes as of_loaders
from tests.models import test_remedies as of_models

pytestmark = pytest.mark.benchmark


def test_many_locks_of_a_model(tmp_path: Path) -> None:
    model = of_models.locks()

    (took,) = best_of([lambda: of_models.found(model, tmp_path)])

    seen("seconds of a model that holds 300 locks", took.seconds)


def test_many_locks_of_a_loader(tmp_path: Path) -> None:
    parts = [of_loaders.Part() for _ in range(300)]
    (tmp_path / "train.py").touch()

    (took,) = best_of([lambda: of_loaders.found(parts, tmp_path)])

    seen("seconds of a loader that holds 300 locks", took.seconds)
