"""Functions that write entries, tried in a scratch folder as a run would."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from preflight.storage import trial
from preflight.storage.facts import WriterTrial
from preflight.storage.trial import try_writer

BEGIN = "import os, time, uuid\nimport numpy as np\n"
TORCH = "import os, uuid\nimport torch\n"

NUMPY_OWN = (
    BEGIN
    + """
def save(path, value):
    own = f"{path}.{uuid.uuid4().hex}"
    with open(own, "wb") as file:
        np.save(file, value)
    os.replace(own, path)
"""
)


@contextlib.contextmanager
def _step(_name: str) -> Iterator[None]:
    yield


def tried(
    folder: Path,
    source: str,
    monkeypatch: pytest.MonkeyPatch,
    *,
    suffix: str = ".npy",
    size: int = 100_000,
    **more: Any,
) -> WriterTrial:
    """Try `save` of a source for a cache with one entry of this suffix."""
    (folder / "storing.py").write_text(source, encoding="utf-8")
    (folder / "cache").mkdir()
    (folder / "cache" / f"one{suffix}").write_bytes(bytes(size))
    monkeypatch.chdir(folder)
    monkeypatch.setattr(trial, "_RACE", 0.8)
    monkeypatch.setattr(trial, "_FEWEST_TURNS", 2)
    told = {"path": str(folder / "cache"), "entry": 0, "writer": "storing:save"}
    options = {"root": str(folder), "timeout": 60.0, "import_anyway": False, **more}
    try:
        return try_writer(told, options, lambda: None, _step)
    finally:
        assert sorted(one for one in os.listdir(folder) if one.startswith(".preflight")) == []
        assert os.listdir(folder / "cache") == [f"one{suffix}"]
