"""Looks at loaders of a file of this folder as a job has them."""

from __future__ import annotations

import shutil
from pathlib import Path

import preflight
from preflight.finding import Finding
from tests.asking import by_loader

CHECKS = ["loader-contract", "loader-end", "loader-random", "loader-stuck"]


def look_at(jobs: Path, folder: Path, *words: str) -> dict[str, list[Finding]]:
    """Look at the loaders of a file, and give what is told of each, by its name."""
    shutil.copy(jobs, folder)
    named = [f"{jobs.stem}:{one}" for one in words]
    report = preflight.run(*named, folder=str(folder), select=CHECKS, budget=400.0)
    assert all(not one.broken for one in report.checks)
    return by_loader(report)
